//! Waiting on a set: look at the active streams, spin, wait for a time, sleep.

use super::{EpollSet, Event, Poller, State, Tag, borrow, entry::Entry};
use crate::{
    ports::office::DIRECTLY,
    settings::{Settings, Stage},
    stream::{Won, get_up_at_last, locked, now},
    wait::{Asleep, longest_spin, may_spin},
};
use rustix::{
    event::{PollFlags, epoll},
    io::Errno,
};
use slipway_fabric::{
    spin::{Outcome, SpinStrategy, Spinner, is_contended, processor},
    sync::Ordering::Relaxed,
};
use smallvec::SmallVec;
use std::{
    cell::Cell,
    os::fd::{AsFd, RawFd},
    sync::Arc,
    time::Duration,
};

/// Between two looks at the kernel's part of a set while rings keep the program busy, in nanoseconds, where one stream alone
/// has had the program's attention. A look costs as much as a quarter of a round trip; a wake-up as long as this.
const GLANCE: u64 = 40_000;

/// As [`GLANCE`], for a stream in company.
const GLANCE_IN_COMPANY: u64 = 5_000;

/// For so long, in nanoseconds, after somebody else had an event a stream has company.
const COMPANY: u64 = 20_000_000;

/// EPOLLOUT: of a line's tag, the doorbell.
const OUT: u32 = PollFlags::OUT.bits() as u32;
/// EPOLLHUP.
const HUP: u32 = PollFlags::HUP.bits() as u32;

/// So often a wait that may not sleep asks the kernel, where its program has little room: some of what is for ourselves is told each time.
const MOST_ASKS: u32 = 16;

thread_local! {
    /// The kernel's events, kept to save an allocation a wait. A signal handler that waits, too, finds none.
    static SCRATCH: Cell<Vec<Event>> = const { Cell::new(Vec::new()) };
}

/// One wait as it goes on.
struct Course {
    /// When it began.
    began: u64,
    /// The time of the last look at the clock, if that is not long ago.
    time: Option<u64>,
    deadline: Option<u64>,
    won: Won,
    /// How long the stream that stirs was waited for, in nanoseconds; none: not known.
    waited: Option<u64>,
    timed: bool,
}

/// What became of a wait in the kernel alone.
enum Waited {
    /// It is over.
    Done,
    /// It goes on for so long: something is for ourselves.
    Until(Option<Duration>),
}

impl EpollSet {
    /// epoll_wait(2): appends at most `max` events to `out`.
    pub fn wait(&self, out: &mut Vec<Event>, max: usize, timeout: Option<Duration>, poller: Poller<'_>) -> Result<(), Errno> {
        if !self.is_waited_for() {
            self.begin_waiting();
        }
        let timeout = match self.wait_for_kernel(out, max, timeout, poller)? {
            Waited::Done => return Ok(()),
            Waited::Until(left) => left,
        };
        let mut scratch = SCRATCH.try_with(Cell::take).unwrap_or_default();
        let result = self.wait_here(out, max, timeout, poller, &mut scratch);
        let _ = SCRATCH.try_with(|kept| kept.set(scratch));
        self.leave_to_others();
        result
    }

    /// Waits where the kernel has all that the program could be told of, and costs such a wait little more than the kernel's own does.
    fn wait_for_kernel(
        &self,
        out: &mut Vec<Event>,
        max: usize,
        timeout: Option<Duration>,
        poller: Poller<'_>,
    ) -> Result<Waited, Errno> {
        let state = locked(&self.state);
        if !state.is_kernels() {
            return Ok(Waited::Until(timeout));
        }
        let began = timeout.filter(|timeout| !timeout.is_zero()).map(|_| now());
        self.sleepers.sleep(state, || poller(out, max, timeout))?;
        if !out.is_empty() {
            let mut state = locked(&self.state);
            if out.iter().any(|event| self.is_own(&state, event)) {
                let events = std::mem::take(out);
                self.sort(&mut state, &events, out);
                drop(state);
                if !out.is_empty() {
                    self.leave_to_others();
                    return Ok(Waited::Done);
                }
                let spent = began.map_or(0, |began| now().saturating_sub(began));
                return Ok(Waited::Until(timeout.map(|timeout| timeout.saturating_sub(Duration::from_nanos(spent)))));
            }
        }
        Ok(Waited::Done)
    }

