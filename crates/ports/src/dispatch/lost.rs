//! Descriptors that the program closed under the library, as a daemon does that closes all it has.

use super::Inner;
use crate::{
    routes::Once,
    state::{LineId, PortId, RemoteSendOnce, Right},
};

impl Inner {
    /// The program has closed all descriptors, the library's too: to other processes this one is gone, so all lines end
    /// here as well. What is left goes on, with new sockets where others come to know of it again.
    pub(crate) fn lose_descriptors(&mut self) {
        slipway_fabric::descriptor::lose_all();
        self.watch.forget();
        self.waiting.pollables.clear();
        let lines: Vec<LineId> = self.lines.iter().map(|(id, _)| id).collect();
        lines.into_iter().for_each(|id| self.end_line(id));
        let ports: Vec<PortId> = self.state.ports.iter().map(|(id, _)| PortId(id as u32)).collect();
        for port in ports {
            if self.unexport(port) {
                self.state.set_abroad(port, 0);
            }
            self.refresh_remote_port(port);
        }
        for end in std::mem::take(&mut self.once_ends) {
            self.state.destroy_right(Right::SendOnce(end.1.port));
        }
        let sockets = self.onces.iter().filter(|(_, once)| matches!(once, Once::Socket(_)));
        let onces: Vec<RemoteSendOnce> = sockets.map(|(id, _)| RemoteSendOnce(id as u32)).collect();
        self.onces_died(&onces);
        self.wake_where(|_| true);
        let _ = self.start_watcher();
    }
}
