//! Random calls, natively and by the server.

use crate::{APPEND, CREATE, EXCLUSIVE, TRUNCATE, c, each_way, errno};
use slipway_unix_server::{Error, Process};
use std::{
    ffi::CString,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
};

/// What a call gives: a number, text, or an error.
#[derive(Debug, PartialEq)]
enum Given {
    Value(i64),
    Text(Vec<u8>),
    Names(Vec<CString>),
}

type Outcome = Result<Given, i32>;

/// A call on names below a directory, which stands for `{}`.
#[derive(Debug, Clone)]
enum Call {
    MakeDir(String),
    RemoveDir(String),
    Unlink(String),
    Rename(String, String),
    Link(String, String),
    Symlink(String, String),
    Write(String, i32, String),
    Read(String),
    Stat(String),
    ReadLink(String),
    Mode(String, u32),
    Truncate(String, u32),
    List(String),
}

fn served(process: &Process, base: &Path, call: &Call) -> Outcome {
    let at = |name: &str| c(&format!("{}/{name}", base.display()));
    let port = &process.port;
    let done = |result: Result<(), slipway_mach::mig::Error>| result.map(|()| Given::Value(0)).map_err(Error::from);
    let result = match call {
        Call::MakeDir(name) => done(port.unix_mkdir(&at(name), 0o750)),
        Call::RemoveDir(name) => done(port.unix_rmdir(&at(name))),
        Call::Unlink(name) => done(port.unix_unlink(&at(name))),
        Call::Rename(from, to) => done(port.unix_rename(&at(from), &at(to))),
        Call::Link(from, to) => done(port.unix_link(&at(from), &at(to))),
        Call::Symlink(target, name) => done(port.unix_symlink(&c(target), &at(name))),
        Call::Write(name, flags, text) => process.open(&at(name), 1 | flags, 0o640).and_then(|fd| {
            process.write_all(fd, text.as_bytes())?;
            process.close(fd)?;
            Ok(Given::Value(0))
        }),
        Call::Read(name) => process.open(&at(name), 0, 0).and_then(|fd| {
            let text = process.read(fd, 8192);
            process.close(fd)?;
            Ok(Given::Text(text?))
        }),
        Call::Stat(name) => process.stat(&at(name)).map(|stat| value(stat.st_mode as u32, stat.st_size)),
        Call::ReadLink(name) => port.unix_readlink(&at(name), 8192).map(Given::Text).map_err(Error::from),
        Call::Mode(name, mode) => done(port.unix_chmod(&at(name), *mode)),
        Call::Truncate(name, size) => done(port.unix_truncate(&at(name), i64::from(*size))),
        Call::List(name) => process.read_dir(&at(name)).map(|names| names_of(names.into_iter().map(|(name, _)| name))),
    };
    result.map_err(|error| errno::<()>(Err(error)))
}

/// A directory's size is the file system's matter.
fn value(mode: u32, size: u64) -> Given {
    let is_dir = mode & 0o170_000 == 0o040_000;
    Given::Value(i64::from(mode) << 32 | if is_dir { 0 } else { size as i64 })
}

fn names_of(names: impl Iterator<Item = CString>) -> Given {
    let mut names: Vec<CString> = names.collect();
    names.sort();
    Given::Names(names)
}

