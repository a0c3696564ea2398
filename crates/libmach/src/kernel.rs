//! What a kernel tells of the host, a task, and the time.
#![allow(unsafe_code, reason = "functions that C calls, with pointers that C passes")]

use crate::{
    call::{Name, Out, Return, array, count, routine},
    procfs::{self, Stat, configured, microseconds},
    suspend,
    tasks::{ask, memory::Mach},
};
use slipway_ports::{abi::Code, task::Task};
use std::{
    ffi::{CStr, c_char, c_int},
    io::Write,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// `time_value_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct TimeValue {
    seconds: i64,
    microseconds: i32,
}

/// `time_value64_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct TimeValue64 {
    seconds: i64,
    nanoseconds: i64,
}

/// `mach_timebase_info_data_t`: a unit of `mach_absolute_time` is so many nanoseconds.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Timebase {
    numerator: u32,
    denominator: u32,
}

/// `host_basic_info`.
#[repr(C)]
struct HostBasic {
    max_cpus: c_int,
    avail_cpus: c_int,
    memory_size: u64,
    cpu_type: c_int,
    cpu_subtype: c_int,
}

/// `task_basic_info`.
#[repr(C)]
struct TaskBasic {
    suspend_count: c_int,
    base_priority: c_int,
    virtual_size: u64,
    resident_size: u64,
    user_time: TimeValue,
    system_time: TimeValue,
    creation_time: TimeValue,
}

/// `task_thread_times_info`.
#[repr(C)]
struct ThreadTimes {
    user_time: TimeValue,
    system_time: TimeValue,
}

const HOST_BASIC_INFO: c_int = 1;
const TASK_BASIC_INFO: c_int = 1;
const TASK_THREAD_TIMES_INFO: c_int = 3;

/// `CPU_TYPE_*` and the subtype of the processors that the library runs on.
const CPU: (c_int, c_int) = if cfg!(target_arch = "aarch64") { (0x0100_000c, 0) } else { (0x0100_0007, 3) };

impl From<Duration> for TimeValue {
    fn from(time: Duration) -> Self {
        Self { seconds: time.as_secs() as i64, microseconds: time.subsec_micros() as i32 }
    }
}

impl TimeValue {
    pub(crate) fn of_ticks(ticks: u64) -> Self {
        Duration::from_micros(microseconds(ticks)).into()
    }

