//! Programs with a socket in a directory of their own, hooked or not.

use slipway_test_support::{built, succeed, until};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

/// A test of programs that takes this long hangs.
pub const HANGS: Duration = Duration::from_secs(600);

/// The server's end, then the client's: hooked or not.
pub const ENDS: [(bool, bool); 4] = [(true, true), (true, false), (false, true), (false, false)];

/// A directory with a runtime directory in it.
pub struct Place {
    pub dir: tempfile::TempDir,
    /// PostgreSQL refuses to be run by root.
    user: Option<u32>,
}

impl Place {
    pub fn new(user: Option<u32>) -> Self {
        let dir = tempfile::Builder::new().prefix("slipway-sockets").tempdir().expect("a directory");
        let place = Self { dir, user };
        fs::create_dir(place.path("run")).expect("a directory");
        fs::set_permissions(place.path("run"), fs::Permissions::from_mode(0o700)).expect("closed to others");
        for path in [place.dir.path(), &place.path("run")] {
            chown(path, user, user).expect("the user's");
        }
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A command, hooked or not.
    pub fn command(&self, hooked: bool, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = match self.user {
            None => Command::new(if hooked { built("slipway").into_os_string() } else { program.as_ref().to_owned() }),
            Some(user) => {
                let mut command = Command::new("setpriv");
                command.args([format!("--reuid={user}"), format!("--regid={user}")]).args(["--clear-groups", "--"]);
                if hooked {
                    command.arg(built("slipway"));
                } else {
                    command.arg(program.as_ref());
                }
                command
            }
        };
        if hooked {
            command.args(["sockets", "--"]).arg(program);
        }
        let own = std::env::vars().map(|(name, _)| name).filter(|name| name.starts_with("SLIPWAY_"));
        own.for_each(|name| _ = command.env_remove(name));
        command
            .env("SLIPWAY_RUNTIME_DIR", self.path("run"))
            .env("SLIPWAY_PRELOAD", built("libslipway_preload.so"))
            .env("SLIPWAY_X11_AFTER", "0")
            .env("XDG_CONFIG_HOME", self.dir.path())
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        command
    }

    /// `slipway sockets status --json` of a socket.
    pub fn status(&self, socket: &Path) -> serde_json::Value {
        let mut command = self.command(false, built("slipway"));
        let printed = succeed(command.args(["sockets", "status", "--json"]).arg(socket));
        serde_json::from_str(&printed).expect("JSON")
    }

    /// How many connections a server has by the transport: `ring` or `socket`.
    pub fn connections(&self, socket: &Path, transport: &str) -> usize {
        let status = self.status(socket);
        let connections = status["servers"][0]["connections"].as_array().expect("a list");
        connections.iter().filter(|connection| connection["transport"] == transport).count()
    }
}

/// A server, which is ended.
pub struct Serving(Child);

impl Serving {
    pub fn start(mut command: Command, socket: &Path) -> Self {
        let serving =
            Self(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts; scripts/setup.sh installs it"));
        until("the server listens", || std::os::unix::net::UnixStream::connect(socket).is_ok());
        serving
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let pid = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw);
        let _ = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::INT));
        let _ = self.0.wait();
    }
}

/// While a client runs it has connections over shared memory if both ends are hooked, and none otherwise.
pub fn expect_rings(place: &Place, socket: &Path, (server, client): (bool, bool), mut run: Command) {
    let mut running = run.stdout(Stdio::piped()).spawn().expect("starts");
    if server && client {
        until("a connection is on shared memory", || place.connections(socket, "ring") > 0);
    } else if server {
        until("a connection is on its socket", || place.connections(socket, "socket") > 0);
        assert_eq!(place.connections(socket, "ring"), 0);
    }
    let _ = running.kill();
    let _ = running.wait();
}
