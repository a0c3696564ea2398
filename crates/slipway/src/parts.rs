//! The parts of Slipway that an installation by cargo carries inside, as files for programs and for the loader.
//!
//! They are unpacked below the user's own cache directory, where nobody else can write, and compared whenever they are used.

use std::env;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, StatVfsMountFlags, statvfs};
use slipway_layer::base_directory;
use slipway_mach::bootstrap::trust;

include!(concat!(env!("OUT_DIR"), "/parts.rs"));

/// The mode of an unpacked file: also a program's owner does not write it by mistake.
const MODE: u32 = 0o500;

/// The file with a part, such as "lib/libmach.so.1"; None if this program carries none.
///
/// # Errors
/// It can't be unpacked; in words for a person.
pub fn file(place: &str) -> Option<Result<PathBuf, String>> {
    let (_, bytes) = PARTS.iter().find(|(name, _)| *name == place)?;
    Some(cache().and_then(|cache| unpack(&cache, place, bytes)))
}

/// The directory of the user for what can be made again.
fn cache() -> Result<PathBuf, String> {
    if trust::is_elevated() {
        return Err("it is inside slipway, and a set-uid program unpacks nothing: its environment is its caller's".to_owned());
    }
    base_directory("XDG_CACHE_HOME", ".cache").ok_or_else(|| {
        "it is inside slipway and has to be unpacked: set HOME or XDG_CACHE_HOME to a directory of yours".to_owned()
    })
}

fn unpack(cache: &Path, place: &str, bytes: &[u8]) -> Result<PathBuf, String> {
    let fail = |path: &Path, why: &dyn std::fmt::Display| {
        format!("cannot unpack it: {}: {why}; XDG_CACHE_HOME names another directory", path.display())
    };
    let user = rustix::process::geteuid().as_raw();
    // With sudo, HOME may be another user's, in whose directories nothing is left.
    let existing = cache.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    if existing.metadata().map_err(|error| fail(existing, &error))?.uid() != user {
        return Err(fail(existing, &"it belongs to another user"));
    }
    let top = cache.join("slipway");
    let path = top.join(STAMP).join(place);
    let dir = path.parent().unwrap_or(&top);
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| fail(dir, &error))?;
    for own in dir.ancestors().take_while(|own| own.starts_with(&top)) {
        let it = own.symlink_metadata().map_err(|error| fail(own, &error))?;
        if !it.is_dir() || it.uid() != user || it.mode() & 0o077 != 0 {
            return Err(fail(own, &"it must be a directory of this user that nobody else may read or write (mode 0700)"));
        }
    }
    if !trust::is_safe(dir) {
        return Err(fail(dir, &"another user could replace it or a directory above it"));
    }
    if statvfs(dir).is_ok_and(|system| system.f_flag.contains(StatVfsMountFlags::NOEXEC)) {
        return Err(fail(dir, &"nothing may be executed on that file system"));
    }
    if !is_there(&path, bytes, user) {
        write(dir, &path, bytes).map_err(|error| fail(&path, &error))?;
    }
    path.canonicalize().map_err(|error| fail(&path, &error))
}

fn is_there(path: &Path, bytes: &[u8], user: u32) -> bool {
    let read = |mut file: File| {
        let it = file.metadata()?;
        let mut found = Vec::new();
        if it.is_file() && it.uid() == user && it.mode() & 0o7777 == MODE && it.len() == bytes.len() as u64 {
            file.read_to_end(&mut found)?;
        }
        Ok::<_, io::Error>(found)
    };
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    file.and_then(read).is_ok_and(|found| found == bytes)
}

