//! What the two programs of the example tell each other.

use ipc_channel::ipc::{IpcSender, IpcSharedMemory};
use serde::{Deserialize, Serialize};

/// A text whose words are to be counted, and where the count goes.
#[derive(Serialize, Deserialize)]
pub struct Job {
    /// What the text is called.
    pub name: String,
    /// The text. It is not serialized: the worker maps it.
    pub text: IpcSharedMemory,
    /// Takes the count. When all of these are gone, no count is to come.
    pub answer: IpcSender<Count>,
}

/// A text's count.
#[derive(Debug, Serialize, Deserialize)]
pub struct Count {
    /// What the text is called.
    pub name: String,
    /// Its words.
    pub words: u64,
    /// The process that counted them.
    pub worker: u32,
}
