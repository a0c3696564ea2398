//! Telling a port of an exception, and doing what its receiver answers.
#![allow(unsafe_code, reason = "a message's buffer")]

use super::{
    exc::Exc,
    fault::{Fault, Slot},
    registers,
};
use crate::{call::shared, darwin::destroy::destroy, message::exchange, procfs::start_of};
use slipway_mach::rights::SendRight;
use slipway_ports::{
    abi::{COMPLEX, NULL, option, types},
    exceptions::Form,
    msg::{Request, darwin::Darwin},
    task::Task,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `EXCEPTION_DEFAULT`: the thread and its task are told.
pub(super) const DEFAULT: u32 = 1;
/// `EXCEPTION_STATE`: the thread's state is told, and set to what is answered.
pub(super) const STATE: u32 = 2;
/// `EXCEPTION_STATE_IDENTITY`: both.
pub(super) const STATE_IDENTITY: u32 = 3;
/// `MACH_EXCEPTION_CODES`: codes have 64 bits.
pub(super) const CODES: u32 = 0x8000_0000;

/// How the special ports are told.
const GENERAL: Form = Form { behavior: DEFAULT, flavor: 0, darwin: false };

/// Tells of the fault in a slot, which is the caller's, to one port after the other until one has handled it. `own` is a task of the library's.
pub(super) fn tell(own: Task, slot: &'static Slot) {
    own.enter();
    let handled = catch_unwind(AssertUnwindSafe(|| {
        let fault = slot.fault();
        let of = Task::by_number(fault.task);
        let handlers = own.exception_handlers(of, (fault.thread, start_of(fault.thread)), fault.kind as usize, GENERAL);
        // All of them are rights to be given up.
        let mut ports = handlers.into_iter().map(|(name, form)| (SendRight::from_name(shared(own), name), form));
        let handled = ports.any(|(port, form)| slot.stays() && Telling { own, of, fault, slot, form }.is_handled_by(port));
        ports.for_each(drop);
        handled
    }));
    slot.end(handled.unwrap_or(false));
}

/// An exception, and how it is told.
struct Telling {
    own: Task,
    of: Task,
    fault: Fault,
    slot: &'static Slot,
    form: Form,
}

impl Telling {
    /// Tells a port; whether its receiver has handled it.
    fn is_handled_by(&self, port: SendRight) -> bool {
        let state = match self.form.behavior & !CODES {
            DEFAULT => Vec::new(),
            _ => self.slot.frame(|frame| registers::get(frame, self.form.flavor)).unwrap_or_default(),
        };
        let answered = if self.form.darwin { self.darwin(&port, &state) } else { self.typed(port, &state) };
        match answered {
            Some(Some((flavor, state))) => self.slot.frame(|frame| registers::set(frame, flavor, &state)).is_some(),
            Some(None) => true,
            None => false,
        }
    }

    /// Rights to the thread and its task.
    fn identity(&self) -> [Option<SendRight>; 2] {
        let names = [
            self.own.name_of_thread(self.fault.thread, start_of(self.fault.thread)),
            self.of.self_right_for(self.own).unwrap_or(NULL),
        ];
        names.map(|name| (name != NULL).then(|| SendRight::from_name(shared(self.own), name)))
    }

    /// In the typed dialect's form: the state to set, if there is one; None if it was not handled.
    fn typed(&self, port: SendRight, state: &[u32]) -> Option<Option<(i32, Vec<u32>)>> {
        let (exc, Fault { kind, code, subcode, .. }, flavor) = (Exc(port), self.fault, self.form.flavor);
        match self.form.behavior {
            STATE => {
                let reply = exc.exception_raise_state(kind, code, subcode, flavor, state).ok()?;
                Some(Some((reply.flavor, reply.new_state)))
            }
            behavior => {
                let [thread, task] = self.identity();
                let (thread, task) = (thread.as_ref(), task.as_ref());
                if behavior != STATE_IDENTITY {
                    exc.exception_raise(thread, task, kind, code, subcode).ok()?;
                    return Some(None);
                }
                let reply = exc.exception_raise_state_identity(thread, task, kind, code, subcode, flavor, state).ok()?;
                Some(Some((reply.flavor, reply.new_state)))
            }
        }
    }

    /// In Darwin's.
    fn darwin(&self, port: &SendRight, state: &[u32]) -> Option<Option<(i32, Vec<u32>)>> {
        /// The return code of a reply, behind header and NDR record; the flavor and the state are behind it.
        const RETURN_CODE: usize = 32;
        let behavior = self.form.behavior & !CODES;
        let rights = if behavior == STATE { None } else { Some(self.identity()) };
        let reply = self.own.reply_port().ok()?;
        let id = 2400 + behavior + if self.form.behavior & CODES == 0 { 0 } else { 4 };
        let mut words = vec![0; 6];
        if let Some(rights) = &rights {
            words.push(2);
            for right in rights {
                // Two words of which the second has the disposition, above 16 bits, and the type of descriptor.
                words.extend([right.as_ref().map_or(NULL, SendRight::name), 0, types::COPY_SEND << 16]);
            }
        }
        // The NDR record of this machine, and the codes.
        words.extend([0, 1, self.fault.kind as u32, 2]);
        let (code, subcode) = (self.fault.code as u32, self.fault.subcode as u64);
        match self.form.behavior & CODES {
            0 => words.extend([code, subcode as u32]),
            _ => words.extend([code, 0, subcode as u32, (subcode >> 32) as u32]),
        }
        if behavior != DEFAULT {
            words.extend([self.form.flavor as u32, state.len() as u32]);
            words.extend(state);
        }
        let send_size = words.len() * 4;
        let complex = if rights.is_some() { COMPLEX } else { 0 };
        let bits = types::COPY_SEND | types::MAKE_SEND_ONCE << 8 | complex;
        words[..6].copy_from_slice(&[bits, send_size as u32, port.name(), reply, 0, id]);
        // The largest state, and a trailer.
        let receive_size = RETURN_CODE + 4 * (3 + 1296) + 68;
        words.resize(send_size.max(receive_size).div_ceil(4), 0);
        let option = option::SEND_MSG | option::RCV_MSG;
        let request = Request { option, send_size, receive_size, receive_name: reply, timeout: 0, notify: 0 };
        // SAFETY: the buffer has both sizes.
        let code = unsafe { exchange::<Darwin>(words.as_mut_ptr().cast(), &request) };
        let _ = self.own.destroy(reply);
        let size = words[1] as usize;
        if code.0 == 0 {
            // A reply that has rights or memory is no answer, and they are not kept.
            // SAFETY: the message was received whole; what it has is the library's task's.
            unsafe { destroy(words.as_mut_ptr().cast()) };
        }
        let answers = code.0 == 0 && words[5] == id + 100 && words[0] & COMPLEX == 0 && size >= RETURN_CODE + 4;
        if !answers || words[RETURN_CODE / 4] != 0 {
            return None;
        }
        if behavior == DEFAULT {
            return Some(None);
        }
        let [flavor, len, state @ ..] = &words[RETURN_CODE / 4 + 1..(size / 4).min(words.len())] else { return None };
        Some(Some((*flavor as i32, state.get(..*len as usize)?.to_vec())))
    }
}
