//! The command line's grammar and help.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::run::{RunOptions, ServicesOptions};
use crate::size::parse_interval;
use crate::unix::Unix;
use crate::x11::Screen;
use slipway_transport::settings::{parse_count, parse_size, parse_spin};

/// A microkernel's IPC on Linux: X11 and other local sockets over shared memory, and Mach ports.
#[derive(Debug, Parser)]
#[command(name = "slipway", version, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    X11(X11),
    Sockets(Sockets),
    Run(RunOptions),
    Services(ServicesOptions),
    Unix(Unix),
    Ports(PortsOptions),
    /// Compile an interface: the same as mig (try `slipway mig -help`)
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Mig {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
        args: Vec<OsString>,
    },
    /// Measure: run slipway-bench with ARGS (try `slipway bench --help`)
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Bench {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
        args: Vec<OsString>,
    },
    /// Clean up after a `slipway x11 --server` that was killed (started by it, never by hand)
    #[command(name = "x11-guard", hide = true)]
    Guard {
        dir: PathBuf,
    },
}

const EXAMPLES: &str = "\
Examples:
  slipway x11 -- Xvfb :99                      an X server that offers shared memory
  DISPLAY=:99 slipway x11 -- xterm             a program that uses it
  slipway x11 --server Xvfb -- make check      a private server for one command
  slipway x11 status :99                       the connections of a server
  slipway x11 --over ports -- xterm            over Mach ports, to a server that was started so
  slipway x11 -- status                        a program that is called status

A connection runs over shared memory when both its ends, the X server and the program, run
under `slipway x11`; every other connection stays on its socket and works as without Slipway.

Environment:
  An option overrides its variable; without the option the variable counts, then the default.
  SLIPWAY_X11          on, or off (as --off) [default: on]
  SLIPWAY_PRELOAD      the preload library [default: libslipway_preload.so in ../lib/slipway
                       beside the directory of the slipway executable, or in that directory]
  SLIPWAY_RUNTIME_DIR  directory of the sockets by which program and server find each other
                       [default: slipway in $XDG_RUNTIME_DIR or /run/user/UID, or
                       /tmp/slipway-UID]

Exit status:
  The program's own (with --server: 128 + N if signal N ended it). If it could not be run:
  2 wrong options, 125 the server did not start, 126 not executable, 127 not found.";

/// Run an X program or an X server with shared memory instead of its socket
#[derive(Debug, Default, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
    override_usage = "slipway x11 [OPTIONS] [--] PROGRAM [ARGS]...\n       \
                      slipway x11 --server SERVER [OPTIONS] [--] PROGRAM [ARGS]...\n       \
                      slipway x11 status [DISPLAY] [--json] [--watch]",
    after_help = EXAMPLES
)]
pub struct X11 {
    #[command(subcommand)]
    pub command: Option<X11Command>,
    /// The program, found in PATH, and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM [ARGS]")]
    pub program: Vec<OsString>,
    /// What carries the bytes: `rings` of shared memory, or messages between Mach `ports`, which the name server finds as x11.N [default: rings] [env: SLIPWAY_X11_OVER]
    #[arg(long, hide_possible_values = true)]
    pub over: Option<Over>,
    /// Let PROGRAM hold the port of this display: it connects there whatever it can see of sockets, cookies and name servers (with --over ports)
    #[arg(long, value_name = "DISPLAY", conflicts_with = "server")]
    pub hold: Option<String>,
    #[command(flatten)]
    pub hooks: HookOptions,
    #[command(flatten)]
    pub server: ServerOptions,
}

/// What carries the bytes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Over {
    Rings,
    Ports,
}

#[derive(Debug, Subcommand)]
pub enum X11Command {
    /// Show a server's connections: transport, traffic, and how their waits ended
    ///
    /// A wait is won by looking (the data was there), by spinning, or ends in sleep. A doorbell
    /// is a system call that wakes the other side. Counts are the server's, since the connection began.
    Status(StatusOptions),
}

/// Which servers to ask, and how to print their answers.
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0; 1 if there is no such server; 2 wrong options.")]
pub struct StatusOptions {
    /// Display such as :99 or 99 [default: $DISPLAY, else every display whose server runs under slipway x11]
    pub display: Option<String>,
    #[command(flatten)]
    pub form: StatusForm,
}

