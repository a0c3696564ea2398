//! What a party sees, in the words of `transcript.h`.

use std::{
    ffi::CStr,
    fmt::{Display, Write as _},
    fs::File,
    io::{self, Write as _},
    path::Path,
};

/// A party's transcript. Each line is written before what follows it happens.
#[derive(Debug)]
pub struct Transcript(File);

/// Values that have bytes as in C.
pub trait Bytes {
    /// They.
    fn bytes(&self) -> Vec<u8>;
}

macro_rules! numbers {
    ($($type:ty)*) => {
        $(impl Bytes for $type {
            fn bytes(&self) -> Vec<u8> {
                self.to_ne_bytes().into()
            }
        })*
    };
}

numbers! { u8 i16 i32 u32 i64 f64 }

impl<T: Bytes> Bytes for [T] {
    fn bytes(&self) -> Vec<u8> {
        self.iter().flat_map(Bytes::bytes).collect()
    }
}

impl Transcript {
    /// An empty one.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self(File::create(path)?))
    }

    /// A line.
    pub fn line(&mut self, line: impl Display) {
        let written = self.0.write_all(format!("{line}\n").as_bytes());
        written.unwrap_or_else(|error| panic!("write a transcript: {error}"));
    }

    /// The bytes of a value.
    pub fn note(&mut self, what: &str, value: &(impl Bytes + ?Sized)) {
        let mut line = what.to_owned();
        value.bytes().iter().for_each(|byte| write!(line, " {byte:02x}").unwrap_or_default());
        self.line(line);
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