fn native(base: &Path, call: &Call) -> Outcome {
    use std::io::{Read, Write};
    use std::os::unix::ffi::OsStringExt;
    // As text: a slash at the end counts.
    let at = |name: &str| format!("{}/{name}", base.display());
    let done = |result: std::io::Result<()>| result.map(|()| Given::Value(0));
    let result = match call {
        Call::MakeDir(name) => done(rustix::fs::mkdir(at(name), rustix::fs::Mode::from_raw_mode(0o750)).map_err(Into::into)),
        Call::RemoveDir(name) => done(rustix::fs::rmdir(at(name)).map_err(Into::into)),
        Call::Unlink(name) => done(rustix::fs::unlink(at(name)).map_err(Into::into)),
        Call::Rename(from, to) => done(rustix::fs::rename(at(from), at(to)).map_err(Into::into)),
        Call::Link(from, to) => done(rustix::fs::link(at(from), at(to)).map_err(Into::into)),
        Call::Symlink(target, name) => done(rustix::fs::symlink(target, at(name)).map_err(Into::into)),
        Call::Write(name, flags, text) => {
            use rustix::fs::{Mode, OFlags, open};
            let flags = OFlags::WRONLY | OFlags::from_bits_retain(*flags as u32);
            let opened = open(at(name), flags, Mode::from_raw_mode(0o640)).map_err(Into::into);
            done(opened.and_then(|fd| fs::File::from(fd).write_all(text.as_bytes())))
        }
        Call::Read(name) => fs::File::open(at(name)).and_then(|mut file| {
            let mut text = Vec::new();
            file.read_to_end(&mut text)?;
            Ok(Given::Text(text))
        }),
        Call::Stat(name) => fs::metadata(at(name)).map(|meta| value(meta.mode(), meta.size())),
        Call::ReadLink(name) => fs::read_link(at(name)).map(|target| Given::Text(target.into_os_string().into_vec())),
        Call::Mode(name, mode) => done(fs::set_permissions(at(name), fs::Permissions::from_mode(*mode))),
        Call::Truncate(name, size) => {
            let path = c(&at(name));
            done(
                rustix::fs::open(&*path, rustix::fs::OFlags::WRONLY, rustix::fs::Mode::empty())
                    .and_then(|fd| rustix::fs::ftruncate(fd, u64::from(*size)))
                    .map_err(Into::into),
            )
        }
        Call::List(name) => fs::read_dir(at(name)).map(|names| {
            names_of(names.map(|entry| CString::new(entry.expect("an entry").file_name().into_vec()).expect("no zero")))
        }),
    };
    result.map_err(|error| error.raw_os_error().expect("an error of the system's"))
}

/// Numbers that look random, the same for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most as u64) as usize
    }

    fn name(&mut self) -> String {
        const NAMES: [&str; 8] = ["a", "b", "d", "e", "link", "d/a", "d/e", "e/d/a"];
        let end = ["", "", "", "", "", "/", "/.", "/.."][self.below(8)];
        format!("{}{end}", NAMES[self.below(NAMES.len())])
    }

    fn call(&mut self) -> Call {
        let flags = [0, CREATE, CREATE | EXCLUSIVE, TRUNCATE, CREATE | TRUNCATE, APPEND, CREATE | APPEND][self.below(7)];
        match self.below(14) {
            0 | 1 => Call::MakeDir(self.name()),
            2 => Call::RemoveDir(self.name()),
            3 => Call::Unlink(self.name()),
            4 => Call::Rename(self.name(), self.name()),
            5 => Call::Link(self.name(), self.name()),
            6 => Call::Symlink(["a", "d", "../d/a", "nowhere", "link"][self.below(5)].to_owned(), self.name()),
            7 => Call::Write(self.name(), flags, "text".repeat(self.below(30))),
            8 => Call::Read(self.name()),
            9 => Call::Stat(self.name()),
            10 => Call::ReadLink(self.name()),
            11 => Call::Mode(self.name(), [0o710, 0o755, 0o700][self.below(3)]),
            12 => Call::Truncate(self.name(), self.below(100) as u32),
            _ => Call::List(self.name()),
        }
    }
}

fn fill(dir: &Path) {
    fs::create_dir_all(dir.join("d/e")).expect("directories");
    fs::write(dir.join("a"), "a file").expect("write");
    fs::write(dir.join("d/a"), "another").expect("write");
    symlink("d/a", dir.join("link")).expect("a link");
}

/// What is in a tree, as the host has it.
fn contents(dir: &Path) -> Vec<(PathBuf, u32, i64, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).expect("a directory") {
        let entry = entry.expect("an entry");
        let meta = entry.metadata().expect("its attributes");
        let text = if meta.is_file() { fs::read(entry.path()).expect("read") } else { Vec::new() };
        all.push((entry.path(), meta.mode(), meta.mtime_nsec(), text));
        if meta.is_dir() {
            all.extend(contents(&entry.path()));
        }
    }
    all.sort();
    all
}

#[test]
fn random_calls_give_what_they_give_natively() {
    each_way(|server| {
        for seed in 1..=8 {
            let (host, lower) = (server.tree().join(format!("native-{seed}")), server.tree().join(format!("served-{seed}")));
            [&host, &lower].into_iter().for_each(|dir| fill(dir));
            let before = contents(&lower);
            let process = server.process();
            let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
            let mut calls = Vec::new();
            for _ in 0..1500 {
                let call = random.call();
                let (wanted, got) = (native(&host, &call), served(&process, &lower, &call));
                calls.push(call);
                let last = &calls[calls.len().saturating_sub(12)..];
                assert_eq!(got, wanted, "seed {seed}, call {}: {last:#?}", calls.len());
            }
            assert_eq!(contents(&lower), before, "the host's files changed");
        }
    });
}
