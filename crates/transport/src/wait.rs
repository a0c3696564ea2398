//! Waiting on streams among other descriptors, as poll(2) does: look, spin, sleep.

use crate::{
    epoll::{EpollSet, Event},
    hub::Hub,
    ports::office::{DIRECTLY, Office},
    serving::Serving,
    settings::Settings,
    stream::{Lying, News, OUTPUT, Stream, Won, get_up_at_last, now},
};
use rustix::{event::PollFlags, io::Errno};
use slipway_fabric::spin::{Outcome, SpinStrategy, Spinner, processor};
use smallvec::SmallVec;
use std::{
    os::fd::{AsFd, AsRawFd, BorrowedFd},
    sync::Arc,
    time::Duration,
};

/// A descriptor as poll(2) takes it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct PollEntry {
    /// The descriptor; negative entries are passed over.
    pub fd: i32,
    /// What is asked.
    pub events: i16,
    /// What is answered.
    pub revents: i16,
}

/// A stream that is waited for.
#[derive(Debug)]
pub struct Member<'a> {
    /// The stream.
    pub stream: &'a Stream,
    /// The program's descriptor of it.
    pub fd: BorrowedFd<'a>,
    /// What is asked.
    pub want: PollFlags,
    /// What is answered.
    pub got: PollFlags,
}

/// What only the process that waits can do: the kernel's own waits, with the program's signal mask and as cancellation points. They fail with
/// `INTR`, where they would sleep, if a signal was handled since the wait began.
pub trait Kernel {
    /// poll(2): how many entries are ready within `timeout`; None waits for ever.
    ///
    /// # Errors
    /// As poll(2).
    fn poll(&mut self, entries: &mut [PollEntry], timeout: Option<Duration>) -> Result<usize, Errno>;