const SOCKETS_HELP: &str = "\
Examples:
  slipway sockets -- redis-server --unixsocket /tmp/r.sock      a server that offers shared memory
  slipway sockets -- redis-benchmark -s /tmp/r.sock -c 1        a program that uses it
  slipway sockets --only '/tmp/r.sock' -- make check            for one socket only
  slipway sockets status                                        every server and its connections

A stream connection to a path or to an abstract name runs over shared memory when both its ends run under
`slipway sockets`; every other connection stays on its socket and works as without Slipway.

Which sockets:
  A glob is compared with the absolute path, or with the abstract name behind an @; `*` is any
  characters, slashes too, `?` any one. Without --only it is all sockets. What the options leave open is read
  from SLIPWAY_SOCKETS, and if that is not set from sockets.toml in slipway in $XDG_CONFIG_HOME or ~/.config:
      only = [\"/run/postgresql/*\"]
      not = [\"*/bus\"]

Environment:
  SLIPWAY_SOCKETS  all, +GLOB (only) and -GLOB (not), separated by colons; set for PROGRAM
  The others are those of slipway x11, and so are the options for shared memory.

Exit status:
  The program's own. If it could not be run: 2 wrong options, 126 not executable, 127 not found.";

/// Run a program with shared memory instead of its local stream sockets
#[derive(Debug, Default, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
    override_usage = "slipway sockets [OPTIONS] [--] PROGRAM [ARGS]...\n       \
                      slipway sockets status [SOCKET] [--json] [--watch]",
    after_help = SOCKETS_HELP
)]
pub struct Sockets {
    #[command(subcommand)]
    pub command: Option<SocketsCommand>,
    /// The program, found in PATH, and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM [ARGS]")]
    pub program: Vec<OsString>,
    /// Use shared memory for sockets that match this glob only; may be repeated
    #[arg(long, value_name = "GLOB")]
    pub only: Vec<String>,
    /// Leave sockets that match this glob as they are; may be repeated
    #[arg(long, value_name = "GLOB")]
    pub not: Vec<String>,
    #[command(flatten)]
    pub hooks: HookOptions,
}

#[derive(Debug, Subcommand)]
pub enum SocketsCommand {
    /// Show servers and their connections: transport, traffic, and how their waits ended
    Status(SocketStatusOptions),
}

/// Which servers to ask, and how to print their answers.
#[derive(Debug, Args)]
#[command(after_help = "Exit status: 0; 1 if there is no such server; 2 wrong options.")]
pub struct SocketStatusOptions {
    /// Where the server listens: a path, or an abstract name behind an @ [default: every server of this user]
    pub socket: Option<String>,
    #[command(flatten)]
    pub form: StatusForm,
}

/// How a status is printed.
#[derive(Debug, Args)]
pub struct StatusForm {
    /// Print everything as one JSON object, for programs
    #[arg(long)]
    pub json: bool,
    /// Print again every second until the server ends (with --json: one object a line)
    #[arg(long)]
    pub watch: bool,
}

const PORTS_HELP: &str = "\
Columns:
  name      the task's name for the right; of a port set, its members are under peers
  right     receive, send, send-once, port-set or dead-name; `task', `thread' and `host' are
            ports that the library itself serves
  urefs     user references
  queue     messages that wait at the port; of a port elsewhere, those that this process sent
  limit     the queue limit: so many messages of each sending process may wait
  messages  received from the port; of a port elsewhere, sent to it
  per s     messages a second since the last look (with --watch)
  asked     notifications asked for: d dead name, n no senders, p port destroyed
  peers     processes that may send to the port, or the one that receives from it

A process can be asked once it has exchanged a right with another. What it says of itself is
not checked. Processes of other users are shown to root only.

Exit status:
  0; 1 no such process; 2 wrong options; 3 the process has no Mach ports that others know;
  4 it belongs to another user; 5 it does not answer; 125 the processes can't be looked for.";

/// Show the Mach ports of running programs: rights, queues, peers, and the lines between processes
#[derive(Debug, Args)]
#[command(after_help = PORTS_HELP)]
pub struct PortsOptions {
    /// Process to show [default: every process of this user that has ports, or of everybody for root]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Option<u32>,
    /// Print everything as one JSON object, for programs
    #[arg(long)]
    pub json: bool,
    /// Print again every so many seconds, with message rates, until PID ends (with --json: one object a line) [default: 1]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "1",
          value_parser = parse_interval)]
    pub watch: Option<Duration>,
}

