//! A layer as a tar archive.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, openat};
use slipway_layer::{Kind, Store};
use tar::{Builder, EntryType, Header};

use super::args::ExportOptions;
use super::diff::view;
use crate::failure::Failure;

/// Writes what a layer changes into an archive.
///
/// # Errors
/// The layer can't be read, or the archive written.
pub fn export(store: &Store, options: &ExportOptions) -> Result<u8, Failure> {
    let fail = |error: io::Error| Failure::own(format!("write {}", options.archive.display()), error);
    let view = view(store, &options.layer)?;
    let changes = view.changes().map_err(|error| Failure::own(format!("compare layer {}", options.layer), error))?;
    let out: Box<dyn Write> = if options.archive == Path::new("-") {
        Box::new(io::stdout().lock())
    } else {
        Box::new(File::create(&options.archive).map_err(fail)?)
    };
    let mut archive = Builder::new(out);
    let mut gone: Option<slipway_layer::TreePath> = None;
    for change in &changes {
        let name = change.path.to_path();
        let name = name.strip_prefix("/").unwrap_or(&name);
        let Some(after) = &change.after else {
            // One name stands for a directory with what is in it.
            if change.kind == Kind::Deleted && !gone.as_ref().is_some_and(|gone| change.path.is_within(gone)) {
                gone = Some(change.path.clone());
                let mark = [b".wh.".as_slice(), change.path.name()].concat();
                let name = name.with_file_name(std::ffi::OsStr::from_bytes(&mark));
                archive.append_data(&mut header(EntryType::Regular, 0o644, 0), name, io::empty()).map_err(fail)?;
            }
            continue;
        };
        let mode = after.stat.st_mode & 0o7777;
        let mut header = match after.kind() {
            FileType::Directory => header(EntryType::Directory, mode, 0),
            FileType::Symlink => header(EntryType::Symlink, mode, 0),
            FileType::Fifo => header(EntryType::Fifo, mode, 0),
            FileType::RegularFile => header(EntryType::Regular, mode, after.stat.st_size.cast_unsigned()),
            // An archive has no sockets; devices are not a layer's to give away.
            _ => continue,
        };
        header.set_uid(after.stat.st_uid.into());
        header.set_gid(after.stat.st_gid.into());
        header.set_mtime(after.stat.st_mtime.cast_unsigned());
        match after.kind() {
            FileType::Symlink => {
                let target = view.read_link(after).map_err(|error| fail(error.into()))?;
                archive.append_link(&mut header, name, std::ffi::OsStr::from_bytes(&target)).map_err(fail)?;
            }
            FileType::RegularFile => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = openat(view.root(after.place), after.path.relative(), flags, Mode::empty());
                archive.append_data(&mut header, name, File::from(file.map_err(|error| fail(error.into()))?)).map_err(fail)?;
            }
            _ => archive.append_data(&mut header, name, io::empty()).map_err(fail)?,
        }
    }
    archive.finish().map_err(fail)?;
    Ok(0)
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header
}
