//! The machine that measurements are made on: what tables say of it, and its CPUs.

use anyhow::Context;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Serialize;
use std::fs;

/// The machine, as far as it decides the figures.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// The processor's name from /proc/cpuinfo; "unknown" when the kernel gives none.
    pub cpu: String,
    pub cores: usize,
    pub kernel: String,
    /// Whether the processor says that it runs under a hypervisor (x86 only, else null).
    pub hypervisor: Option<bool>,
}

impl Machine {
    pub fn this() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            cpu: field(&cpuinfo, "model name").or_else(|| field(&cpuinfo, "Model")).unwrap_or("unknown").to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            hypervisor: field(&cpuinfo, "flags").map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        }
    }

    pub fn line(&self) -> String {
        let host = match self.hypervisor {
            Some(true) => ", virtual machine",
            Some(false) => ", no hypervisor",
            None => "",
        };
        let plural = if self.cores == 1 { "" } else { "s" };
        format!("{}, {} core{plural}, Linux {}{host}", self.cpu, self.cores, self.kernel)
    }
}

fn field<'a>(cpuinfo: &'a str, name: &str) -> Option<&'a str> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// The cores that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cores {
    pub first: usize,
    /// Another one, where there is one.
    pub second: Option<usize>,
}

impl Cores {
    /// Picks two cores that this process may use: its first, and the first that isn't a hardware
    /// thread of the same core (of those that are, when there is no other).
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
}

/// Keeps the calling thread on `cpu`.
pub fn pin(cpu: usize) -> anyhow::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).with_context(|| format!("can't run on CPU {cpu} only"))
}

/// Does `work` on `cpu`, so that what it starts stays there; on none given, wherever this process may run.
pub fn placed<T>(cpu: Option<usize>, work: impl FnOnce() -> T) -> anyhow::Result<T> {
    let before = sched_getaffinity(None).context("sched_getaffinity")?;
    cpu.map_or(Ok(()), pin)?;
    let done = work();
    sched_setaffinity(None, &before).context("sched_setaffinity")?;
    Ok(done)
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
    fn fields_of_cpuinfo() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU @ 3GHz\nflags\t\t: fpu hypervisor sse\n";
        assert_eq!(field(cpuinfo, "model name"), Some("Some CPU @ 3GHz"));
        assert_eq!(field(cpuinfo, "flags"), Some("fpu hypervisor sse"));
        assert_eq!(field(cpuinfo, "Model"), None);
    }

    #[test]
    fn the_second_avoids_the_firsts_hardware_threads() {
        assert_eq!(Cores::pick(&[0, 1, 2], "0-1\n", 0).second, Some(2));
        assert_eq!(Cores::pick(&[0, 1], "0-1\n", 0).second, Some(1));
        assert_eq!(Cores::pick(&[3], "3", 3).second, None);
        assert!(in_list("0-3,8", 8) && !in_list("0-3,8", 4) && !in_list("", 0));
    }
}
