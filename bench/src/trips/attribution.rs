//! Whose work instructions are, whether or not the compiler has joined functions.
//!
//! An [`Anchor`] is a function whose work has a name. An instruction counts for the innermost anchor that it is in,
//! by the debug information's record of what was inlined where. What functions without a name do counts for where
//! they were called.

use super::callgrind::Cost;
use addr2line::Loader;
use anyhow::{Context, anyhow, ensure};
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

/// A function, and the kinds of work in it.
#[derive(Debug, Clone)]
pub struct Anchor<K> {
    /// What its path begins with: "slipway_ports::line"; a C function's is empty.
    pub within: &'static str,
    /// Its last name.
    pub name: String,
    /// The work that it begins with.
    pub first: K,
    /// Whether it may be missing in a profile: it is not called in every run.
    pub rare: bool,
    /// The last names of functions that it calls, and the work that it goes on with behind the calls, in order.
    pub then: Vec<(String, K)>,
}

/// How often a call goes up to its callers at most: no chain of calls is as long.
const DEEPEST: usize = 64;

/// A function that an instruction is in, and the line there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Frame {
    function: Rc<str>,
    line: u32,
}

/// The functions that instructions of a program are in.
pub struct Symbols {
    loader: Option<Loader>,
    object: String,
    known: HashMap<u64, Rc<[Frame]>>,
}

impl Symbols {
    /// Those of `program`.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn of(program: &Path) -> anyhow::Result<Self> {
        let loader = Loader::new(program).map_err(|error| anyhow!("{}: {error}", program.display()))?;
        Ok(Self { loader: Some(loader), object: program.display().to_string(), known: HashMap::new() })
    }

    /// The innermost first; the last is the function as it was compiled. For what is no part of the program it is all.
    fn frames(&mut self, cost: &Cost) -> Rc<[Frame]> {
        let whole = || Rc::from([Frame { function: Rc::clone(&cost.function), line: 0 }]);
        if *cost.object != *self.object {
            return whole();
        }
        if let Some(frames) = self.known.get(&cost.address) {
            return Rc::clone(frames);
        }
        let mut found = self.loader.as_ref().map_or_else(Vec::new, |loader| look_up(loader, cost.address));
        // The profile's own name stands for the compiled function, as it does where calls are recorded.
        match found.last_mut() {
            Some(last) => last.function = Rc::clone(&cost.function),
            None => found.extend(whole().iter().cloned()),
        }
        let frames: Rc<[Frame]> = found.into();
        self.known.insert(cost.address, Rc::clone(&frames));
        frames
    }
}

fn look_up(loader: &Loader, address: u64) -> Vec<Frame> {
    let mut found = Vec::new();
    let Ok(mut frames) = loader.find_frames(address) else { return found };
    while let Ok(Some(frame)) = frames.next() {
        let name = frame.function.as_ref().and_then(|function| Some(function.demangle().ok()?.into_owned()));
        let line = frame.location.and_then(|location| location.line).unwrap_or_default();
        found.push(Frame { function: name.unwrap_or_default().into(), line });
    }
    found
}

/// The last name of a path.
fn last(function: &str) -> &str {
    let last = function.rsplit("::").next().unwrap_or(function);
    // Callgrind tells the calls of a recursive function apart.
    last.split('\'').next().unwrap_or(last)
}

impl<K> Anchor<K> {
    /// A function that does nothing but that work.
    pub fn new(within: &'static str, name: &str, work: K) -> Self {
        Self { within, name: name.to_owned(), first: work, rare: false, then: Vec::new() }
    }

    /// The same, where a run may do without it.
    pub fn rare(mut self) -> Self {
        self.rare = true;
        self
    }

    /// The same, with other work behind a call of the function `of`.
    pub fn behind(mut self, of: &str, work: K) -> Self {
        self.then.push((of.to_owned(), work));
        self
    }

    fn is(&self, function: &str) -> bool {
        last(function) == self.name && function.trim_start_matches('<').starts_with(self.within)
    }
}

