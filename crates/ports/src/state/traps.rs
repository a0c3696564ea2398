//! Ports whose routines may be called instead of sent to.
//!
//! A port with routines has a [`CallEntry`], which callers keep and use without the lock. A change that would make it
//! wrong closes its turn and makes another entry: the port joins or leaves a set, gets another name, or loses its receive right.

use super::{
    Effect, PortId, SetId, SpaceId, State,
    call_entry::{self, CallEntry, Leaving, Table, Traps},
    port::Local,
    space::Object,
};
use crate::abi::{Code, kind};
use slipway_fabric::turn::Turn;
use std::sync::Arc;

impl State {
    /// The call entry of the port that a name has a send right to.
    pub(crate) fn call_entry_of(&self, space: SpaceId, name: u32) -> Option<Arc<CallEntry>> {
        let entry = self.spaces.get(space.0 as usize)?.get(name)?;
        let Object::Port(port) = entry.object else { return None };
        if !entry.has(kind::SEND) {
            return None;
        }
        let local = self.port(port).local()?;
        // Its server knows the port by the payload, which comes with messages.
        local.traps.as_ref().filter(|_| !local.is_protected)?.call_entry.clone()
    }

    /// Registers routines for the port whose receive right is `name`: besides those that it has, or in place of those
    /// with the same base.
    pub fn register_traps(&mut self, space: SpaceId, name: u32, table: Table, serial: bool) -> Result<(), Code> {
        let port = self.receive_of(space, name)?;
        let Some(local) = self.port_mut(port).local_mut() else { return Err(Code::INVALID_RIGHT) };
        let before = local.traps.take();
        let (mut tables, tally) = match before {
            Some(traps) => {
                let kept = traps.tables.iter().filter(|kept| kept.base != table.base).cloned().collect::<Vec<_>>();
                if let Some(entry) = traps.call_entry {
                    self.retire(space, port, &entry.turn);
                }
                (kept, traps.tally)
            }
            None => {
                self.turns.registered += 1;
                Default::default()
            }
        };
        tables.push(table);
        if let Some(local) = self.port_mut(port).local_mut() {
            local.traps = Some(Box::new(Traps { tables: Arc::new(tables), serial, tally, call_entry: None }));
        }
        self.rebind(port);
        Ok(())
    }

    /// The port whose receive right is `name` has no routines any more: the turns in which calls may still be.
    pub fn unregister_traps(&mut self, space: SpaceId, name: u32) -> Result<Vec<Arc<Turn>>, Code> {
        let port = self.receive_of(space, name)?;
        self.withdraw_traps(port);
        Ok(self.turns.leaving_port(port).cloned().collect())
    }

    /// The port's receive right is destroyed or given away, and its routines are withdrawn. Calls that are still in them
    /// count neither for the right's next owner, nor for the next port with the number.
    pub(crate) fn lose_traps(&mut self, port: PortId) {
        self.withdraw_traps(port);
        self.turns.leaving.iter_mut().filter(|left| left.port == Some(port)).for_each(|left| left.port = None);
    }

    /// The port has no routines any more.
    fn withdraw_traps(&mut self, port: PortId) {
        let Some(traps) = self.port_mut(port).local_mut().and_then(|local| local.traps.take()) else { return };
        let sets = self.sets_of(port);
        self.turns.registered -= 1;
        self.turns.gone += traps.tally.sum();
        let Some(entry) = traps.call_entry else { return };
        self.retire(entry.space, port, &entry.turn);
        sets.into_iter().for_each(|set| self.rebind_set(set));
    }

    /// The port is called by messages alone from here on.
    fn lose_call_entry(&mut self, port: PortId) {
        let traps = self.port_mut(port).local_mut().and_then(|local| local.traps.as_mut());
        if let Some(entry) = traps.and_then(|traps| traps.call_entry.take()) {
            self.retire(entry.space, port, &entry.turn);
        }
    }

    /// Closes a turn: it lets no call in any more.
    fn retire(&mut self, space: SpaceId, port: PortId, turn: &Arc<Turn>) {
        turn.close();
        call_entry::EPOCH.advance();
        let known = |left: &Leaving| left.port == Some(port) && Arc::ptr_eq(turn, &left.turn);
        if turn.calls() > 0 && !self.turns.leaving.iter().any(known) {
            self.turns.leaving.push(Leaving { space, port: Some(port), turn: Arc::clone(turn) });
        }
    }