    /// What this thread has activated and does not wait for any more, those that sleep in the set wait for: its bells ring again, or they are
    /// told of what is there.
    pub(super) fn leave_to_others(&self) {
        self.tell_others();
        if self.is_slept_in() {
            let all_rest = self.lie_down(&mut locked(&self.state));
            if !all_rest {
                self.rouse();
            }
        }
    }

    /// Other sets of a stream were to hear the bells that this one took: an edge is gone when nothing is left of what it was for. Called without locks.
    fn tell_others(&self) {
        if self.has_drained.load(Relaxed) != 0 {
            self.has_drained.store(0, Relaxed);
            let drained = std::mem::take(&mut locked(&self.state).drained);
            drained.iter().for_each(|stream| stream.tell_sets());
        }
    }

    fn wait_here(
        &self,
        out: &mut Vec<Event>,
        max: usize,
        timeout: Option<Duration>,
        poller: Poller<'_>,
        scratch: &mut Vec<Event>,
    ) -> Result<(), Errno> {
        let mut course = Course { began: u64::MAX, time: None, deadline: None, won: Won::Looking, waited: None, timed: false };
        let mut timed = false;
        loop {
            self.tell_others();
            let mut state = locked(&self.state);
            self.catch_up(&mut state);
            let office = state.office.clone();
            office.iter().for_each(|office| if self.is_nested() { office.collect_watched() } else { office.collect() });
            // A wait that was won knows the time: reading it again would make the answer late.
            let time = course.time.take().unwrap_or_else(now);
            self.gather(&mut state, out, max, &course, time);
            if !timed {
                timed = true;
                course.began = time;
                course.deadline = timeout.map(|t| time.saturating_add(u64::try_from(t.as_nanos()).unwrap_or(u64::MAX)));
            }
            let expired = course.deadline.is_some_and(|d| time >= d);
            if !out.is_empty() && (out.len() >= max || time.wrapping_sub(state.glanced) < state.glance(time)) {
                return Ok(());
            }
            if !out.is_empty() || expired {
                // Nobody on a ring keeps the others waiting: the kernel's part has its turn.
                state.glanced = time;
                drop(state);
                let asked = max - out.len();
                let mut asks = 0;
                let (mut state, result) = loop {
                    scratch.clear();
                    asks += 1;
                    let result = poller(scratch, asked, Some(Duration::ZERO));
                    let mut state = locked(&self.state);
                    let told = scratch.len() < asked;
                    state.note_glance(time, result.is_ok() && told);
                    self.sort(&mut state, scratch, out);
                    // Else all that there was room for was for ourselves.
                    if told || !out.is_empty() || asks == MOST_ASKS {
                        break (state, result);
                    }
                };
                if out.is_empty() {
                    result?;
                    self.gather(&mut state, out, max, &course, time);
                }
                return Ok(());
            }
            let wait = if course.timed || !may_spin() { None } else { state.timed_wait(time) };
            let flowing = wait.is_some();
            if course.won == Won::Looking && !flowing {
                let stirred = self.spin(&mut state, course.deadline, poller, scratch, out, max)?;
                if !out.is_empty() {
                    return Ok(());
                }
                if stirred.is_some() {
                    course.won = Won::Spinning;
                    course.waited = stirred.map(|at| at.saturating_sub(time));
                    course.time = stirred;
                    continue;
                }
            }
            if self.has_drained.load(Relaxed) != 0 {
                continue;
            }
            if let Some(office) = &office
                && course.won == Won::Looking
                && state.may_wait_directly(time, course.deadline)
            {
                drop(state);
                if office.wait() {
                    course.won = Won::Spinning;
                    continue;
                }
                state = locked(&self.state);
                self.catch_up(&mut state);
            }
            self.open_doors(&mut state);
            let asleep = Asleep::new(office);
            let ready = if flowing { !state.arm_timed() } else { !self.lie_down(&mut state) };
            course.timed |= flowing;
            if ready {
                continue;
            }
            let remaining = course.deadline.map(|d| Duration::from_nanos(d.saturating_sub(now())));
            let wait = wait.map(Duration::from_nanos);
            let remaining = wait.map_or(remaining, |wait| Some(remaining.unwrap_or(wait).min(wait)));
            scratch.clear();
            get_up_at_last((&raw const course).addr());
            let result = self.sleepers.sleep(state, || poller(scratch, max, remaining));
            drop(asleep);
            let mut state = locked(&self.state);
            if flowing {
                state.wake_up();
            }
            let told = result.is_ok() && scratch.len() < max;
            result?;
            let woken = now();
            state.note_glance(woken, told);
            self.sort(&mut state, scratch, out);
            course.won = Won::Sleeping;
            course.waited = flowing.then(|| woken.saturating_sub(time));
            if !out.is_empty() {
                let time = state.glanced;
                self.gather(&mut state, out, max, &course, time);
                return Ok(());
            }
        }
    }

