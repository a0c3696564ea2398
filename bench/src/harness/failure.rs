//! Failures that have an exit code of their own.

/// A failure that the caller of the program can tell from others by its exit code.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The options ask for something that doesn't exist or can't be done here.
    #[error("{0}")]
    Usage(String),
    /// Something that is needed isn't installed.
    #[error("{0}")]
    Missing(String),
    /// A server or a client with the preload library does not use shared memory.
    #[error("the hooks are not in effect: {0}")]
    NotHooked(String),
    /// SIGINT, SIGTERM or SIGHUP came.
    #[error("interrupted; everything started has been stopped")]
    Interrupted,
}

/// The exit code for `error`; 1 unless its chain holds a [`Failure`].
pub fn exit_code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<Failure>() {
        Some(Failure::Usage(_)) => 2,
        Some(Failure::Missing(_)) => 3,
        Some(Failure::NotHooked(_)) => 4,
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
        assert_eq!((exit_code(&error), exit_code(&anyhow::anyhow!("other"))), (130, 1));
    }
}