    /// The time of day of so many ticks after the machine's start.
    pub(crate) fn of_start(ticks: u64) -> Self {
        now().saturating_sub(since_start()).saturating_add(Duration::from_micros(microseconds(ticks))).into()
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn clock(which: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes the time.
    unsafe { libc::clock_gettime(which, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

pub(crate) fn since_start() -> Duration {
    clock(libc::CLOCK_BOOTTIME)
}

/// Gives an answer of a flavor: `INVALID_ARGUMENT` if there is less room, in words, than it has.
///
/// # Safety
/// The count has a place, and `info` as many words as it says.
pub(crate) unsafe fn give<T>(info: *mut c_int, info_count: *mut u32, answer: T) -> Result<(), Code> {
    let words = (size_of::<T>() / size_of::<c_int>()) as u32;
    // SAFETY: the caller's promise.
    if info.is_null() || info_count.is_null() || unsafe { info_count.read_unaligned() } < words {
        return Err(Code::INVALID_ARGUMENT);
    }
    // SAFETY: the caller's promise: there is room for as many words.
    unsafe {
        info.cast::<T>().write_unaligned(answer);
        info_count.write_unaligned(words);
    }
    Ok(())
}

/// The room that a caller says there is, in words.
///
/// # Safety
/// It is null or has a place.
pub(crate) unsafe fn room(count: *const u32) -> u32 {
    // SAFETY: the caller's promise.
    if count.is_null() { 0 } else { unsafe { count.read_unaligned() } }
}

/// Gives words, as [`give`] a structure.
///
/// # Safety
/// As there.
pub(crate) unsafe fn give_words<T: Copy>(words: *mut T, words_count: *mut u32, answer: &[T]) -> Result<(), Code> {
    let n = count(answer.len())?;
    // SAFETY: the caller's promise.
    if words.is_null() || n > unsafe { room(words_count) } {
        return Err(Code::INVALID_ARGUMENT);
    }
    // SAFETY: the caller's promise: there is room for as many.
    unsafe {
        std::ptr::copy_nonoverlapping(answer.as_ptr().cast::<u8>(), words.cast::<u8>(), size_of_val(answer));
        words_count.write_unaligned(n);
    }
    Ok(())
}

fn host(name: Name) -> Result<(), Code> {
    if Task::current().is_host(name) { Ok(()) } else { Err(Code::INVALID_HOST) }
}

/// What is known of the host.
///
/// # Safety
/// The count has a place, and `info` as many words as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn host_info(of: Name, flavor: c_int, info: *mut c_int, info_count: *mut u32) -> Return {
    routine(|| {
        host(of)?;
        if flavor != HOST_BASIC_INFO {
            return Err(Code::INVALID_ARGUMENT);
        }
        let answer = HostBasic {
            max_cpus: configured(libc::_SC_NPROCESSORS_CONF) as c_int,
            avail_cpus: configured(libc::_SC_NPROCESSORS_ONLN) as c_int,
            memory_size: configured(libc::_SC_PHYS_PAGES) * configured(libc::_SC_PAGESIZE),
            cpu_type: CPU.0,
            cpu_subtype: CPU.1,
        };
        // SAFETY: the caller's promise.
        unsafe { give(info, info_count, answer) }
    })
}

/// The time of day.
///
/// # Safety
/// The result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn host_get_time(of: Name, current: *mut TimeValue) -> Return {
    routine(|| {
        host(of)?;
        // SAFETY: the caller's promise.
        unsafe { Out::new(current)? }.set(now().into());
        Ok(())
    })
}

/// The time of day in nanoseconds.
///
/// # Safety
/// The result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn host_get_time64(of: Name, current: *mut TimeValue64) -> Return {
    routine(|| {
        host(of)?;
        let time = now();
        let value = TimeValue64 { seconds: time.as_secs() as i64, nanoseconds: i64::from(time.subsec_nanos()) };
        // SAFETY: the caller's promise.
        unsafe { Out::new(current)? }.set(value);
        Ok(())
    })
}

/// The size of a page in bytes.
///
/// # Safety
/// The result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn host_page_size(of: Name, size: *mut usize) -> Return {
    routine(|| {
        host(of)?;
        // SAFETY: the caller's promise.
        unsafe { Out::new(size)? }.set(slipway_ports::pages::page_size());
        Ok(())
    })
}

/// The kernel's name, release and version, in 512 bytes at most.
///
/// # Safety
/// The result has 512 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn host_get_kernel_version(of: Name, version: *mut [u8; 512]) -> Return {
    routine(|| {
        host(of)?;
        // SAFETY: the caller's promise.
        let place = unsafe { Out::new(version)? };
        // SAFETY: any bytes are such a structure, which uname(2) fills with strings.
        let mut name: libc::utsname = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        if unsafe { libc::uname(&raw mut name) } != 0 {
            return Err(Code::FAILURE);
        }
        // SAFETY: as above.
        let text = |field: &[c_char]| unsafe { CStr::from_ptr(field.as_ptr()) }.to_string_lossy().into_owned();
        let line = format!("{} {} {}", text(&name.sysname), text(&name.release), text(&name.version));
        let mut bytes = [0; 512];
        let len = line.len().min(bytes.len() - 1);
        bytes[..len].copy_from_slice(&line.as_bytes()[..len]);
        place.set(bytes);
        Ok(())
    })
}

/// The name that OSF and Darwin have for [`host_get_kernel_version`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn host_kernel_version(of: Name, version: *mut [u8; 512]) -> Return {
    // SAFETY: the caller's promise.
    unsafe { host_get_kernel_version(of, version) }
}

