//! LD_PRELOAD hooks that let unmodified X programs use a line in place of their socket.
//!
//! By families of calls: each keeps the C library's rules, and `slipway-transport` has the stream itself. A hook finds in the
//! [`table`] whether a descriptor is one of ours; if not, which is nearly always, it calls the real
//! function at once. On any doubt a connection goes back to its socket and the real function is called.
//!
//! What a call does on a stream, and how long it waits, is decided in `slipway-transport`; here are the C functions and their arguments.
//!
//! * [`real`]: the functions that the hooks stand before, and the shield against our own faults.
//! * [`table`]: which descriptors are streams, epoll sets, listening sockets.
//! * [`socket`]: names and options of sockets. * [`connect`]: connect and bind.
//! * [`listen`]: listen and accept. * [`bound`]: the file that a socket was bound to, until it listens.
//! * [`io`], [`message`]: read and write in all their forms.
//! * [`poll`], [`epoll`]: waiting.
//! * [`descriptor`]: close, dup, fcntl, ioctl, shutdown.
//! * [`raw`]: what programs call by its number. * [`filter`]: seccomp.
//! * [`room`]: descriptors for the program, when there are few.
//! * [`kernel`]: what the transport has this process do: the kernel's own waits, and signals.
//! * [`process`]: fork and exec, after which others may hold the connection. * [`linger`]: what is left to be sent of a closed one.
//! * [`rest`]: what is left to be read of one whose peer has gone.
//! * [`signals`]: whether a signal came while a wait looked, and when its handler may run. * [`allocator`]: no handler comes within it.
//! * [`timer`]: a server's interval timer, set lazily.

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("slipway-preload supports Linux on x86_64 and aarch64");

mod allocator;
mod bound;
mod connect;
mod descriptor;
mod epoll;
mod filter;
mod io;
mod kernel;
mod linger;
mod listen;
mod message;
mod poll;
mod process;
mod raw;
mod real;
mod rest;
mod room;
mod seat;
mod signals;
mod socket;
mod table;
mod timer;
