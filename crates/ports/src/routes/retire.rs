//! Lines that no right needs any more.

use super::{Routes, Upcall};
use crate::{
    state::{LineId, PortId},
    wire::{Record, kind},
};

impl Routes {
    /// Ends a line that nobody needs. Its maker asks, the other end agrees, and the maker closes it if it has written
    /// nothing since: no record is lost.
    pub(crate) fn retire_line(&mut self, number: LineId) {
        self.look_at_kept(number);
        let Some(line) = self.lines.get(number) else { return };
        if line.ended {
            return self.upcall(Upcall::End(number));
        }
        let speaks = if line.maker { line.said_bye.is_none() } else { line.heard_bye };
        let lapsed = speaks && !self.leads_on(number);
        if let Some(line) = self.lines.get_mut(number) {
            line.lapsed = lapsed;
            if !lapsed || !line.is_idle() || line.waits_for_receivers() {
                return;
            }
            line.post(Record { kind: kind::BYE, ..Record::default() }, Vec::new());
            line.ring_bell();
            if line.maker {
                line.said_bye = Some(line.tx.tail);
            } else {
                (line.heard_bye, line.leaves) = (false, true);
            }
        }
    }

    /// The other end needs the line no more.
    pub(crate) fn heard_bye(&mut self, number: LineId) {
        let needed = self.leads_on(number);
        let Some(line) = self.lines.get_mut(number) else { return };
        if !line.maker {
            (line.heard_bye, line.leaves) = (true, false);
        } else if line.said_bye.take() == Some(line.tx.tail) && line.is_idle() && !needed {
            return self.upcall(Upcall::End(number));
        }
        self.stirred.push(number);
    }

    /// Whether any send right here goes over a line.
    fn leads_on(&self, number: LineId) -> bool {
        let Some(line) = self.lines.get(number) else { return false };
        line.outs.iter().flatten().any(|out| !out.closed && self.in_use(out.port, number))
    }

    /// Whether any right here needs the line for the remote port.
    fn in_use(&self, port: PortId, number: LineId) -> bool {
        let it = self.state.port(port);
        (it.srights > 0 || !it.names.is_empty())
            && self.remote(port).is_some_and(|remote| remote.routes.iter().any(|route| route.line == number && route.is_open()))
    }
}
