//! Failures that have an exit code of their own.

use slipway_transport::status::StatusError;

/// A failure that the caller of the program can tell from others by its exit code.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The options ask for something that doesn't exist or can't be done here.
    #[error("{0}")]
    Usage(String),
    /// A program isn't installed.
    #[error("{program} was not found in PATH; install it with: apt-get install {package}")]
    MissingProgram {
        /// What was looked for.
        program: String,
        /// The Debian package that has it.
        package: String,
    },
    /// The preload library isn't in any of the places where it belongs.
    #[error("the preload library was not found (tried {tried}); build it, or give --preload PATH or SLIPWAY_PRELOAD")]
    MissingPreload {
        /// The places, separated by commas.
        tried: String,
    },
    /// A server with the preload library doesn't answer on its hub socket.
    #[error(
        "the hooks are not in effect: the server on display :{display}, started with LD_PRELOAD={preload}, has no hub: {cause}; it said: {said}"
    )]
    NotHooked {
        /// The server's display number.
        display: u32,
        /// The library it was started with.
        preload: String,
        /// What asking for its status gave.
        cause: StatusError,
        /// What the server wrote to standard error.
        said: String,
    },
    /// A client with the preload library stayed on the socket of a server that has it too.
    #[error(
        "the hooks are not in effect: x11perf, with the hooks, stays on the plain socket of the hooked server on display :{display}, which said: {said}"
    )]
    NotOnRing {
        /// The server's display number.
        display: u32,
        /// What the server wrote to standard error.
        said: String,
    },
    /// SIGINT, SIGTERM or SIGHUP came.
    #[error("interrupted; everything started has been stopped")]
    Interrupted,
}

/// The exit code for `error`; 1 unless its chain holds a [`Failure`].
pub fn exit_code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<Failure>() {
        Some(Failure::Usage(_)) => 2,
        Some(Failure::MissingProgram { .. } | Failure::MissingPreload { .. }) => 3,
        Some(Failure::NotHooked { .. } | Failure::NotOnRing { .. }) => 4,
        Some(Failure::Interrupted) => 130,
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn the_code_survives_added_context() {
        let error = Err::<(), _>(Failure::Interrupted).context("while waiting").unwrap_err();
        assert_eq!(exit_code(&error), 130);
        assert_eq!(exit_code(&anyhow::anyhow!("other")), 1);
    }
}