/// What calls a function, and how many instructions that takes.
struct Call<K> {
    /// The work that it is part of, if the caller is, or is in, an anchor.
    kind: Option<K>,
    caller: Rc<str>,
    count: u64,
}

/// The instructions of each kind of work, and those that are of none.
///
/// # Errors
/// When the profile shows nothing of an anchor: then it is not known whose work its instructions are.
pub fn attribute<K: Copy + Eq + std::hash::Hash>(
    costs: &[Cost],
    symbols: &mut Symbols,
    anchors: &[Anchor<K>],
) -> anyhow::Result<HashMap<Option<K>, f64>> {
    let frames: Vec<_> = costs.iter().map(|cost| symbols.frames(cost)).collect();
    let borders = borders(costs, &frames, anchors)?;
    let kind_at = |frames: &[Frame]| {
        let (at, anchor) = innermost(frames, anchors)?;
        let passed = anchors[anchor].then.iter().zip(&borders[anchor]).rev().find(|(_, border)| frames[at].line > **border);
        Some(passed.map_or(anchors[anchor].first, |((_, kind), _)| *kind))
    };
    let mut found: HashMap<Option<K>, f64> = HashMap::new();
    // The work of functions without a name, and who calls them.
    let mut unnamed: HashMap<Rc<str>, f64> = HashMap::new();
    let mut calls: HashMap<Rc<str>, Vec<Call<K>>> = HashMap::new();
    for (cost, frames) in costs.iter().zip(&frames) {
        let kind = kind_at(frames);
        match (&cost.called, kind) {
            (Some(called), kind) if !anchors.iter().any(|anchor| anchor.is(called)) => {
                let call = Call { kind, caller: Rc::clone(&cost.function), count: cost.count };
                calls.entry(Rc::clone(called)).or_default().push(call);
            }
            (Some(_), _) => {}
            (None, Some(_)) => *found.entry(kind).or_default() += cost.count as f64,
            (None, None) => *unnamed.entry(Rc::clone(&cost.function)).or_default() += cost.count as f64,
        }
    }
    for _ in 0..DEEPEST {
        for (function, work) in std::mem::take(&mut unnamed) {
            let callers = calls.get(&function).map_or(&[][..], |callers| &callers[..]);
            let all: u64 = callers.iter().map(|call| call.count).sum();
            if all == 0 {
                *found.entry(None).or_default() += work;
            }
            for Call { kind, caller, count } in callers.iter().filter(|call| call.count > 0) {
                let share = work * *count as f64 / all as f64;
                match kind {
                    Some(_) => *found.entry(*kind).or_default() += share,
                    None => *unnamed.entry(Rc::clone(caller)).or_default() += share,
                }
            }
        }
    }
    // What is left goes round in circles.
    *found.entry(None).or_default() += unnamed.values().sum::<f64>();
    Ok(found)
}

/// The innermost anchor that an instruction is in: which of its functions, which of the anchors.
fn innermost<K>(frames: &[Frame], anchors: &[Anchor<K>]) -> Option<(usize, usize)> {
    frames.iter().enumerate().find_map(|(at, frame)| Some((at, anchors.iter().position(|anchor| anchor.is(&frame.function))?)))
}

