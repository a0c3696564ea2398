//! The C face of Mach IPC: the functions behind `include/mach/*.h`, `include/servers/*.h` and `include/cthreads.h`.
//!
//! Each function is thin: it checks what C passed, calls [`slipway_ports`], and turns the outcome into a return code. What
//! they share is in [`call`]: null pointers, tasks by name, and the boundary that no panic crosses.
//!
//! * [`message`]: `mach_msg`; [`buffer`]: the memory that it is given; [`destroy`]: `mach_msg_destroy`;
//!   [`server`]: `mach_msg_server`.
//! * [`names`], [`rights`], [`transfer`], [`attributes`]: `mach_port_*`. * [`task`]: a task's own and special ports; [`tasks`]: those of other processes. * [`memory`], [`mach_vm`]: `vm_*`. * [`semaphore`], [`gsync`]: waiting for each other. * [`kernel`]: the host, threads, times.
//! * [`bootstrap`], [`netname`]: services by name. * [`mig`]: what generated stubs call. * [`error`]: texts for codes. * [`pollable`]: what is not Mach's.
//! * [`cthreads`]: C Threads. * [`trap`]: calls in place of messages.
//! * [`darwin`]: Darwin's dialect; `face`: what differs between the dialects.
//! * [`domain`]: for the host of several tasks. * [`rust`]: for `slipway-mach`.

pub mod attributes;
pub mod bootstrap;
pub mod buffer;
pub mod call;
pub mod cthreads;
pub mod darwin;
pub mod destroy;
pub mod domain;
pub mod error;
pub mod exceptions;
mod face;
pub mod gsync;
pub mod kernel;
pub mod mach_vm;
pub mod memory;
pub mod message;
pub mod mig;
pub mod names;
pub mod netname;
pub mod pollable;
mod procfs;
pub mod rights;
pub mod rust;
pub mod semaphore;
pub mod server;
mod suspend;
pub mod task;
pub mod tasks;
pub mod thread;
pub mod transfer;
pub mod trap;