/// One option for each variable of the hooks.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Shared memory")]
pub struct HookOptions {
    /// Ring that a client asks for: bytes a direction, rounded up to a power of two [default: 1M] [env: SLIPWAY_X11_RING]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub ring: Option<u64>,
    /// Smallest ring that a server grants: bytes a direction [default: 64K] [env: SLIPWAY_X11_MIN]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub min_ring: Option<u64>,
    /// Largest ring that a server grants: bytes a direction [default: 16M] [env: SLIPWAY_X11_MAX]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub max_ring: Option<u64>,
    /// Bytes of shared memory that a server grants to all clients together [default: 4G] [env: SLIPWAY_X11_TOTAL]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub total: Option<u64>,
    /// Number of clients that a server takes on shared memory; later ones stay on the socket [default: 1024] [env: SLIPWAY_X11_CLIENTS]
    #[arg(long, value_name = "COUNT", value_parser = parse_count)]
    pub clients: Option<u32>,
    /// Whose processes share memory with the program: `own`, those of the same user; `all`, also those of other users, if they say so, too [default: own] [env: SLIPWAY_X11_USERS]
    #[arg(long, hide_possible_values = true)]
    pub users: Option<Users>,
    /// A client offers to use shared memory once it has received and sent so many times, and a server grants it then; 0: at once [default: 64] [env: SLIPWAY_X11_AFTER]
    #[arg(long, value_name = "COUNT")]
    pub after: Option<u32>,
    /// Longest time to spin before sleeping, in microseconds; 0: never spin [default: 50] [env: SLIPWAY_X11_SPIN]
    #[arg(long, value_name = "MICROSECONDS", value_parser = parse_spin)]
    pub spin: Option<u32>,
    /// How the peer is woken: `1` a doorbell for every write, `2b` only when it sleeps, `full` that and spinning [default: full] [env: SLIPWAY_X11_STAGE]
    #[arg(long, hide_possible_values = true)]
    pub stage: Option<Stage>,
    /// The server's interval timer calls: `lazy` leaves out those without effect, `exact` makes each [default: lazy] [env: SLIPWAY_X11_TIMER]
    #[arg(long, hide_possible_values = true)]
    pub timer: Option<Timer>,
    /// What is said on standard error: off, error, warn, info, debug [default: warn] [env: SLIPWAY_LOG]
    #[arg(long, value_name = "LEVEL", hide_possible_values = true)]
    pub log: Option<LogLevel>,
    /// Run without the hooks: everything stays on the socket [env: SLIPWAY_X11=off]
    #[arg(long)]
    pub off: bool,
}

/// A private server for the time of one program.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Private server")]
pub struct ServerOptions {
    /// Start this X server (Xvfb, Xephyr or the path of any other) with the hooks and a fresh cookie, run PROGRAM in it, stop it afterwards. PROGRAM sees no Wayland display
    #[arg(long)]
    pub server: Option<OsString>,
    /// Size of the screen in pixels and its depth in bits: WIDTHxHEIGHT or WIDTHxHEIGHTxDEPTH (Xvfb and Xephyr) [default: the server's own]
    #[arg(long, requires = "server", value_name = "WxHxD")]
    pub screen: Option<Screen>,
    /// One more argument for the server, after Slipway's own; may be repeated
    #[arg(long, requires = "server", value_name = "ARG", allow_hyphen_values = true)]
    pub server_arg: Vec<OsString>,
    /// Display number [default: the first free one]
    #[arg(long, requires = "server", value_name = "N", value_parser = clap::value_parser!(u32).range(..=59_535))]
    pub display: Option<u32>,
    /// How long the server may take to be ready, in seconds
    #[arg(long, requires = "server", value_name = "SECONDS", default_value_t = 30,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub server_timeout: u32,
}

/// Whose processes meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Users {
    Own,
    All,
}

/// How much of the protocol for waking the peer is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stage {
    #[value(name = "1")]
    EveryWrite,
    #[value(name = "2b")]
    WhenAsleep,
    Full,
}

/// What becomes of the server's setitimer calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Timer {
    Lazy,
    Exact,
}

/// Ordered from silent to talkative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
}

