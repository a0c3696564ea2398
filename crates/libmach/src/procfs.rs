//! What the system tells of this process: its threads, their times, its memory.

use std::{fs, io, ops::Range, str::FromStr, sync::LazyLock};

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

/// What a file says. A thread's name may be cut within a character, and a mapped file's path may have any bytes.
fn text(path: &str) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

impl Stat {
    fn read(path: &str) -> Option<Self> {
        fn field<T: FromStr>(fields: &[&str], number: usize) -> Option<T> {
            // As proc(5) numbers them; the first two are before the name's end.
            fields.get(number - 3)?.parse().ok()
        }
        let text = text(path).ok()?;
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

/// The numbers of this process's threads. If threads start and end meanwhile, others may be missing, too.
///
/// # Errors
/// As readdir(3).
pub fn threads() -> io::Result<Vec<u32>> {
    let mut threads = Vec::new();
    for entry in fs::read_dir("/proc/self/task")? {
        threads.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    Ok(threads)
}

/// When a thread started, in ticks; 0 if it has ended.
pub fn start_of(thread: u32) -> u64 {
    Stat::of_thread(thread).map_or(0, |stat| stat.start)
}

/// Whether the process has no thread of that number.
pub fn has_ended(thread: u32) -> bool {
    fs::metadata(format!("/proc/self/task/{thread}")).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// The mappings of a range, each cut to what of it is in the range, and how it can be used: 1 to read, 2 to write, 4 to run.
///
/// # Errors
/// As read(2).
pub fn mappings(of: &Range<usize>) -> io::Result<Vec<(Range<usize>, i32)>> {
    let maps = text("/proc/self/maps")?;
    let mapping = |line: &str| {
        let mut words = line.split_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let [start, end] = [start, end].map(|address| usize::from_str_radix(address, 16).ok());
        let range = start?.max(of.start)..end?.min(of.end);
        let may = words.next().filter(|_| !range.is_empty())?;
        let protection =
            [('r', 1), ('w', 2), ('x', 4)].into_iter().filter(|(letter, _)| may.contains(*letter)).map(|(_, bit)| bit);
        Some((range, protection.sum()))
    };
    Ok(maps.lines().filter_map(mapping).collect())
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