    /// The port was given routines, or came into a set or left one, or has another name.
    pub(crate) fn rebind(&mut self, port: PortId) {
        let Some(local) = self.port(port).local() else { return };
        match (&*self.sets_of(port), &local.traps) {
            (sets @ [_, ..], _) => sets.iter().for_each(|set| self.rebind_set(*set)),
            ([], Some(traps)) if !traps.stands(local.receiver) => {
                let (serial, queued) = (traps.serial, !local.queue.is_empty());
                let turn = Arc::new(Turn::new(serial, queued));
                self.set_call_entry(port, turn);
                self.effect(Effect::Changed(port));
            }
            ([], _) => {}
        }
    }

    /// The ports of a set that are served one call at a time are served so together: its receivers take messages from
    /// any of them. A port of several sets is called by messages: it can't take its turn with the ports of each.
    pub(crate) fn rebind_set(&mut self, set: SetId) {
        let Some(it) = self.sets.get_mut(set.0 as usize) else { return };
        let (old, members) = (it.turn.take(), it.members.clone());
        if let Some(old) = old {
            // The members that had it get another one below, and are waited for by themselves.
            old.close();
            call_entry::EPOCH.advance();
        }
        let serial = |local: &Local| !local.several && local.traps.as_ref().is_some_and(|traps| traps.serial);
        let locals = || members.iter().filter_map(|port| self.port(*port).local());
        let (any, queued) = (locals().any(serial), locals().any(|local| !local.queue.is_empty()));
        let shared = any.then(|| Arc::new(Turn::new(true, queued)));
        for port in &members {
            let Some(local) = self.port(*port).local() else { continue };
            if local.several {
                self.lose_call_entry(*port);
                continue;
            }
            let turn = match (&local.traps, &shared) {
                (Some(traps), Some(turn)) if traps.serial => Arc::clone(turn),
                (Some(traps), _) if traps.stands(local.receiver) => continue,
                (Some(_), _) => {
                    let queued = !local.queue.is_empty();
                    Arc::new(Turn::new(false, queued))
                }
                (None, _) => continue,
            };
            self.set_call_entry(*port, turn);
        }
        self.set_mut(set).turn = shared;
        if let Some(port) = members.first() {
            // Wakes the receivers of the set.
            self.effect(Effect::Changed(*port));
        }
    }

    fn set_call_entry(&mut self, port: PortId, turn: Arc<Turn>) {
        let Some(local) = self.port_mut(port).local_mut() else { return };
        let (Some(traps), Some((space, name))) = (&mut local.traps, local.receiver) else { return };
        let entry = CallEntry { turn, space, name, tables: Arc::clone(&traps.tables), tally: Arc::clone(&traps.tally) };
        if let Some(old) = traps.call_entry.replace(Arc::new(entry)) {
            self.retire(space, port, &old.turn);
        }
        call_entry::EPOCH.advance();
    }

    /// A name of the port denotes something else than before: a thread that has looked it up looks again.
    #[inline]
    pub(crate) fn name_changed(&self, port: PortId) {
        if self.turns.any() && self.port(port).local().is_some_and(|local| local.traps.is_some()) {
            call_entry::EPOCH.advance();
        }
    }

    /// The port's queue is empty now, or is no longer.
    #[inline]
    pub(crate) fn queue_changed(&mut self, port: PortId) {
        if self.turns.any() {
            self.tell_turn(port);
        }
    }

    fn tell_turn(&self, port: PortId) {
        let Some(local) = self.port(port).local() else { return };
        let queued = !local.queue.is_empty();
        for set in self.memberships(port).map(|it| self.set(it.set)) {
            let full = |port: &PortId| self.port(*port).local().is_some_and(|local| !local.queue.is_empty());
            if let Some(turn) = &set.turn {
                turn.set_queued(queued || set.members.iter().any(full));
            }
        }
        if let Some(entry) = local.traps.as_ref().and_then(|traps| traps.call_entry.as_ref())
            && (local.set.is_none() || !entry.turn.serial)
        {
            entry.turn.set_queued(queued);
        }
    }