/// A clap error as one line: cause, then hints; the usage is left to `--help`.
pub fn one_line(error: &clap::Error) -> String {
    let rendered = error.render().to_string();
    let parts: Vec<&str> = rendered
        .lines()
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let text = parts.join(" ");
    let text = text.strip_prefix("error: ").unwrap_or(&text).replace(" tip: ", "; ");
    format!("{text} (see --help)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::exact;
    use clap::CommandFactory;

    fn x11(args: &[&str]) -> Result<X11, clap::Error> {
        let cli = Cli::try_parse_from(["slipway", "x11"].iter().chain(args))?;
        match cli.command {
            Command::X11(x11) => Ok(x11),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn grammar_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_manual_has_every_option() {
        // As mdoc writes an option.
        const MANUAL: &str = include_str!("../../../docs/man/slipway.1");
        const SOCKETS: &str = include_str!("../../../docs/man/slipway-sockets.1");
        let cli = Cli::command();
        let sockets = cli.find_subcommand("sockets").expect("sockets");
        for long in sockets.get_arguments().filter_map(|argument| argument.get_long()).filter(|long| *long != "help") {
            assert!(SOCKETS.contains(&format!("Fl -{long}")), "--{long}");
        }
        let x11 = cli.find_subcommand("x11").expect("x11");
        let status = x11.find_subcommand("status").expect("status");
        let ports = cli.find_subcommand("ports").expect("ports");
        for argument in x11.get_arguments().chain(status.get_arguments()).chain(ports.get_arguments()) {
            if let Some(long) = argument.get_long().filter(|long| *long != "help") {
                assert!(MANUAL.contains(&format!("Fl -{long}")), "--{long}");
            }
        }
    }

    #[test]
    fn the_defaults_are_those_of_the_hooks() {
        let default = slipway_transport::settings::Settings::default();
        let cli = Cli::command();
        let x11 = cli.find_subcommand("x11").expect("x11");
        for (long, value) in [
            ("ring", exact(default.ring as u64)),
            ("min-ring", exact(default.min_ring as u64)),
            ("max-ring", exact(default.max_ring as u64)),
            ("total", exact(default.total)),
            ("clients", default.clients.to_string()),
            ("spin", default.spin.as_micros().to_string()),
        ] {
            let argument = x11.get_arguments().find(|a| a.get_long() == Some(long));
            let help = argument.and_then(|a| a.get_help()).expect(long).to_string();
            assert!(help.contains(&format!("[default: {value}]")), "--{long} is {value}: {help}");
        }
    }

    #[test]
    fn options_end_at_the_program() {
        let args = x11(&["--ring", "2M", "xterm", "--off", "-e", "--", "status"]).expect("parses");
        assert_eq!(args.program, ["xterm", "--off", "-e", "--", "status"]);
        assert!(!args.hooks.off);
        assert_eq!(args.hooks.ring, Some(2 << 20));
    }

    #[test]
    fn a_double_dash_ends_options() {
        let args = x11(&["--", "--odd", "--ring"]).expect("parses");
        assert_eq!(args.program, ["--odd", "--ring"]);
    }

    #[test]
    fn status_is_a_subcommand_only_in_front() {
        assert!(matches!(x11(&["status", ":1"]).expect("parses").command, Some(X11Command::Status(_))));
        assert_eq!(x11(&["--", "status"]).expect("parses").program, ["status"]);
        assert_eq!(x11(&["--log", "off", "status"]).expect("parses").program, ["status"]);
        assert_eq!(x11(&["xterm", "status"]).expect("parses").program, ["xterm", "status"]);
    }

    #[test]
    fn a_process_is_no_interval() {
        let ports = |args: &[&str]| match Cli::try_parse_from(["slipway", "ports"].iter().chain(args))?.command {
            Command::Ports(options) => Ok((options.pid, options.watch)),
            other => panic!("{other:?}"),
        };
        assert_eq!(ports(&[]).expect("parses"), (None, None));
        assert_eq!(ports(&["--watch", "12"]).expect("parses"), (Some(12), Some(Duration::from_secs(1))));
        assert_eq!(ports(&["--watch=0.5"]).expect("parses"), (None, Some(Duration::from_millis(500))));
        for wrong in
            [&["0"][..], &["x"], &["1", "2"], &["--watch=0"], &["--watch=x"], &["--watch=-1"], &["--watch=nan"], &["--watch=1e9"]]
        {
            assert!(ports(wrong).is_err_and(|error: clap::Error| !one_line(&error).contains('\n')), "{wrong:?}");
        }
    }

    #[test]
    fn errors_are_one_line() {
        for args in [&["--rin", "1M", "x"][..], &["--ring", "0", "x"], &[], &["--screen", "1x1", "x"], &["--stage", "3", "x"]] {
            let error = x11(args).expect_err("refused");
            let line = one_line(&error);
            assert!(!line.contains('\n') && !line.starts_with("error"), "{line}");
        }
    }
}