/// Puts the file there in one step: others may be unpacking it too, or run the one that was there.
fn write(dir: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::Builder::new().permissions(Permissions::from_mode(0o600)).tempfile_in(dir)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(Permissions::from_mode(MODE))?;
    if path.is_dir() {
        fs::remove_dir_all(path)?;
    }
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const PLACE: &str = "lib/part.so";

    fn scratch() -> tempfile::TempDir {
        tempfile::tempdir().expect("a directory")
    }

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
    }

    #[test]
    fn a_part_is_unpacked_once_and_for_its_user_only() {
        let scratch = scratch();
        let cache = scratch.path().join("not/there/yet");
        let path = unpack(&cache, PLACE, b"part").expect("unpacked");
        assert_eq!(fs::read(&path).expect("the part"), b"part");
        assert_eq!(path.metadata().expect("metadata").mode() & 0o7777, MODE);
        for dir in path.ancestors().skip(1).take_while(|dir| dir.starts_with(cache.join("slipway"))) {
            assert_eq!(dir.metadata().expect("metadata").mode() & 0o777, 0o700, "{}", dir.display());
        }
        let first = path.metadata().expect("metadata").ino();
        assert_eq!(unpack(&cache, PLACE, b"part").as_ref(), Ok(&path));
        assert_eq!(path.metadata().expect("metadata").ino(), first, "nothing is written again");
        assert_eq!(fs::read_dir(path.parent().expect("a directory")).expect("entries").count(), 1, "nothing else is left");
    }

    #[test]
    fn what_is_not_the_part_is_replaced() {
        let scratch = scratch();
        let path = unpack(scratch.path(), PLACE, b"part").expect("unpacked");
        let victim = scratch.path().join("victim");
        let spoil: [&dyn Fn(); 4] = [
            &|| {
                fs::write(&path, "trap").expect("other content");
                mode(&path, MODE);
            },
            &|| mode(&path, 0o520),
            &|| {
                fs::write(&victim, "part").expect("a file");
                fs::remove_file(&path).expect("no part");
                symlink(&victim, &path).expect("a link");
            },
            &|| {
                fs::remove_file(&path).expect("no part");
                fs::create_dir(&path).expect("a directory");
            },
        ];
        for (number, spoil) in spoil.iter().enumerate() {
            mode(&path, 0o700);
            spoil();
            assert_eq!(unpack(scratch.path(), PLACE, b"part").as_ref(), Ok(&path), "{number}");
            let it = path.symlink_metadata().expect("metadata");
            assert!(it.is_file() && it.mode() & 0o7777 == MODE, "{number}: {it:?}");
            assert_eq!(fs::read(&path).expect("the part"), b"part", "{number}");
        }
        assert_eq!(fs::read(victim).expect("the link's target"), b"part");
    }

    #[test]
    fn a_directory_of_others_is_refused() {
        let scratch = scratch();
        let path = unpack(scratch.path(), PLACE, b"part").expect("unpacked");
        let top = scratch.path().join("slipway");
        for dir in [path.parent().expect("a directory"), &top] {
            for open in [0o770, 0o702, 0o750] {
                mode(dir, open);
                let why = unpack(scratch.path(), PLACE, b"part").expect_err("others may write");
                assert!(why.contains("0700") && why.contains(dir.to_str().expect("UTF-8")), "{why}");
            }
            mode(dir, 0o700);
        }
        mode(scratch.path(), 0o777);
        let why = unpack(scratch.path(), PLACE, b"part").expect_err("everybody may replace slipway/");
        assert!(why.contains("could replace"), "{why}");
        mode(scratch.path(), 0o700);
        fs::rename(&top, scratch.path().join("elsewhere")).expect("moved");
        symlink("elsewhere", &top).expect("a link");
        unpack(scratch.path(), PLACE, b"part").expect_err("a link leads where somebody else wants");
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(scratch.path(), Some(12345), None).expect("an owner");
            let why = unpack(&scratch.path().join("new"), PLACE, b"part").expect_err("another user's");
            assert!(why.contains("another user"), "{why}");
        } else {
            eprintln!("only root can give a directory away: that another user's is refused is not tested");
        }
    }
}
