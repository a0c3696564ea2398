//! What a table of measurements must say about the machine it was made on.

use serde::Serialize;
use std::fs;

/// The machine, as far as it decides the figures.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// The processor's name from /proc/cpuinfo; "unknown" when the kernel gives none.
    pub cpu: String,
    /// CPUs that this process may run on.
    pub cores: usize,
    /// The kernel's release.
    pub kernel: String,
    /// Whether the processor says that it runs under a hypervisor (x86 only, else null).
    pub hypervisor: Option<bool>,
}

impl Machine {
    /// Describes the machine this process runs on.
    pub fn this() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            cpu: field(&cpuinfo, "model name").or_else(|| field(&cpuinfo, "Model")).unwrap_or("unknown").to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            hypervisor: field(&cpuinfo, "flags").map(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        }
    }

    /// One line for people.
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

#[cfg(test)]
mod tests {
    use super::*;

    const CPUINFO: &str = "processor\t: 0\nmodel name\t: Some CPU @ 3GHz\nflags\t\t: fpu hypervisor sse\n";

    #[test]
    fn fields_of_cpuinfo() {
        assert_eq!(field(CPUINFO, "model name"), Some("Some CPU @ 3GHz"));
        assert_eq!(field(CPUINFO, "flags"), Some("fpu hypervisor sse"));
        assert_eq!(field(CPUINFO, "Model"), None);
    }

    #[test]
    fn this_machine_has_a_core_and_a_kernel() {
        let machine = Machine::this();
        assert!(machine.cores > 0);
        assert!(machine.kernel.contains('.'), "{}", machine.kernel);
    }
}