    /// Reports of the active streams, in the order in which something came. Where there are more than `max`, it begins with another one each time.
    fn gather(&self, state: &mut State, out: &mut Vec<Event>, max: usize, course: &Course, time: u64) {
        let count = state.active.len();
        if count == 0 {
            return;
        }
        state.turn = state.turn.wrapping_add(1);
        let room = max.saturating_sub(out.len());
        let mut found: SmallVec<[(u64, Event); 4]> = SmallVec::new();
        let mut retired = Vec::new();
        let mut dormant = 0;
        for i in 0..count {
            if found.len() >= room {
                break;
            }
            let fd = state.active[(state.turn + i) % count];
            match state.entry(fd) {
                Some(entry) if entry.dormant => dormant += 1,
                Some(entry) if entry.stream.is_plain() && !entry.rests() => retired.push(fd),
                _ => state.report(fd, course, time).into_iter().for_each(|event| found.push(event)),
            }
        }
        if !found.is_empty() && count > 1 {
            // What came before these is there by now, though it may not have been when it was looked at.
            for i in 0..count {
                let fd = state.active[i];
                if found.len() < room && state.entry(fd).is_some_and(|entry| !entry.was_reported(time) && entry.stirs()) {
                    state.report(fd, course, time).into_iter().for_each(|event| found.push(event));
                }
            }
            found.sort_by_key(|(shown_at, _)| *shown_at);
        }
        // The kernel may have told of one just before the set took it over; the program knows one report of each in a wait.
        let were_lent = state.took_over_at >= course.began;
        for (_, event) in found {
            match out.iter_mut().find(|told| were_lent && told.data == event.data) {
                Some(told) => told.events |= event.events,
                None => out.push(event),
            }
        }
        // A program that takes a stream out mostly adds it again before it waits.
        if 2 * dormant > count {
            state.drop_dormant();
        }
        for fd in retired {
            self.retire(state, fd);
        }
    }

    /// Hands a stream that is back on its socket to the kernel, as the program registered it.
    pub(super) fn retire(&self, state: &mut State, fd: RawFd) {
        if let Some(entry) = self.take_out(state, fd) {
            let flags = epoll::EventFlags::from_bits_retain(entry.events);
            let _ = borrow(fd, |fd| self.register(fd, flags, entry.data));
        }
    }

    /// The program's among events that the kernel reported to a wait of its own, which began before the set had streams.
    pub fn sift(&self, events: &[Event]) -> Vec<Event> {
        self.begin_waiting();
        let mut out = Vec::new();
        self.sort(&mut locked(&self.state), events, &mut out);
        self.leave_to_others();
        out
    }

    /// Whether an event of the kernel's is for ourselves.
    fn is_own(&self, state: &State, event: &Event) -> bool {
        self.first_tag < event.data && event.data <= state.next_tag
    }

