//! The CPUs that measurements run on.

use anyhow::Context;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs;

/// The cores that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cores {
    /// The server's core.
    pub first: usize,
    /// Another one, where there is one.
    pub second: Option<usize>,
}

impl Cores {
    /// Picks two cores that this process may use: its first, and the first that isn't a hardware
    /// thread of the same core (of those that are, when there is no other).
    ///
    /// # Errors
    /// When the kernel doesn't tell.
    pub fn choose() -> anyhow::Result<Self> {
        let set = sched_getaffinity(None).context("sched_getaffinity")?;
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect();
        let first = *allowed.first().context("no CPU is allowed")?;
        let siblings =
            fs::read_to_string(format!("/sys/devices/system/cpu/cpu{first}/topology/thread_siblings_list")).unwrap_or_default();
        Ok(Self::pick(&allowed, &siblings, first))
    }

    fn pick(allowed: &[usize], siblings: &str, first: usize) -> Self {
        let others = || allowed.iter().copied().filter(|&cpu| cpu != first);
        let second = others().find(|&cpu| !in_list(siblings, cpu)).or_else(|| others().next());
        Self { first, second }
    }

    /// Both, or the only one.
    pub fn list(&self) -> Vec<usize> {
        [Some(self.first), self.second].into_iter().flatten().collect()
    }
}

/// Keeps the calling thread on `cpu`.
///
/// # Errors
/// When the kernel refuses.
pub fn pin(cpu: usize) -> anyhow::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).with_context(|| format!("can't run on CPU {cpu} only"))
}

/// Whether a kernel CPU list ("0-3,8") has `cpu`.
fn in_list(list: &str, cpu: usize) -> bool {
    list.trim().split(',').any(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        matches!((first.parse(), last.parse()), (Ok(first), Ok(last)) if (first..=last).contains(&cpu))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_avoids_the_firsts_hardware_threads() {
        assert_eq!(Cores::pick(&[0, 1, 2], "0-1\n", 0).second, Some(2));
        assert_eq!(Cores::pick(&[0, 1], "0-1\n", 0).second, Some(1));
        assert_eq!(Cores::pick(&[4, 5], "", 4).second, Some(5));
        assert_eq!(Cores::pick(&[3], "3", 3).second, None);
    }

    #[test]
    fn cpu_lists() {
        assert!(in_list("0-3,8", 2));
        assert!(in_list("0-3,8", 8));
        assert!(!in_list("0-3,8", 4));
        assert!(!in_list("", 0));
    }
}
