//! What the system tells of this process: its threads, their times, its memory.

use std::{fs, str::FromStr, sync::LazyLock};

/// What a `stat` file tells of a process or a thread. Times are in ticks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stat {
    /// The letter of its state.
    pub state: char,
    /// Time in user mode.
    pub user: u64,
    /// Time in the kernel.
    pub system: u64,
    /// The kernel's priority: 20 for a thread without a wish.
    pub priority: i32,
    /// When it started, after the machine did.
    pub start: u64,
    /// Memory that is mapped, in bytes.
    pub mapped: u64,
    /// Memory that is present, in pages.
    pub resident: u64,
}

impl Stat {
    fn read(path: &str) -> Option<Self> {
        fn field<T: FromStr>(fields: &[&str], number: usize) -> Option<T> {
            // As proc(5) numbers them; the first two are before the name's end.
            fields.get(number - 3)?.parse().ok()
        }
        let text = fs::read_to_string(path).ok()?;
        // A name may have blanks and parentheses in it.
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        Some(Self {
            state: field(&fields, 3)?,
            user: field(&fields, 14)?,
            system: field(&fields, 15)?,
            priority: field(&fields, 18)?,
            start: field(&fields, 22)?,
            mapped: field(&fields, 23)?,
            resident: field(&fields, 24)?,
        })
    }

    /// This process's, with the times of all threads that it has and had.
    pub fn of_process() -> Option<Self> {
        Self::read("/proc/self/stat")
    }

    /// A thread's; None if it has ended.
    pub fn of_thread(thread: u32) -> Option<Self> {
        Self::read(&format!("/proc/self/task/{thread}/stat"))
    }
}

/// The numbers of this process's threads.
pub fn threads() -> Vec<u32> {
    let entries = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// How memory at an address can be used: 1 to read, 2 to write, 4 to run. None if nothing is there.
pub fn protection(at: usize) -> Option<i32> {
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let range = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
        let may = words.next().filter(|_| range.contains(&at))?;
        Some([('r', 1), ('w', 2), ('x', 4)].into_iter().filter(|(letter, _)| may.contains(*letter)).map(|(_, bit)| bit).sum())
    })
}

/// Microseconds of a number of ticks.
pub fn microseconds(ticks: u64) -> u64 {
    static RATE: LazyLock<u64> = LazyLock::new(|| configured(libc::_SC_CLK_TCK).max(1));
    ticks.saturating_mul(1_000_000 / *RATE)
}

/// A value that the system is configured with; 0 if it doesn't tell.
#[allow(unsafe_code, reason = "sysconf(3)")]
pub fn configured(which: i32) -> u64 {
    // SAFETY: it takes a number and gives one.
    u64::try_from(unsafe { libc::sysconf(which) }).unwrap_or(0)
}