    /// The turn in which receivers of the port, if it is in no set, take their messages, if that is one call at a time.
    pub(crate) fn turn_of_port(&self, port: PortId) -> Option<&Arc<Turn>> {
        let entry = self.ports.get(port.0 as usize)?.local()?.traps.as_ref()?.call_entry.as_ref()?;
        Some(&entry.turn).filter(|turn| turn.serial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::{right, types};

    const BASE: i32 = 500;

    fn port(state: &mut State, space: SpaceId) -> (u32, PortId) {
        let name = state.port_allocate(space, right::RECEIVE).expect("a port");
        let table = Table { base: BASE, entries: Box::default(), context: 0 };
        state.register_traps(space, name, table, false).expect("a registration");
        (name, state.receive_of(space, name).expect("a port"))
    }

    /// A call that is in the port's routines.
    fn call(state: &State, port: PortId) -> Arc<Turn> {
        let traps = state.port(port).local().and_then(|local| local.traps.as_ref()).expect("routines");
        let turn = Arc::clone(&traps.call_entry.as_ref().expect("a call entry").turn);
        assert!(turn.enter());
        turn
    }

    /// Lets go of ports, as the I/O layer does.
    fn settle(state: &mut State) {
        while let Some(effect) = state.effects.pop_front() {
            if let Effect::Forgotten(port) = effect {
                state.free_port(port);
            }
        }
    }

    #[test]
    fn a_port_of_several_sets_is_called_by_messages() {
        let mut state = State::default();
        let space = state.new_space();
        let (name, port) = port(&mut state, space);
        let is_called = |state: &State| {
            let traps = state.port(port).local().and_then(|local| local.traps.as_ref());
            traps.is_some_and(|traps| traps.call_entry.is_some())
        };
        let before = call(&state, port);
        let sets = [0; 2].map(|_| state.port_allocate(space, right::PORT_SET).expect("a set"));
        for (set, called) in sets.into_iter().zip([true, false]) {
            state.port_insert_member(space, name, set).expect("a member");
            assert_eq!(is_called(&state), called);
        }
        assert!(!before.enter(), "an entry that is not the port's any more lets no call in");
        state.port_extract_member(space, name, sets[0]).expect("a member no more");
        assert!(is_called(&state));
        assert_eq!(state.turns.leaving(space).count(), 1, "the call is still there");
    }

    #[test]
    fn a_port_of_any_number_of_calls_keeps_its_turn_in_a_set() {
        let mut state = State::default();
        let space = state.new_space();
        let (name, of) = port(&mut state, space);
        let turn = call(&state, of);
        let set = state.port_allocate(space, right::PORT_SET).expect("a set");
        let others = [0; 2].map(|_| port(&mut state, space).0);
        for member in [name, others[0], others[1]] {
            state.port_move_member(space, member, set).expect("a member");
        }
        assert!(Arc::ptr_eq(&turn, &call(&state, of)));
        state.port_destroy(space, others[0]).expect("a destruction");
        state.port_move_member(space, name, 0).expect("a member no more");
        assert!(Arc::ptr_eq(&turn, &call(&state, of)), "others that come and go, and the set, are no matter");
        assert_eq!(state.turns.leaving(space).count(), 0);
        // Another name is what the next routine is told.
        state.port_rename(space, name, 0x7700).expect("another name");
        assert!(!Arc::ptr_eq(&turn, &call(&state, of)) && !turn.enter());
        assert_eq!(state.turns.leaving(space).count(), 1);
    }

    #[test]
    fn a_withdrawal_waits_for_calls_of_this_port_and_task_only() {
        let mut state = State::default();
        let (a, b) = (state.new_space(), state.new_space());
        let (old, old_port) = port(&mut state, a);
        let first = call(&state, old_port);
        state.port_destroy(a, old).expect("a destruction");
        settle(&mut state);
        let (name, new_port) = port(&mut state, a);
        assert_eq!(new_port, old_port, "the number is not used again, so that this shows nothing");
        assert_eq!(state.unregister_traps(a, name).expect("a port").len(), 0, "calls of a port that is dead");
        assert_eq!(state.turns.leaving(a).count(), 1, "the task doesn't wait for a call that it has");

        // The same for calls of a port's earlier owner, but not for those of its owner now.
        let table = Table { base: BASE, entries: Box::default(), context: 0 };
        state.register_traps(a, name, table.clone(), false).expect("a registration");
        let second = call(&state, new_port);
        assert_eq!(state.unregister_traps(a, name).expect("a port").len(), 1);
        assert_eq!(state.unregister_traps(a, name).expect("a port").len(), 1, "a second one returns while a call is there");
        let right = state.copyin(a, name, types::MOVE_RECEIVE).expect("a right");
        let there = state.copyout(b, right).expect("a name");
        state.register_traps(b, there, table, false).expect("a registration");
        assert_eq!(state.unregister_traps(b, there).expect("a port").len(), 0, "calls of the task that had the port");
        assert_eq!(state.turns.leaving(a).count(), 2);
        for turn in [first, second] {
            assert!(turn.leave(), "nobody is told");
            state.turns.left();
        }
        assert_eq!(state.turns.leaving(a).count(), 0);
    }
}
