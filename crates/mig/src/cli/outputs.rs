//! Writing the files: all of them or none.

use std::io::Write;
use std::path::Path;

use tempfile::NamedTempFile;

use super::{Args, Failure, Language};
use crate::emit::c::{self, Audience};
use crate::emit::rust::{self, Halves};
use crate::model::Interface;

/// A file to write: its name and its text.
type Output = (String, String);

/// Writes all that was asked for, and returns the names of the files.
///
/// # Errors
/// [`Failure::System`] if one can't be written. No file was changed then.
pub fn write(args: &Args, interface: &Interface) -> Result<Vec<String>, Failure> {
    let outputs = match args.language {
        Language::C => c_outputs(args, interface),
        Language::Rust => rust_outputs(args, interface)?,
    };
    let mut prepared = Vec::new();
    for (name, text) in &outputs {
        prepared.push(prepare(name, text)?);
    }
    let mut written = Vec::new();
    for (prepared, (name, _)) in prepared.into_iter().zip(&outputs) {
        match prepared {
            Prepared::Temporary(file) => {
                file.persist(name).map_err(|e| cannot_write(name, &e.error))?;
                written.push(name.clone());
            }
            Prepared::Direct(text) if name == "-" => super::print(text.as_bytes())?,
            Prepared::Direct(text) => std::fs::write(name, text).map_err(|e| cannot_write(name, &e))?,
            Prepared::Nothing => {}
        }
    }
    Ok(written)
}

fn c_outputs(args: &Args, interface: &Interface) -> Vec<Output> {
    let (outputs, name) = (&args.outputs, &interface.name);
    let mut options = args.c.clone();
    let file_name = |path: &String| Path::new(path).file_name().map(|f| format!("\"{}\"", f.to_string_lossy()));
    options.header = outputs.internal_header.as_ref().filter(|f| *f != "/dev/null").and_then(file_name);
    let or = |given: &Option<String>, default: String| given.clone().unwrap_or(default);
    let mut list = Vec::new();
    match &outputs.individual {
        Some(prefix) => {
            for routine in interface.routines() {
                list.push((format!("{prefix}{}.c", routine.name), c::user_routine(interface, &options, routine)));
            }
            if let Some(user) = &outputs.user {
                list.push((user.clone(), c::user(interface, &options)));
            }
        }
        None => list.push((or(&outputs.user, format!("{name}User.c")), c::user(interface, &options))),
    }
    list.push((or(&outputs.server, format!("{name}Server.c")), c::server(interface, &options)));
    list.push((or(&outputs.header, format!("{name}.h")), c::header(interface, &options, Audience::Users)));
    let headers = [
        (&outputs.server_header, Audience::Servers),
        (&outputs.internal_header, Audience::Internal),
        (&outputs.definitions, Audience::Definitions),
    ];
    for (file, audience) in headers {
        list.extend(file.clone().map(|f| (f, c::header(interface, &options, audience))));
    }
    list.extend(outputs.defaults.clone().map(|f| (f, c::defaults(interface, &options))));
    list.extend(outputs.list.clone().map(|f| (f, c::list(interface, &options))));
    list
}

/// One module with both halves, or the halves that were named.
fn rust_outputs(args: &Args, interface: &Interface) -> Result<Vec<Output>, Failure> {
    let outputs = &args.outputs;
    let of_c = [
        ("-header", &outputs.header),
        ("-sheader", &outputs.server_header),
        ("-iheader", &outputs.internal_header),
        ("-dheader", &outputs.definitions),
        ("-defaults", &outputs.defaults),
        ("-i", &outputs.individual),
    ];
    if let Some((option, _)) = of_c.into_iter().find(|(_, file)| file.as_ref().is_some_and(|f| f != "/dev/null")) {
        return Err(Failure::Usage(format!("{option} is for C; a Rust module has no headers and no other files")));
    }
    let halves = [(&outputs.rust, Halves::Both), (&outputs.user, Halves::Client), (&outputs.server, Halves::Server)];
    let named = halves.iter().filter_map(|(file, halves)| file.as_ref().map(|f| (f.clone(), *halves)));
    let mut files: Vec<_> = named.collect();
    if files.is_empty() {
        files.push((rust::file_name(interface), Halves::Both));
    }
    let mut list: Vec<Output> =
        files.into_iter().map(|(file, halves)| (file, rust::module(interface, halves, args.c.trap))).collect();
    list.extend(outputs.list.clone().map(|f| (f, rust::list(interface))));
    Ok(list)
}

enum Prepared {
    /// Complete, and waits for its name.
    Temporary(NamedTempFile),
    /// Goes to standard output or to something that is no regular file.
    Direct(String),
    Nothing,
}

/// Writes the text beside its place, so that only a name is missing.
fn prepare(name: &str, text: &str) -> Result<Prepared, Failure> {
    if name == "/dev/null" {
        return Ok(Prepared::Nothing);
    }
    let path = Path::new(name);
    if name == "-" || std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        return Ok(Prepared::Direct(text.to_owned()));
    }
    let dir = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".mig");
    set_mode(&mut builder);
    let mut file = builder.tempfile_in(dir).map_err(|e| cannot_write(name, &e))?;
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(|e| cannot_write(name, &e))?;
    Ok(Prepared::Temporary(file))
}

/// Generated files are as readable as any that a compiler writes; the umask still counts.
fn set_mode(builder: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(std::fs::Permissions::from_mode(0o666));
}

fn cannot_write(name: &str, error: &std::io::Error) -> Failure {
    Failure::System(format!("can't write {name}: {error}"))
}