/// Nanoseconds since the machine started, without the time that it slept.
#[unsafe(no_mangle)]
pub extern "C" fn mach_absolute_time() -> u64 {
    clock(libc::CLOCK_MONOTONIC).as_nanos() as u64
}

/// What a unit of [`mach_absolute_time`] is.
///
/// # Safety
/// The result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_timebase_info(info: *mut Timebase) -> Return {
    routine(|| {
        // SAFETY: the caller's promise.
        unsafe { Out::new(info)? }.set(Timebase { numerator: 1, denominator: 1 });
        Ok(())
    })
}

/// The ticks that the living threads ran, in user mode and in the kernel.
fn live_times() -> Result<(u64, u64), Code> {
    let threads = procfs::threads().map_err(|_| Code::RESOURCE_SHORTAGE)?;
    let stats = threads.into_iter().filter_map(Stat::of_thread);
    Ok(stats.fold((0, 0), |(user, system), stat| (user + stat.user, system + stat.system)))
}

/// What is known of a task of this process: all of them have the process's threads and memory.
///
/// # Safety
/// The count has a place, and `info` as many words as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn task_info(of: Name, flavor: c_int, info: *mut c_int, info_count: *mut u32) -> Return {
    // SAFETY: the caller's promise.
    let there = |there: &Mach| there.task_info(flavor, unsafe { room(info_count) }).map(Some);
    routine(|| {
        if let Some(answer) = ask::memory(of, |_| Ok(None), there)? {
            // SAFETY: the caller's promise.
            return unsafe { give_words(info, info_count, &answer) };
        }
        match flavor {
            TASK_BASIC_INFO => {
                let (user, system) = live_times()?;
                let all = Stat::of_process().ok_or(Code::FAILURE)?;
                let answer = TaskBasic {
                    suspend_count: suspend::count(None),
                    base_priority: all.priority,
                    virtual_size: all.mapped,
                    resident_size: all.resident * slipway_ports::pages::page_size() as u64,
                    // Of the threads that ended.
                    user_time: TimeValue::of_ticks(all.user.saturating_sub(user)),
                    system_time: TimeValue::of_ticks(all.system.saturating_sub(system)),
                    creation_time: TimeValue::of_start(all.start),
                };
                // SAFETY: the caller's promise.
                unsafe { give(info, info_count, answer) }
            }
            TASK_THREAD_TIMES_INFO => {
                let (user, system) = live_times()?;
                let answer = ThreadTimes { user_time: TimeValue::of_ticks(user), system_time: TimeValue::of_ticks(system) };
                // SAFETY: the caller's promise.
                unsafe { give(info, info_count, answer) }
            }
            _ => Err(Code::INVALID_ARGUMENT),
        }
    })
}

/// The process's threads, the library's own among them, in an array that is the caller's. Each has a user reference more.
///
/// # Safety
/// Each result has a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn task_threads(of: Name, threads: *mut *mut u32, threads_count: *mut u32) -> Return {
    routine(|| {
        // SAFETY: the caller's promise, for both.
        let (threads, threads_count) = unsafe { (Out::new(threads)?, Out::new(threads_count)?) };
        let current = Task::current();
        let there = |there: &Mach| Ok(there.task_threads()?.into_iter().map(ask::name_of).collect());
        let all: Vec<Name> =
            ask::memory(of, |_| current.thread_names(procfs::threads, procfs::has_ended, procfs::start_of), there)?;
        let given = count(all.len()).and_then(|n| Ok((array(&all)?, n)));
        // The program gets no name, so it can't be in the way.
        let (at, n) = given.inspect_err(|_| {
            for name in &all {
                let _ = current.deallocate(*name);
            }
        })?;
        threads.set(at);
        threads_count.set(n);
        Ok(())
    })
}

/// Writes a text to standard error.
///
/// # Safety
/// It is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_print(text: *const c_char) {
    if !text.is_null() {
        // SAFETY: the caller's promise.
        let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
        // There is nobody to tell that standard error is closed.
        let _ = std::io::stderr().write_all(bytes);
    }
}