    /// Sorts the kernel's events into the program's, which go out, and ours.
    fn sort(&self, state: &mut State, events: &[Event], out: &mut Vec<Event>) {
        let (mut company, mut drained) = (false, Vec::new());
        let time = state.glanced;
        for event in events {
            if !self.is_own(state, event) {
                // Nearly always, of a server with many clients: neither looked up nor timed one by one.
                out.push(*event);
                company = company || !state.is_alone(event.data);
                continue;
            }
            match state.tags.get(&event.data).cloned() {
                // Of a stream that another thread has just taken out.
                None => {}
                Some(Tag::Kick) => {
                    let _ = rustix::io::read(self.kick.load().as_fd(), &mut [0u8; 8]);
                }
                // Its messages are taken at every turn.
                Some(Tag::Office) => {}
                Some(Tag::Hub(hub)) => hub.upgrade().iter().for_each(|hub| hub.serve()),
                Some(Tag::Socket(fd)) => {
                    if let Some(entry) = state.entry(fd) {
                        entry.kernel_news = true;
                        entry.stream.note_socket_event();
                        state.activate(fd);
                    }
                }
                Some(Tag::Line(fd)) => {
                    if let Some(entry) = state.entry(fd) {
                        if event.events & OUT != 0 {
                            entry.stream.hear_door(time);
                        } else {
                            let bells = entry.stream.count_bell(time);
                            let hang_up = event.events & HUP != 0;
                            let answer = entry.stream.is_undecided() || entry.stream.expects_door(bells);
                            // At stage one a bell comes with every write, and a full queue gives no edges.
                            let full = entry.stream.may_hold_many_bells(bells) || entry.stream.is_crowded();
                            if hang_up || answer || full || Settings::get().stage == Stage::One {
                                entry.stream.heard_in_set();
                                if entry.stream.is_in_several_sets() {
                                    drained.push(Arc::clone(&entry.stream));
                                }
                            }
                        }
                        // What the bell is for may be known to the kernel only (a return to the socket).
                        entry.kernel_news |= entry.stream.needs_kernel();
                        let copied = entry.stream.is_copied();
                        // A child has the kernel's set in common with its parent.
                        if entry.hears_for_nothing() && self.process == std::process::id() {
                            entry.at_door = false;
                            let stream = Arc::clone(&entry.stream);
                            self.forget_line(&stream, stream.line_socket().as_fd());
                            continue;
                        }
                        if !entry.stream.is_undecided() {
                            self.take_over(state, fd);
                        }
                        state.activate(fd);
                        if copied {
                            state.activate_twins(fd);
                        }
                    }
                }
            }
        }
        if !drained.is_empty() {
            state.drained.append(&mut drained);
            self.has_drained.store(1, Relaxed);
        }
        if company {
            state.company_until = now().saturating_add(COMPANY);
            state.plain_until = state.company_until;
        }
    }

    /// Spins while it may win. The time when a stream stirs, or the kernel's part has events for `out`.
    fn spin(
        &self,
        state: &mut State,
        deadline: Option<u64>,
        poller: Poller<'_>,
        scratch: &mut Vec<Event>,
        out: &mut Vec<Event>,
        max: usize,
    ) -> Result<Option<u64>, Errno> {
        if !may_spin() {
            return Ok(None);
        }
        let own = processor();
        let awaited = state.awaited();
        if state.active.is_empty() && awaited.is_none() || state.is_crowded() {
            return Ok(None);
        }
        let busy = state.busy().chain(awaited.and_then(|fd| state.at(fd)));
        let strategy = busy.filter(|e| !e.rests()).map(|e| e.stream.strategy(own)).max();
        let strategy = strategy.unwrap_or(SpinStrategy::Sleep);
        let Some(longest) = self.spins.longest(longest_spin()).filter(|_| strategy != SpinStrategy::Sleep) else {
            return Ok(None);
        };
        awaited.into_iter().for_each(|fd| state.activate(fd));
        let mut spinner = Spinner::new(strategy.over(longest, longest_spin()), longest, deadline);
        loop {
            if let Some(outcome) = spinner.round(|| state.busy().any(Entry::stirs)) {
                let (outcome, stirs) = spinner.judge(outcome, || state.busy().filter(|entry| entry.stirs()).count());
                self.spins.learn_how(outcome, spinner.spent(), longest_spin());
                return Ok(stirs.then_some(spinner.time()));
            }
            let time = spinner.time();
            if time.wrapping_sub(state.glanced) >= state.glance(time) {
                scratch.clear();
                poller(scratch, max, Some(Duration::ZERO))?;
                state.note_glance(time, scratch.len() < max);
                if !scratch.is_empty() {
                    let active = state.active.len();
                    self.sort(state, scratch, out);
                    // One that rested rang: from here on it is looked at, and so it would be won again.
                    if state.active.len() > active {
                        self.spins.learn_how(Outcome::Won, spinner.spent(), longest_spin());
                    }
                    return Ok(Some(time));
                }
            }
        }
    }

    /// Arms the active streams and lets them rest. False if one of them stirs after all.
    fn lie_down(&self, state: &mut State) -> bool {
        let mut stirring = false;
        let mut active = std::mem::take(&mut state.active);
        active.retain(|fd| {
            let Some(entry) = state.entry(*fd) else { return false };
            if !entry.rests() {
                self.ask(entry);
                entry.arm();
            }
            if entry.stirs() {
                // Its flag stays up: another may rest on it, and a bell too many does no harm.
                stirring = true;
                return true;
            }
            // No bell of its own would tell of it.
            let is_told = entry.stream.office().is_some();
            if !is_told {
                entry.lie_down();
            }
            is_told
        });
        state.active = active;
        !stirring
    }
}

