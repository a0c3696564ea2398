//! Asking all processes at once, and saying why one can't be asked.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::geteuid;
use slipway_ports::inspect::{Address, Failure as Unasked, Snapshot, addresses, ask};

use crate::failure::{Failure, NO_ANSWER, NO_SERVER, NOT_MACH, NOT_PERMITTED};

/// How long one process may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long all of them may take.
const OVERALL: Duration = Duration::from_secs(6);
/// How many are asked at the same time.
const ASKERS: usize = 8;

/// What all processes that may be asked said at about the same time.
#[derive(Debug)]
pub struct Look {
    /// When the answers had come.
    pub at: Instant,
    /// The answers by process.
    pub snapshots: BTreeMap<u32, Snapshot>,
    /// The processes that did not answer, and why.
    pub unanswered: BTreeMap<u32, Unasked>,
}

impl Look {
    /// Asks all processes of this user; root asks everybody's.
    ///
    /// # Errors
    /// The kernel's list of sockets can't be read.
    pub fn take() -> Result<Self, Failure> {
        let all = addresses().map_err(|error| Failure::own("ports: /proc/net/unix, where the processes are found", error))?;
        let user = geteuid().as_raw();
        let chosen: Vec<Address> = all.into_iter().filter(|address| user == 0 || address.user == user).collect();
        let look = Mutex::new(Self { at: Instant::now(), snapshots: BTreeMap::new(), unanswered: BTreeMap::new() });
        let queue = Mutex::new(chosen.iter());
        let overall = Instant::now() + OVERALL;
        thread::scope(|scope| {
            for _ in 0..ASKERS.min(chosen.len()) {
                scope.spawn(|| {
                    loop {
                        let Some(address) = queue.lock().unwrap_or_else(PoisonError::into_inner).next() else { return };
                        let answer = ask(address, (Instant::now() + PATIENCE).min(overall));
                        look.lock().unwrap_or_else(PoisonError::into_inner).note(address, answer);
                    }
                });
            }
        });
        let mut look = look.into_inner().unwrap_or_else(PoisonError::into_inner);
        look.at = Instant::now();
        // A stranger may listen beside a process that answered.
        look.unanswered.retain(|pid, _| !look.snapshots.contains_key(pid));
        Ok(look)
    }

    fn note(&mut self, address: &Address, answer: Result<Snapshot, Unasked>) {
        match answer {
            Ok(snapshot) => {
                self.snapshots.insert(snapshot.pid, snapshot);
            }
            Err(Unasked::Gone) => {}
            Err(why) => {
                self.unanswered.insert(address.pid, why);
            }
        }
    }

    /// The processes to show: the one, or all.
    ///
    /// # Errors
    /// The one did not answer.
    pub fn choose(&self, pid: Option<u32>) -> Result<Vec<u32>, Failure> {
        match pid {
            None => Ok(self.snapshots.keys().copied().collect()),
            Some(pid) if self.snapshots.contains_key(&pid) => Ok(vec![pid]),
            Some(pid) => Err(self.explain(pid)),
        }
    }

    /// Why there is no answer of a process.
    fn explain(&self, pid: u32) -> Failure {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let Some(of) = effective_user(&status).filter(|_| !is_dead(&status)) else {
            return Failure::new(
                NO_SERVER,
                format!("ports: there is no process {pid}; `slipway ports` lists those with Mach ports"),
            );
        };
        let user = geteuid().as_raw();
        if user != 0 && of != user {
            return Failure::new(
                NOT_PERMITTED,
                format!("ports: process {pid} belongs to user {of}; ask as that user or as root"),
            );
        }
        match self.unanswered.get(&pid) {
            Some(why) => Failure::new(NO_ANSWER, format!("ports: process {pid}: {why}")),
            None => Failure::new(
                NOT_MACH,
                format!(
                    "ports: process {pid} has exchanged no Mach right with another process, or does not use Mach at all; `slipway ports` lists those that have"
                ),
            ),
        }
    }
}

/// The effective user in the text of /proc/PID/status.
fn effective_user(status: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Whether the process has ended, and its parent has not asked for its exit code yet.
fn is_dead(status: &str) -> bool {
    status.lines().filter_map(|line| line.strip_prefix("State:")).any(|state| state.trim_start().starts_with(['Z', 'X']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_user_is_the_second_number() {
        assert_eq!(effective_user("Name:\tx\nState:\tS (sleeping)\nUid:\t1000\t1001\t1002\t1003\nGid:\t1 2 3 4\n"), Some(1001));
        assert_eq!(effective_user(""), None);
        assert!(is_dead("State:\tZ (zombie)\n") && !is_dead("State:\tS (sleeping)\n"));
    }

    fn look(pids: &[u32]) -> Look {
        let snapshots = pids.iter().map(|pid| (*pid, Snapshot { pid: *pid, ..Snapshot::default() })).collect();
        Look { at: Instant::now(), snapshots, unanswered: BTreeMap::new() }
    }

    #[test]
    fn one_or_all_are_chosen() {
        assert_eq!(look(&[9, 4]).choose(None).expect("all"), [4, 9]);
        assert_eq!(look(&[9, 4]).choose(Some(9)).expect("one"), [9]);
    }

    #[test]
    fn why_there_is_no_answer() {
        let own = std::process::id();
        let code = |look: &Look, pid| look.choose(Some(pid)).expect_err("no answer").code;
        assert_eq!(code(&look(&[]), u32::MAX), NO_SERVER);
        assert_eq!(code(&look(&[]), own), NOT_MACH);
        let mut silent = look(&[]);
        silent.unanswered.insert(own, Unasked::Silent);
        assert_eq!(code(&silent, own), NO_ANSWER);
    }
}
