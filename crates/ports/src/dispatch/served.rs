//! What is sent to the ports that the library itself serves.
//!
//! A task of the library's own has the receive rights of the tasks' and threads' ports, and a thread that does nothing else receives there and answers, without
//! the lock, as any server. The first message to one of them starts it. For other such ports, and if there is no such thread, the answer is that
//! no such request is known.

use crate::{
    abi::right,
    state::{PortId, Right, SpaceId, State},
};
use slipway_fabric::sync::{FutexWord, Ordering};
use std::{io, sync::Arc};

/// Starts the thread: it receives in a space from the set of a name, until nothing is there, whenever the word has changed.
pub type Start = fn(SpaceId, u32, Arc<FutexWord>) -> io::Result<()>;

/// The library's own task.
#[derive(Debug, Default)]
pub struct Served {
    /// Without one no task's port is served, as in a test of this crate alone.
    pub start: Option<Start>,
    server: Option<Server>,
}

#[derive(Debug, Clone)]
struct Server {
    space: SpaceId,
    set: u32,
    /// Changed for each message.
    news: Arc<FutexWord>,
    runs: bool,
}

impl Served {
    /// Has the thread look at a task's or a thread's port; None if there is no thread, or no name for the port.
    pub(super) fn pass_on(&mut self, state: &mut State, port: PortId) -> Option<()> {
        let Server { space, set, news, .. } = self.server(state)?;
        if state.port(port).local()?.receiver.is_none() {
            let name = state.copyout(space, Right::Receive(port)).ok()?;
            state.port_move_member(space, name, set).ok()?;
        }
        news.fetch_add(1, Ordering::Release);
        news.wake_one_private();
        Some(())
    }

    fn server(&mut self, state: &mut State) -> Option<Server> {
        let start = self.start?;
        let mut server = match self.server.take() {
            Some(server) => server,
            None => {
                let space = state.new_task();
                state.space_mut(space).label = "tasks' own ports".into();
                let set = state.port_allocate(space, right::PORT_SET).ok()?;
                Server { space, set, news: Arc::default(), runs: false }
            }
        };
        server.runs = server.runs || start(server.space, server.set, Arc::clone(&server.news)).is_ok();
        self.server = Some(server.clone());
        server.runs.then_some(server)
    }
}
