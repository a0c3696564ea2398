//! Which part of the environment is another user's choice.
//!
//! A set-uid program gets its environment from its caller, and a program under `sudo -E` gets the variables of the user
//! that called sudo. Where they lead must not be for that user to choose.
#![allow(unsafe_code, reason = "getauxval: what the kernel says of an exec has no other face")]

use std::{cell::LazyCell, os::unix::fs::MetadataExt, path::Path};

/// Whether this process has rights that its caller has not: it is set-uid or set-gid, or has capabilities by its file.
/// Its environment is its caller's, then, and none of it is believed.
pub fn is_elevated() -> bool {
    use rustix::process::{getegid, geteuid, getgid, getuid};
    // SAFETY: reads a number that the kernel put beside the environment.
    let secure = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    secure || getuid() != geteuid() || getgid() != getegid()
}

/// Whether nobody else can put another file at an absolute path: the file and all directories above it belong to root,
/// to this user or to a user that could as well replace the program that runs, and not everybody may write them. (In a
/// directory with the sticky bit entries are their owners' to replace.)
pub fn is_safe(path: &Path) -> bool {
    let Ok(real) = path.canonicalize() else { return false };
    let (own, others) = (rustix::process::geteuid().as_raw(), LazyCell::new(owners));
    // Mostly there is no link on the way.
    let real = (real != path).then_some(&*real);
    path.is_absolute()
        && path.ancestors().chain(real.into_iter().flat_map(Path::ancestors)).all(|part| {
            part.symlink_metadata().is_ok_and(|it| {
                let is_open = it.mode() & 0o002 != 0 && !(it.is_dir() && it.mode() & 0o1000 != 0);
                (it.uid() == 0 || it.uid() == own || others.contains(&it.uid())) && (it.is_symlink() || !is_open)
            })
        })
}

/// The users that [`is_safe`] accepts beside root and this one.
fn owners() -> Vec<u32> {
    let mut owners = Vec::new();
    // A set-uid program may have been linked into a directory of its caller's.
    if !is_elevated()
        && let Ok(program) = std::env::current_exe()
    {
        owners.extend(program.ancestors().filter_map(|part| Some(part.symlink_metadata().ok()?.uid())));
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        fs::{self, Permissions},
        os::unix::fs::{PermissionsExt, symlink},
        path::PathBuf,
    };

    struct Scratch(PathBuf);

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_others_can_replace_is_not_safe() {
        let scratch = Scratch(std::env::temp_dir().join(format!("slipway-trust-{}", std::process::id())));
        let (dir, file, link) = (scratch.0.join("dir"), scratch.0.join("dir/file"), scratch.0.join("link"));
        // Of an earlier process with this number, that was killed.
        let _ = fs::remove_dir_all(&scratch.0);
        fs::create_dir_all(&dir).expect("a directory");
        fs::write(&file, "").expect("a file");
        symlink("dir/file", &link).expect("a link");
        let set = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
        set(&scratch.0, 0o700);
        let safe = || (is_safe(&file), is_safe(&link));
        for (mode, wanted) in [(0o755, true), (0o775, true), (0o777, false), (0o1777, true)] {
            set(&dir, mode);
            assert_eq!(safe(), (wanted, wanted), "{mode:o}");
        }
        set(&file, 0o646);
        assert_eq!(safe(), (false, false));
        assert!(!is_safe(&dir.join("none")) && !is_safe(Path::new("Cargo.toml")));
        set(&file, 0o644);
        if rustix::process::geteuid().is_root() {
            // Also where the directory's sticky bit lets nobody replace the file.
            std::os::unix::fs::chown(&file, Some(12345), None).expect("an owner");
            assert_eq!(safe(), (false, false));
        } else {
            eprintln!("only root can give a file away: that an owner is another user is not tested");
        }
    }
}
