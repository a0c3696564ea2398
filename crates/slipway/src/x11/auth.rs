//! The authority file of a private server.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::rand::{GetRandomFlags, getrandom};

/// Matches a connection of any kind, local or not: the display number is not known yet when the
/// server has to read the file, so that the entry names no display either.
const FAMILY_WILD: u16 = 65535;
const NAME: &[u8] = b"MIT-MAGIC-COOKIE-1";
const COOKIE_BYTES: usize = 16;

/// Writes a new authority file with a random cookie, readable by its owner only.
///
/// # Errors
/// No randomness, or the file can't be created or exists.
pub fn create(path: &Path) -> io::Result<()> {
    let mut cookie = [0; COOKIE_BYTES];
    let got = getrandom(&mut cookie, GetRandomFlags::empty())?;
    if got != COOKIE_BYTES {
        return Err(io::Error::other("too few random bytes"));
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(&entry(&cookie))
}

/// One entry as libXau reads it: a family, then address, display number, name and data, each with
/// its length; all numbers 16 bits, big-endian.
fn entry(cookie: &[u8]) -> Vec<u8> {
    let mut bytes = FAMILY_WILD.to_be_bytes().to_vec();
    for field in [b"", b"", NAME, cookie] {
        let length = u16::try_from(field.len()).expect("the fields are short");
        bytes.extend(length.to_be_bytes());
        bytes.extend(field);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn layout() {
        let expected = b"\xff\xff\0\0\0\0\0\x12MIT-MAGIC-COOKIE-1\0\x02ab";
        assert_eq!(entry(b"ab"), expected);
    }

    #[test]
    fn private_and_random() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let (one, other) = (dir.path().join("one"), dir.path().join("other"));
        create(&one).expect("created");
        create(&other).expect("created");
        assert_eq!(fs::metadata(&one).expect("metadata").permissions().mode() & 0o777, 0o600);
        assert_ne!(fs::read(&one).expect("read"), fs::read(&other).expect("read"));
        assert!(create(&one).is_err(), "never over another file");
    }
}
