//! Darwin's names for libmach's functions of Darwin's dialect. A program has this library in front of libmach.so, which has all functions that are the same in both
//! dialects, and what these call.
#![allow(unsafe_code, reason = "functions that C calls, and that another library has")]
#![allow(missing_docs, reason = "libmach and include/darwin have them")]

use std::ffi::{c_char, c_int, c_void};

/// A name of a port, `mach_port_t`.
pub type Name = u32;
/// `kern_return_t`.
pub type Return = c_int;
/// A message.
pub type Message = c_void;
/// What makes a server's replies. It may unwind, as `pthread_exit` does.
pub type Demux = unsafe extern "C-unwind" fn(*mut Message, *mut Message) -> c_int;

/// `mach_timespec_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Time {
    /// Seconds.
    pub seconds: u32,
    /// Nanoseconds, below a second.
    pub nanoseconds: c_int,
}

macro_rules! names {
    ($($abi:literal fn $name:ident = $function:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        $(
            unsafe extern $abi {
                fn $function($($argument: $type),*) $(-> $result)?;
            }

            /// # Safety
            /// As for the function in libmach.
            #[unsafe(no_mangle)]
            pub unsafe extern $abi fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: the caller's promise.
                unsafe { $function($($argument),*) }
            }
        )*
    };
}

names! {
    "C" fn mach_msg = slipway_darwin_msg(
        msg: *mut Message, option: c_int, send_size: u32, rcv_size: u32, rcv_name: Name, timeout: u32, notify: Name,
    ) -> Return;
    "C" fn mach_msg_overwrite = slipway_darwin_msg_overwrite(
        msg: *mut Message, option: c_int, send_size: u32, rcv_size: u32, rcv_name: Name, timeout: u32, notify: Name,
        rcv_msg: *mut Message, rcv_limit: u32,
    ) -> Return;
    "C" fn mach_msg_send = slipway_darwin_msg_send(msg: *mut Message) -> Return;
    "C" fn mach_msg_receive = slipway_darwin_msg_receive(msg: *mut Message) -> Return;
    "C" fn mach_msg_destroy = slipway_darwin_msg_destroy(msg: *mut Message);
    "C-unwind" fn mach_msg_server = slipway_darwin_msg_server(
        demux: Option<Demux>, max_size: u32, rcv_name: Name, options: c_int,
    ) -> Return;
    "C-unwind" fn mach_msg_server_once = slipway_darwin_msg_server_once(
        demux: Option<Demux>, max_size: u32, rcv_name: Name, options: c_int,
    ) -> Return;
    "C" fn mach_port_get_attributes = slipway_darwin_port_get_attributes(
        of: Name, name: Name, flavor: c_int, info: *mut c_int, info_count: *mut u32,
    ) -> Return;
    "C" fn vm_remap = slipway_darwin_vm_remap(
        of: Name, address: *mut usize, size: usize, mask: usize, flags: c_int, source_task: Name, source: usize, copy: c_int,
        cur_protection: *mut c_int, max_protection: *mut c_int, inheritance: c_int,
    ) -> Return;
    "C" fn task_set_exception_ports = slipway_darwin_task_set_exception_ports(
        of: Name, mask: u32, port: Name, behavior: u32, flavor: c_int,
    ) -> Return;
    "C" fn task_swap_exception_ports = slipway_darwin_task_swap_exception_ports(
        of: Name, mask: u32, port: Name, behavior: u32, flavor: c_int, masks: *mut u32, count: *mut u32, ports: *mut Name,
        behaviors: *mut u32, flavors: *mut c_int,
    ) -> Return;
    "C" fn thread_set_exception_ports = slipway_darwin_thread_set_exception_ports(
        of: Name, mask: u32, port: Name, behavior: u32, flavor: c_int,
    ) -> Return;
    "C" fn thread_swap_exception_ports = slipway_darwin_thread_swap_exception_ports(
        of: Name, mask: u32, port: Name, behavior: u32, flavor: c_int, masks: *mut u32, count: *mut u32, ports: *mut Name,
        behaviors: *mut u32, flavors: *mut c_int,
    ) -> Return;
    "C" fn mach_error_string = slipway_darwin_error_string(code: Return) -> *mut c_char;
    "C" fn mach_error = slipway_darwin_error(before: *const c_char, code: Return);
    "C" fn semaphore_signal = slipway_darwin_semaphore_signal(semaphore: Name) -> Return;
    "C" fn semaphore_signal_all = slipway_darwin_semaphore_signal_all(semaphore: Name) -> Return;
    "C" fn semaphore_wait = slipway_darwin_semaphore_wait(semaphore: Name) -> Return;
    "C" fn semaphore_timedwait = slipway_darwin_semaphore_timedwait(semaphore: Name, time: Time) -> Return;
    "C" fn semaphore_wait_signal = slipway_darwin_semaphore_wait_signal(wait: Name, signal: Name) -> Return;
    "C" fn semaphore_timedwait_signal = slipway_darwin_semaphore_timedwait_signal(wait: Name, signal: Name, time: Time) -> Return;
    "C" fn mig_strncpy = slipway_darwin_strncpy(destination: *mut c_char, source: *const c_char, len: c_int) -> c_int;
    "C" fn mig_strncpy_zerofill = slipway_darwin_strncpy_zerofill(
        destination: *mut c_char, source: *const c_char, len: c_int,
    ) -> c_int;
}

/// As [`vm_remap`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mach_vm_remap(
    of: Name,
    address: *mut usize,
    size: usize,
    mask: usize,
    flags: c_int,
    source_task: Name,
    source: usize,
    copy: c_int,
    cur_protection: *mut c_int,
    max_protection: *mut c_int,
    inheritance: c_int,
) -> Return {
    let (current, most) = (cur_protection, max_protection);
    // SAFETY: the caller's promise.
    unsafe { vm_remap(of, address, size, mask, flags, source_task, source, copy, current, most, inheritance) }
}

/// `NDR_record`: how this machine has numbers, texts and floating point; the integers' bytes begin with the lowest.
#[allow(non_upper_case_globals, reason = "the name that C programs know")]
#[unsafe(no_mangle)]
pub static NDR_record: [u8; 8] = [0, 0, 0, 0, 1, 0, 0, 0];