/// The lines of the calls behind which the anchors' further work begins.
fn borders<K>(costs: &[Cost], frames: &[Rc<[Frame]>], anchors: &[Anchor<K>]) -> anyhow::Result<Vec<Vec<u32>>> {
    let mut seen = vec![false; anchors.len()];
    let mut borders: Vec<Vec<Option<u32>>> = anchors.iter().map(|anchor| vec![None; anchor.then.len()]).collect();
    for (cost, frames) in costs.iter().zip(frames) {
        for (at, frame) in frames.iter().enumerate() {
            let Some(which) = anchors.iter().position(|anchor| anchor.is(&frame.function)) else { continue };
            seen[which] = true;
            // What it calls from here: the next function inwards, or one that was not inlined.
            let inner = if at > 0 { Some(&frames[at - 1].function) } else { cost.called.as_ref() };
            let Some(inner) = inner else { continue };
            for (place, (name, _)) in borders[which].iter_mut().zip(&anchors[which].then) {
                if last(inner) == name {
                    *place = Some(place.map_or(frame.line, |line| line.max(frame.line)));
                }
            }
        }
    }
    let mut lines = Vec::new();
    for ((anchor, found), seen) in anchors.iter().zip(borders).zip(seen) {
        let place = if anchor.within.is_empty() { "C's names" } else { anchor.within };
        ensure!(
            seen || anchor.rare,
            "the profile shows nothing of {} in {place}: either its name has changed, or the program has no debug information",
            anchor.name
        );
        let names = anchor.then.iter().map(|(name, _)| name);
        let of_one = names.zip(found).map(|(name, line)| line.with_context(|| format!("no call of {name} in {}", anchor.name)));
        lines.push(of_one.collect::<anyhow::Result<_>>()?);
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trips::callgrind::costs;

    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    enum Work {
        Before,
        After,
        Inner,
    }

    fn anchors() -> [Anchor<Work>; 2] {
        [Anchor::new("", "outer", Work::Before).behind("inner", Work::After), Anchor::new("some::path", "inner", Work::Inner)]
    }

    /// `main` calls `outer`, which calls `some::path::inner` and a copy; so does `inner`. Both are inlined in `main`'s
    /// second half.
    const PROFILE: &str = "positions: instr line\nob=(1) /x\nfn=(1) main\n0x1 1 5\n0x20 1 4\n0x21 1 3\n0x22 1 2\ncfn=(2) outer\ncalls=1 0\n0x2 1 90\n\
                           fn=(2)\n0x10 0 10\n0x11 0 20\ncfn=(3) copy\ncalls=1 0\n0x11 0 30\ncfn=(4) some::path::inner\ncalls=1 0\n0x12 0 24\n0x13 0 6\n\
                           fn=(3)\n0x99 0 40\nfn=(4)\n0x30 0 14\ncfn=(3)\ncalls=1 0\n0x31 0 10\n";

    fn symbols() -> Symbols {
        let frame = |function: &str, line| Frame { function: function.into(), line };
        let outer = |line| vec![frame("outer", line)];
        let inlined = |line| vec![frame("outer", line), frame("main", 80)];
        let known = [
            (0x10, outer(100)),
            (0x11, outer(101)),
            (0x12, outer(102)),
            (0x13, outer(103)),
            (0x20, inlined(102)),
            (0x21, [vec![frame("<some::path::T>::inner", 7)], inlined(102)].concat()),
            (0x22, inlined(105)),
        ];
        let known = known.into_iter().map(|(address, frames)| (address, Rc::from(frames))).collect();
        Symbols { loader: None, object: "/x".to_owned(), known }
    }

    #[test]
    fn instructions_count_for_the_innermost_name() {
        let found = attribute(&costs(PROFILE), &mut symbols(), &anchors()).unwrap();
        let of = |kind| found.get(&kind).copied().unwrap_or_default();
        // Three quarters of the copy are outer's, a quarter inner's.
        assert_eq!(of(Some(Work::Before)), 10.0 + 20.0 + 30.0 + 4.0);
        assert_eq!(of(Some(Work::After)), 6.0 + 2.0);
        assert_eq!(of(Some(Work::Inner)), 14.0 + 10.0 + 3.0);
        assert_eq!(of(None), 5.0);
    }

    #[test]
    fn an_anchor_that_is_not_there_is_an_error() {
        let missing = [anchors().to_vec(), vec![Anchor::new("some::path", "absent", Work::Inner)]].concat();
        let error = attribute(&costs(PROFILE), &mut symbols(), &missing).unwrap_err().to_string();
        assert!(error.contains("absent"), "{error}");
        let no_call = Anchor::new("", "outer", Work::Before).behind("absent", Work::After);
        assert!(attribute(&costs(PROFILE), &mut symbols(), &[no_call]).is_err());
        let rare = Anchor::new("some::path", "absent", Work::Inner).rare();
        attribute(&costs(PROFILE), &mut symbols(), &[rare]).unwrap();
    }
}