impl State {
    /// What a stream reports now, and when it came: 0 where nobody else can have come before it.
    fn report(&mut self, fd: RawFd, course: &Course, time: u64) -> Option<(u64, Event)> {
        let (company, several, vouched) = (self.glanced < self.company_until, self.active.len() > 1, self.vouched);
        let entry = self.entry(fd)?;
        let event = entry.report()?;
        let shown_at = if company || several { entry.stream.shown_at() } else { 0 };
        entry.stream.count_wait(course.won);
        entry.learn_flow(course.waited, course.won == Won::Looking, time);
        entry.take_turn(company);
        if !entry.stream.needs_kernel() {
            entry.stream.vouch(vouched);
        }
        if self.last_reported.replace(fd).is_some_and(|last| last != fd) {
            self.company_until = time.saturating_add(COMPANY);
        }
        Some((shown_at, event))
    }

    /// Whether the kernel has all that the program could be told of.
    fn is_kernels(&self) -> bool {
        self.decided == 0 && self.behind.is_empty() && self.office.is_none()
    }

    /// The stream that was reported last, if it rests and its program has sent something on it since: the answer is about to come. A proxy sends so when
    /// its client has woken it.
    fn awaited(&self) -> Option<RawFd> {
        let fd = self.last_reported.filter(|_| self.active.is_empty())?;
        self.at(fd).filter(|entry| !entry.rests() && entry.has_sent()).map(|_| fd)
    }

    /// Whether looking would delay the peers: plain descriptors are busy, whose peers may need this processor; a third party wants it, so that they get no turn;
    /// and several connections have something for the program while it sleeps.
    fn is_crowded(&self) -> bool {
        self.active.len() > 1 && self.glanced < self.plain_until && is_contended(self.glanced)
    }

    /// Whether what the kernel reported under `data` is the set's only stream, before it was taken over: it is not its own company.
    fn is_alone(&self, data: u64) -> bool {
        let mut entries = self.entries.iter().flatten();
        matches!((entries.next(), entries.next()), (Some(entry), None) if entry.data == data)
    }

    /// The dormant streams are active no longer.
    fn drop_dormant(&mut self) {
        for fd in std::mem::take(&mut self.active) {
            match self.entry(fd) {
                Some(entry) if entry.dormant => entry.active = false,
                _ => self.active.push(fd),
            }
        }
    }

    /// The kernel's part was looked at: `told` if there was room for all that it had to tell.
    fn note_glance(&mut self, time: u64, told: bool) {
        self.glanced = time;
        if told {
            self.vouched = time;
        }
    }

    /// How long the kernel's part may wait for a look.
    fn glance(&self, time: u64) -> u64 {
        if time < self.company_until { GLANCE_IN_COMPANY } else { GLANCE }
    }

    /// Whether to wait for messages at ports before all else: if nothing else had an event lately, and the deadline is not near.
    fn may_wait_directly(&self, now: u64, deadline: Option<u64>) -> bool {
        now >= self.company_until && deadline.is_none_or(|deadline| deadline > now + DIRECTLY.as_nanos() as u64)
    }

    /// How long a timed wait may last, in nanoseconds: if all that is active flows, from senders that need other processors
    /// than this one.
    fn timed_wait(&self, now: u64) -> Option<u64> {
        let shortest = self.busy().map(|entry| entry.timed_wait(now)).min()??;
        let own = processor();
        self.busy().all(|entry| entry.stream.strategy(own) == SpinStrategy::Spin).then_some(shortest)
    }

    /// Asks the senders of the active streams to ring only when their ring is half full or they
    /// wait themselves. False if one of the streams stirs after all.
    fn arm_timed(&self) -> bool {
        self.busy().for_each(|entry| entry.stream.arm_lazily());
        let stirring = self.busy().any(Entry::stirs);
        if stirring {
            self.busy().for_each(|entry| entry.stream.end_timed_wait());
        }
        !stirring
    }

    /// After a timed wait: looks at the active streams again. One with nothing new no longer flows.
    fn wake_up(&mut self) {
        for fd in self.active.clone() {
            if let Some(entry) = self.entry(fd) {
                entry.stream.end_timed_wait();
                if !entry.stirs() {
                    entry.ran_dry();
                }
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
