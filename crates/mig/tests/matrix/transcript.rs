//! What a party sees, in the words of `transcript.h`.

use std::{
    ffi::CStr,
    fmt::Display,
    fs::File,
    io::{self, Write as _},
    path::Path,
};

/// A party's transcript. Each line is written before what follows it happens.
#[derive(Debug)]
pub struct Transcript(File);

/// Values that have bytes as in C.
pub trait Bytes {
    /// Adds them to a line, each with a space before it.
    fn add_to(&self, line: &mut Vec<u8>);
}

/// Each byte's text. Transcripts have a million bytes, in tests that are not optimised.
const TEXTS: [[u8; 3]; 256] = {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut texts = [[b' '; 3]; 256];
    let mut byte = 0;
    while byte < 256 {
        (texts[byte][1], texts[byte][2]) = (DIGITS[byte / 16], DIGITS[byte % 16]);
        byte += 1;
    }
    texts
};

macro_rules! numbers {
    ($($type:ty)*) => {
        $(impl Bytes for $type {
            fn add_to(&self, line: &mut Vec<u8>) {
                for byte in self.to_ne_bytes() {
                    line.extend_from_slice(&TEXTS[usize::from(byte)]);
                }
            }
        })*
    };
}

numbers! { u8 i16 i32 u32 i64 f64 }

impl<T: Bytes> Bytes for [T] {
    fn add_to(&self, line: &mut Vec<u8>) {
        for value in self {
            value.add_to(line);
        }
    }
}

impl Transcript {
    /// An empty one.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self(File::create(path)?))
    }

    /// A line.
    pub fn line(&mut self, line: impl Display) {
        self.write(format!("{line}\n").as_bytes());
    }

    fn write(&mut self, line: &[u8]) {
        self.0.write_all(line).unwrap_or_else(|error| panic!("write a transcript: {error}"));
    }

    /// The bytes of a value.
    pub fn note(&mut self, what: &str, value: &(impl Bytes + ?Sized)) {
        let mut line = what.as_bytes().to_vec();
        value.add_to(&mut line);
        line.push(b'\n');
        self.write(&line);
    }

    /// A string.
    pub fn text(&mut self, what: &str, text: &CStr) {
        self.line(format_args!("{what} \"{}\"", text.to_string_lossy()));
    }

    /// A `record_t`, which the interface calls three numbers.
    pub fn record(&mut self, what: &str, record: &[i64; 3]) {
        self.line(format_args!("{what} {} {} {}", record[0] as i8, record[1] as u64, record[2] as i32));
    }
}