    /// epoll_wait(2): appends at most so many events to `out`.
    ///
    /// # Errors
    /// As epoll_wait(2).
    fn epoll(&mut self, set: BorrowedFd<'_>, out: &mut Vec<Event>, most: usize, timeout: Option<Duration>) -> Result<(), Errno>;

    /// After `INTR`: whether the handlers of the signals that came all let an interrupted call go on (SA_RESTART). If so, those are forgotten.
    fn restarts(&mut self) -> bool;

    /// Whether the wait ends here (`CANCELED`), as what it waits for is the kernel's alone from now on. It has looked, and makes no other call before that.
    fn leaves(&self) -> bool {
        false
    }
}

/// What a descriptor is that is not the kernel's alone.
#[derive(Debug, Clone, Copy)]
pub enum Ours<'a> {
    /// A connection.
    Stream(&'a Stream),
    /// A set, with streams or hubs in it.
    Set(&'a EpollSet),
    /// A listening socket's hub, which is served while the program waits for the socket.
    Hub(&'a Hub),
}

/// What one connection is ready for, if anything, as a wait finds it that needs not begin.
#[inline]
pub fn ready(stream: &Stream, entry: &mut PollEntry) -> bool {
    if stream.is_undecided() {
        return false;
    }
    let mut members = [member(stream, entry)];
    let is_ready = look(&mut members, None) > 0;
    if is_ready {
        settle(&members, Won::Looking, None);
        entry.revents = members[0].got.bits() as i16;
    }
    is_ready
}

/// What poll(2) says of an epoll set that has something.
const READABLE: i16 = libc::POLLIN | libc::POLLRDNORM;

/// poll(2) over entries of which some are `ours`: these by their places, in ascending order.
///
/// # Errors
/// As poll(2).
pub fn poll(
    entries: &mut [PollEntry],
    ours: &[(usize, Ours<'_>)],
    timeout: Option<Duration>,
    kernel: &mut dyn Kernel,
) -> Result<usize, Errno> {
    // The commonest case by far: one connection and nothing else.
    if let ([entry], [(_, Ours::Stream(stream))]) = (&mut *entries, ours) {
        let mut members = [member(stream, entry)];
        let count = wait(&mut members, &mut [], timeout, kernel)?;
        entry.revents = members[0].got.bits() as i16;
        return Ok(count);
    }
    let streams = || {
        ours.iter().filter_map(|(at, it)| match it {
            Ours::Stream(stream) => Some((*at, *stream)),
            _ => None,
        })
    };
    let sets = || {
        ours.iter().filter_map(|(at, it)| match it {
            Ours::Set(set) => Some((*at, *set)),
            _ => None,
        })
    };
    let hubs: SmallVec<[&Hub; 1]> = ours
        .iter()
        .filter_map(|(_, it)| match it {
            Ours::Hub(hub) => Some(*hub),
            _ => None,
        })
        .collect();
    // Messages at ports stir a set, too, as long as a thread is known to sleep.
    let _asleep = Asleep::new(sets().find_map(|(_, set)| set.office()));
    let deadline = timeout.map(|timeout| now().saturating_add(nanos(timeout)));
    let mut kernel = Serving { hubs: &hubs, kernel };
    let mut left = timeout;
    loop {
        // A set is ready when something in it is; looking arms its streams, so that a bell shows in the kernel's set.
        // What another thread changes in it shows there, too.
        let in_sets: SmallVec<[_; 1]> = sets().map(|(_, set)| set.enter()).collect();
        let asked = |at: usize| entries[at].events & READABLE != 0;
        let ready: SmallVec<[usize; 4]> = sets().filter(|(at, set)| asked(*at) && set.ready_within()).map(|(at, _)| at).collect();
        let timeout = if ready.is_empty() { left } else { Some(Duration::ZERO) };
        let mut members: SmallVec<[Member<'_>; 4]> = streams().map(|(at, stream)| member(stream, &entries[at])).collect();
        let mut others: SmallVec<[PollEntry; 8]> = SmallVec::new();
        let mut next = streams().map(|(at, _)| at).peekable();
        for (i, entry) in entries.iter().enumerate() {
            if next.next_if_eq(&i).is_none() {
                others.push(PollEntry { revents: 0, ..*entry });
            }
        }
        if members.is_empty() {
            kernel.poll(&mut others, timeout)
        } else {
            wait(&mut members, &mut others, timeout, &mut kernel)
        }?;
        drop(in_sets);
        let mut next = streams().map(|(at, _)| at).zip(&members).peekable();
        let mut others = others.iter();
        for (i, entry) in entries.iter_mut().enumerate() {
            entry.revents = match next.next_if(|(at, _)| *at == i) {
                Some((_, member)) => member.got.bits() as i16,
                None => others.next().map_or(0, |other| other.revents),
            };
            if ready.contains(&i) {
                entry.revents |= entry.events & READABLE;
            }
        }
        let mut misled = false;
        for (at, set) in sets().filter(|(at, _)| !ready.contains(at)) {
            let entry = &mut entries[at];
            if entry.revents & READABLE != 0 && !set.ready_within() && set.quieten() {
                let mut again = [PollEntry { revents: 0, ..*entry }];
                kernel.poll(&mut again, Some(Duration::ZERO))?;
                entry.revents = again[0].revents;
                misled |= entry.revents == 0;
            }
        }
        let count = entries.iter().filter(|entry| entry.revents != 0).count();
        if count > 0 || !misled || left == Some(Duration::ZERO) {
            return Ok(count);
        }
        left = deadline.map(|deadline| Duration::from_nanos(deadline.saturating_sub(now())));
    }
}

fn member<'a>(stream: &'a Stream, entry: &PollEntry) -> Member<'a> {
    #[allow(unsafe_code, reason = "the program's descriptors come as numbers")]
    // SAFETY: the program's descriptor, used for system calls for the length of its own call.
    let fd = unsafe { BorrowedFd::borrow_raw(entry.fd) };
    Member { stream, fd, want: PollFlags::from_bits_retain(entry.events as u16), got: PollFlags::empty() }
}

/// A thread that may sleep until messages come to the process's ports.
pub(crate) struct Asleep(Option<Arc<Office>>);

impl Asleep {
    pub(crate) fn new(office: Option<Arc<Office>>) -> Self {
        office.iter().for_each(|office| office.lie_down());
        Self(office)
    }
}

impl Drop for Asleep {
    fn drop(&mut self) {
        self.0.iter().for_each(|office| office.get_up());
    }
}

/// Between two looks at plain descriptors while spinning, in nanoseconds.
const GLANCE: u64 = 4_000;

/// Whether the settings allow spinning at all. That a spin can win on this wait, because the peer
/// runs on another processor, is [`Stream::strategy`]'s to say: so two ends that are allowed
/// one processor between them never spin, and two that are pinned to one each do.
pub fn may_spin() -> bool {
    longest_spin() > 0
}

/// How long a waiter spins at most, in nanoseconds.
pub fn longest_spin() -> u64 {
    Settings::get().spin.as_nanos() as u64
}

/// Waits until a member or one of `others` is ready, `timeout` has passed (0: `Ok(0)`), or a signal
/// came (`INTR`). None waits for ever. Returns how many are ready, members included.
pub fn wait(
    members: &mut [Member<'_>],
    others: &mut [PollEntry],
    timeout: Option<Duration>,
    kernel: &mut dyn Kernel,
) -> Result<usize, Errno> {
    if let ([member], []) = (&mut *members, &*others)
        && member.stream.is_quiet()
        && let Some(result) = wait_quietly(member, timeout, kernel)
    {
        return result;
    }
    let deadline = timeout.map(|timeout| now().saturating_add(nanos(timeout)));
    let mut won = Won::Looking;
    let mut spun = None;
    let mut waits = 0;
    let mut crowded = 0;
    loop {
        if kernel.leaves() {
            return Err(Errno::CANCELED);
        }
        // On their sockets the kernel tells all, and the wait asks it.
        let ready = if members.iter().all(|m| m.stream.is_undecided()) { 0 } else { look(members, None) };
        if ready > 0 {
            let count = if others.is_empty() { 0 } else { kernel.poll(others, Some(Duration::ZERO)).unwrap_or(0) };
            settle(members, won, spun);
            return Ok(ready + count);
        }
        members.iter().for_each(|m| {
            m.stream.wake_timed_reader();
            m.stream.note_wait();
        });
        let expired = deadline.is_some_and(|d| now() >= d);
        if !expired && won == Won::Looking && others.is_empty() && wait_directly(members, deadline) {
            won = Won::Spinning;
            continue;
        }
        if !expired && won == Won::Looking && spin(members, others, deadline, kernel, &mut spun)? {
            won = Won::Spinning;
            continue;
        }
        let remaining =
            if expired { Some(Duration::ZERO) } else { deadline.map(|d| Duration::from_nanos(d.saturating_sub(now()))) };
        let timed = if waits < TIMED_WAITS && !expired { space_wait(members) } else { None };
        waits += u32::from(timed.is_some());
        let remaining = timed.map_or(remaining, |timed| Some(remaining.unwrap_or(timed).min(timed)));
        let count = sleep(members, others, remaining, timed.is_some(), kernel, &mut crowded)?;
        let ready = members.iter().filter(|m| !m.got.is_empty()).count();
        if ready + count > 0 {
            settle(members, if expired { Won::Looking } else { Won::Sleeping }, spun);
            return Ok(ready + count);
        }
        if expired {
            return Ok(0);
        }
        won = Won::Sleeping;
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// All that a wait for a connection alone is before there is a line: the kernel's. No thread gets the line while this one is counted as a sleeper.
/// None: one has just got it.
fn wait_quietly(member: &mut Member<'_>, timeout: Option<Duration>, kernel: &mut dyn Kernel) -> Option<Result<usize, Errno>> {
    let mut entries = [PollEntry { fd: member.fd.as_raw_fd(), events: member.want.bits() as i16, revents: 0 }];
    let frame = (&raw const entries).addr();
    get_up_at_last(frame);
    let (lying, _) = member.stream.enter(member.want, frame);
    if !member.stream.is_quiet() {
        return None;
    }
    member.stream.note_wait();
    let deadline = timeout.filter(|timeout| !timeout.is_zero()).map(|timeout| now().saturating_add(nanos(timeout)));
    let mut left = timeout;
    let result = loop {
        let result = kernel.poll(&mut entries, left);
        // Some kernels nap, and look at something else in between.
        let time = deadline.map(|_| now());
        left = deadline.zip(time).map(|(deadline, time)| Duration::from_nanos(deadline.saturating_sub(time)));
        if result != Ok(0) || timeout == Some(Duration::ZERO) || left == Some(Duration::ZERO) {
            break result;
        }
    };
    lying.get_up(false);
    member.got = PollFlags::from_bits_retain(entries[0].revents as u16);
    if matches!(result, Ok(1..)) {
        member.stream.settle_wait(Won::Sleeping, None);
        member.stream.allot(u64::MAX);
    }
    Some(result)
}

/// Waits for ports for a moment, if all members go over them and the deadline is not near. True when something stirs. A busy connection that
/// nobody waits for here does not keep the thread from its deadline and its signals.
fn wait_directly(members: &[Member<'_>], deadline: Option<u64>) -> bool {
    let Some(office) = members.first().and_then(|member| member.stream.office()) else { return false };
    let until = now() + DIRECTLY.as_nanos() as u64;
    let far = deadline.is_none_or(|deadline| deadline > until);
    if !far || members.iter().any(|member| member.stream.office().is_none()) {
        return false;
    }
    while !members.iter().any(|member| member.stream.stirs(member.want)) {
        if now() >= until || !office.wait() {
            return false;
        }
    }
    true
}

fn settle(members: &[Member<'_>], won: Won, spun: Option<(Outcome, u64)>) {
    for member in members.iter().filter(|m| !m.got.is_empty()) {
        member.stream.settle_wait(won, spun);
        // A thread that polls for itself reads what it is told of.
        member.stream.allot(u64::MAX);
    }
}

/// Timed waits for space in one wait, after which the waiter has the reader wake it.
const TIMED_WAITS: u32 = 3;

/// How long the readers of full rings will take to make space, going by their pace so far.
fn space_wait(members: &[Member<'_>]) -> Option<Duration> {
    let time = now();
    let waits = members.iter().filter(|m| m.want.intersects(OUTPUT) && may_spin()).map(|m| m.stream.space_wait(time));
    waits.min_by_key(|wait| wait.unwrap_or(u64::MAX)).flatten().map(Duration::from_nanos)
}

/// Looks at every member; `kernel` has the kernel's answers, of each to its socket, if it was asked, and the news before.
fn look(members: &mut [Member<'_>], kernel: Option<(&[PollEntry], &[News])>) -> usize {
    let mut ready = 0;
    for (i, member) in members.iter_mut().enumerate() {
        if kernel.is_none() && member.stream.is_calm(member.want) {
            member.got = PollFlags::empty();
            continue;
        }
        let kernel = kernel.map(|(answers, news)| (PollFlags::from_bits_retain(answers[i].revents as u16), news[i]));
        member.got = member.stream.look(member.fd, member.want, kernel);
        member.stream.tell_sets();
        ready += usize::from(!member.got.is_empty());
    }
    ready
}

/// Spins while it may win. True when something stirs.
fn spin(
    members: &[Member<'_>],
    others: &mut [PollEntry],
    deadline: Option<u64>,
    kernel: &mut dyn Kernel,
    spun: &mut Option<(Outcome, u64)>,
) -> Result<bool, Errno> {
    if !may_spin() {
        return Ok(false);
    }
    let own = processor();
    let strategy = members.iter().map(|m| m.stream.strategy(own)).max().unwrap_or(SpinStrategy::Sleep);
    let longest = || members.iter().filter_map(|m| m.stream.spins.longest(longest_spin())).max();
    let Some(longest) = (strategy != SpinStrategy::Sleep).then(longest).flatten() else { return Ok(false) };
    let stirs = || members.iter().any(|m| m.stream.stirs(m.want));
    let mut spinner = Spinner::new(strategy.over(longest, longest_spin()), longest, deadline);
    let mut glance = now() + GLANCE;
    loop {
        if let Some(outcome) = spinner.round(stirs) {
            let stirring = || members.iter().filter(|m| m.stream.stirs(m.want)).count();
            let (outcome, stirs) = spinner.judge(outcome, stirring);
            *spun = Some((outcome, spinner.spent()));
            return Ok(stirs);
        }
        if !others.is_empty() && now() >= glance {
            if kernel.poll(others, Some(Duration::ZERO))? > 0 {
                return Ok(true);
            }
            glance = now() + GLANCE;
        }
    }
}

/// So often a bell may ring on for others before it is looked into whether they are there.
const CROWDED: u32 = 4;

/// Arms every member, looks once more, and sleeps in the kernel. Answers are in the members and in
/// `others`, of which it returns how many are ready. `crowded` counts sleeps that a bell ended which is left to others.
fn sleep(
    members: &mut [Member<'_>],
    others: &mut [PollEntry],
    remaining: Option<Duration>,
    timed: bool,
    kernel: &mut dyn Kernel,
    crowded: &mut u32,
) -> Result<usize, Errno> {
    let lies = remaining != Some(Duration::ZERO);
    let mut lying: SmallVec<[Lying<'_>; 2]> = SmallVec::new();
    let mut alone = None;
    if lies {
        let frame = (&raw const lying).addr();
        get_up_at_last(frame);
        // A thread that waits for a time until there is space wakes by itself: the reader needn't spend a bell.
        let wanted = |member: &Member<'_>| if timed { member.want - OUTPUT } else { member.want };
        if let ([member], []) = (&*members, &*others) {
            let (lies, set) = member.stream.lie_down_alone(member.fd, wanted(member), frame);
            lying.push(lies);
            alone = Some((member.stream, set));
        } else {
            lying.extend(members.iter().map(|member| member.stream.lie_down(wanted(member), frame)));
        }
    }
    let asleep = Asleep::new(members.iter().find_map(|member| member.stream.office()).filter(|_| lies).cloned());
    // What the peer wants back is done before sleeping: the bell for it may have been another's.
    let stirring = members.iter().any(|m| m.stream.stirs(m.want) || m.stream.is_wanted_back());
    let remaining = if stirring { Some(Duration::ZERO) } else { remaining };
    let mut entries: SmallVec<[PollEntry; 8]> = SmallVec::with_capacity(others.len() + 2 * members.len());
    entries.extend_from_slice(others);
    let ask = |fd: BorrowedFd<'_>, events: PollFlags| PollEntry { fd: fd.as_raw_fd(), events: events.bits() as i16, revents: 0 };
    entries.extend(members.iter().map(|member| ask(member.fd, member.stream.kernel_interest(member.want))));
    let lines: SmallVec<[_; 2]> =
        members.iter().map(|member| member.stream.line_alive().then(|| member.stream.line_borrowed())).collect();
    entries.extend(lines.iter().flatten().map(|line| ask(line.as_fd(), PollFlags::IN)));
    let news: SmallVec<[_; 2]> = members.iter().map(|member| member.stream.news()).collect();
    let result = match &alone {
        Some((stream, Some(set))) => stream.sleep_alone(set, &mut entries, remaining, kernel),
        _ => kernel.poll(&mut entries, remaining),
    };
    drop(asleep);
    let (answers, mut bells) = entries[others.len()..].split_at(members.len());
    let mut lying = lying.into_iter();
    for (member, line) in members.iter().zip(lines) {
        let rang = line.is_some() && bells.split_off_first().is_some_and(|bell| bell.revents != 0);
        // Before this thread counts as awake: it may be the last that has the line.
        drop(line);
        if rang && alone.is_some() {
            member.stream.hear_alone();
        }
        if lying.next().is_some_and(|lying| lying.get_up(result.is_ok() && rang)) {
            *crowded += 1;
            if *crowded >= CROWDED {
                member.stream.hush();
            }
        }
    }
    result?;
    let mut count = 0;
    for (other, entry) in others.iter_mut().zip(&entries) {
        other.revents = entry.revents;
        count += usize::from(entry.revents != 0);
    }
    look(members, Some((answers, &news)));
    Ok(count)
}
