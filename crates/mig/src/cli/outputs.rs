//! Writing the files: all of them or none.

use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::{Args, Dialect, Failure, Language};
use crate::emit::c::{
    self, Audience, Typed,
    darwin::{self, Darwin},
};
use crate::emit::rust::{self, Halves};
use crate::model::{Interface, Routine};

/// A file to write: its name and its text.
type Output = (String, String);

/// Writers of a dialect: of a whole file of stubs, of one routine's, and of a header.
type Whole = fn(&Interface, &c::Options) -> String;
type One = fn(&Interface, &c::Options, &Routine) -> String;
type Header = fn(&Interface, &c::Options, Audience) -> String;

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
            Prepared::Temporary(file, target) => {
                file.persist(target).map_err(|e| cannot_write(name, &e.error))?;
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
    let (user, user_routine, server, header): (Whole, One, Whole, Header) = match args.dialect {
        Dialect::Typed => (c::user::<Typed>, c::user_routine::<Typed>, c::server, c::header),
        Dialect::Darwin => (c::user::<Darwin>, c::user_routine::<Darwin>, darwin::server, darwin::header),
    };
    let or = |given: &Option<String>, default: String| given.clone().or((!outputs.named_only).then_some(default));
    let mut list = Vec::new();
    match &outputs.individual {
        Some(prefix) => {
            for routine in interface.routines() {
                list.push((format!("{prefix}{}.c", routine.name), user_routine(interface, &options, routine)));
            }
            if let Some(file) = &outputs.user {
                list.push((file.clone(), user(interface, &options)));
            }
        }
        None => list.extend(or(&outputs.user, format!("{name}User.c")).map(|f| (f, user(interface, &options)))),
    }
    list.extend(or(&outputs.server, format!("{name}Server.c")).map(|f| (f, server(interface, &options))));
    list.extend(or(&outputs.header, format!("{name}.h")).map(|f| (f, header(interface, &options, Audience::Users))));
    let headers = [
        (&outputs.server_header, Audience::Servers),
        (&outputs.internal_header, Audience::Internal),
        (&outputs.definitions, Audience::Definitions),
    ];
    for (file, audience) in headers {
        list.extend(file.clone().map(|f| (f, header(interface, &options, audience))));
    }
    list.extend(outputs.defaults.clone().map(|f| (f, c::defaults(interface, &options))));
    list.extend(outputs.list.clone().map(|f| (f, list_of(interface))));
    list
}

/// The routines, one a line: subsystem, base, name, number, identifiers of the request and of the reply, which is 0 if there is none.
fn list_of(interface: &Interface) -> String {
    let line = |routine: &Routine| {
        let (id, base) = (routine.id, interface.base);
        let reply = if routine.one_way { 0 } else { id + 100 };
        format!("{} {base} {} {} {id} {reply}\n", interface.name, routine.name, id - base)
    };
    interface.routines().map(line).collect()
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
    if files.is_empty() && !outputs.named_only {
        files.push((rust::file_name(interface), Halves::Both));
    }
    let mut list: Vec<Output> =
        files.into_iter().map(|(file, halves)| (file, rust::module(interface, halves, args.c.trap))).collect();
    list.extend(outputs.list.clone().map(|f| (f, list_of(interface))));
    Ok(list)
}

enum Prepared {
    /// Complete, and waits for its place.
    Temporary(NamedTempFile, PathBuf),
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
    // What a symbolic link leads to is written, as by `>`; the link stays.
    let target = resolve(path).map_err(|e| cannot_write(name, &e))?;
    let dir = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".mig");
    set_mode(&mut builder);
    let mut file = builder.tempfile_in(dir).map_err(|e| cannot_write(name, &e))?;
    file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(|e| cannot_write(name, &e))?;
    Ok(Prepared::Temporary(file, target))
}

/// The file behind symbolic links, whether it exists or not.
fn resolve(path: &Path) -> std::io::Result<PathBuf> {
    let mut path = path.to_owned();
    // As many as the kernel follows.
    for _ in 0..40 {
        if !path.is_symlink() {
            return Ok(path);
        }
        let next = std::fs::read_link(&path)?;
        path = path.parent().map_or(next.clone(), |dir| dir.join(&next));
    }
    Err(std::io::Error::other("too many symbolic links"))
}

/// Generated files are as readable as any that a compiler writes; the umask still counts.
fn set_mode(builder: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(std::fs::Permissions::from_mode(0o666));
}

fn cannot_write(name: &str, error: &std::io::Error) -> Failure {
    Failure::System(format!("can't write {name}: {error}"))
}
