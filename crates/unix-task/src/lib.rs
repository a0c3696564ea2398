//! The Unix server as a task: `slipway run unix-server.so client.so`, or a task of a system. docs/unix-server.md is its guide.

use clap::Parser;
use slipway_layer::{About, Rules, Store, TreePath, View};
use slipway_mach::rights::ReceiveRight;
use slipway_unix_server::{SERVICE, System};
use std::{
    error::Error,
    ffi::OsString,
    path::{Path, PathBuf},
};

slipway_domain::task_main!(run);

/// Serve files, processes and signals of Unix to Mach programs, on a copy-on-write view of the host's files
#[derive(Debug, Parser)]
#[command(name = "unix-server", no_binary_name = true)]
struct Options {
    /// Serve this layer; several lie on each other in this order. Changes go to the last, which is made if it is not there. Without one
    /// nothing can be changed
    #[arg(long, value_name = "LAYER")]
    layer: Vec<String>,
    /// Refuse changes, with the error of a file system that is read-only
    #[arg(long)]
    read_only: bool,
    /// Make PATH look as if it were not there; may be repeated
    #[arg(long, value_name = "PATH")]
    hide: Vec<PathBuf>,
    /// The name to register
    #[arg(long, value_name = "NAME", default_value = SERVICE)]
    service: String,
    /// Take no calls by trap: tasks of the same process send messages, too
    #[arg(long)]
    messages: bool,
}

fn run(arguments: Vec<OsString>) -> i32 {
    let options = match Options::try_parse_from(arguments.into_iter().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            let _ = error.print();
            return error.exit_code();
        }
    };
    match serve(&options) {
        Ok(never) => match never {},
        Err(error) => {
            eprintln!("unix-server: {error}");
            1
        }
    }
}

fn serve(options: &Options) -> Result<std::convert::Infallible, Box<dyn Error>> {
    let server = System::new(view(options)?, !options.messages);
    let port = ReceiveRight::new()?;
    port.make_send()?.register(&options.service).map_err(|error| format!("register {}: {error}", options.service))?;
    Ok(server.serve(port)?)
}

/// What programs see.
fn view(options: &Options) -> Result<View, Box<dyn Error>> {
    let store = Store::of_user()?;
    let top = options.layer.last().filter(|_| !options.read_only);
    if let Some(top) = top
        && !store.names()?.contains(top)
    {
        let below = store.with_below(&options.layer[..options.layer.len() - 1])?;
        store.create(top, &About { command: vec!["unix-server".to_owned()], created: now(), below })?;
    }
    if let Some(above) = top.map(|top| store.above(top)).transpose()?.as_ref().and_then(|above| above.first()) {
        return Err(format!("the layer to be changed is below {above}; name another one after it").into());
    }
    let layers = store.layers(&store.with_below(&options.layer)?, top.map(String::as_str))?;
    let absolute = |path: &PathBuf| Ok(TreePath::literal(std::path::absolute(path)?.as_os_str().as_encoded_bytes()));
    let mut hidden = options.hide.iter().map(absolute).collect::<std::io::Result<Vec<_>>>()?;
    hidden.push(TreePath::literal(store.dir().as_os_str().as_encoded_bytes()));
    Ok(View::new(Path::new("/"), layers, Rules { hidden, read_only: top.is_none(), ..Rules::default() })?)
}

/// Seconds since 1970.
fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
