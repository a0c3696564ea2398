//! An authority file for the private servers, so that nobody else can connect to them.

use anyhow::Context;
use rustix::rand::{GetRandomFlags, getrandom};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Writes an Xauthority file with one random cookie that is good for any display.
///
/// # Errors
/// When there is no randomness or the file can't be made.
pub fn write(file: &Path) -> anyhow::Result<()> {
    let mut cookie = [0; 16];
    getrandom(&mut cookie, GetRandomFlags::empty()).context("random cookie")?;
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)
        .and_then(|mut out| out.write_all(&record(&cookie)))
        .with_context(|| format!("can't write {}", file.display()))
}

/// One record: the family "wild", then address, display number, method and data, each with a
/// length of 16 bits in network order. Empty address and number match every display.
fn record(cookie: &[u8; 16]) -> Vec<u8> {
    let mut record = vec![0xff, 0xff];
    for field in [b"".as_slice(), b"", b"MIT-MAGIC-COOKIE-1", cookie] {
        record.extend((field.len() as u16).to_be_bytes());
        record.extend(field);
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_what_libxau_reads() {
        let record = record(&[7; 16]);
        assert_eq!(&record[..8], [0xff, 0xff, 0, 0, 0, 0, 0, 18]);
        assert_eq!(&record[8..26], b"MIT-MAGIC-COOKIE-1");
        assert_eq!(&record[26..28], [0, 16]);
        assert_eq!(&record[28..], [7; 16]);
    }
}
