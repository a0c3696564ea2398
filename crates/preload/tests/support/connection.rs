//! X connections within one process: a listening socket, and connections to it.

use std::{ffi::c_int, mem::MaybeUninit, os::unix::ffi::OsStrExt, thread};

use libc::{AF_UNIX, SOCK_CLOEXEC, SOCK_STREAM, sockaddr_un, socklen_t};
use slipway_test_support::until;
use slipway_transport::{
    endpoint::Endpoint,
    status::{self, ServerStatus, StatusError, Transport},
};

use super::calls::{Fd, call, good, outcome};

/// The display numbers of these tests.
const DISPLAYS: std::ops::Range<u32> = 500..600;

/// A Unix socket's address and its length.
pub fn address(name: &[u8]) -> (sockaddr_un, socklen_t) {
    // SAFETY: an address of zeros is valid.
    let mut address = unsafe { MaybeUninit::<sockaddr_un>::zeroed().assume_init() };
    address.sun_family = AF_UNIX as _;
    for (to, from) in address.sun_path.iter_mut().zip(name) {
        *to = *from as _;
    }
    (address, (size_of::<libc::sa_family_t>() + name.len()) as socklen_t)
}

/// A new stream socket.
pub fn socket() -> Fd {
    good(call!(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))) as Fd
}

/// An X server's listening socket on the abstract name of a display that is free.
pub struct Server {
    pub display: u32,
    pub listener: Fd,
    pub name: Vec<u8>,
}

impl Server {
    /// Listens where the hooks notice.
    pub fn listen() -> Self {
        for display in DISPLAYS {
            let name = format!("\0/tmp/.X11-unix/X{display}").into_bytes();
            if let Some(listener) = listen(&name) {
                return Self { display, listener, name };
            }
        }
        panic!("no display of {DISPLAYS:?} is free");
    }

    /// Listens at a path or an abstract name, which the hooks care about if SLIPWAY_SOCKETS says so.
    pub fn listen_at(name: &[u8]) -> Self {
        Self { display: 0, listener: listen(name).expect("a name of our own"), name: name.to_vec() }
    }

    /// Listens where the hooks don't care.
    pub fn listen_elsewhere() -> Self {
        let name = format!("\0slipway-test-{}", std::process::id()).into_bytes();
        let listener = listen(&name).expect("a name of our own");
        Self { display: 0, listener, name }
    }

    /// A client's socket that is connected and not accepted yet.
    pub fn connect(&self) -> Fd {
        let client = socket();
        good(outcome(connect(client, &self.name)).value);
        client
    }

    /// Accepts a connection.
    pub fn accept(&self) -> Fd {
        good(call!(accept4(self.listener, std::ptr::null_mut(), std::ptr::null_mut(), SOCK_CLOEXEC))) as Fd
    }

    /// A connection that both ends know to be on the ring.
    pub fn connection(&self) -> Connection {
        let connection = self.fresh_connection();
        connection.exchange();
        assert_eq!(self.transports().last(), Some(&Transport::Ring), "the connection is on its socket");
        connection
    }

    /// What a connection over which bytes went uses.
    pub fn connection_over(&self) -> Transport {
        let connection = self.fresh_connection();
        connection.exchange();
        *self.transports().last().expect("one")
    }

    /// A connection over which nothing went yet.
    pub fn fresh_connection(&self) -> Connection {
        let client = self.connect();
        Connection { client, server: self.accept() }
    }

    /// What `slipway x11 status` would be told, by this server from within epoll_wait.
    pub fn status(&self) -> ServerStatus {
        let stop = good(call!(eventfd(0, libc::EFD_CLOEXEC))) as Fd;
        let set = good(call!(epoll_create1(libc::EPOLL_CLOEXEC))) as Fd;
        // Not its connections, only the wait in which the hub is served.
        watch(set, self.listener, 0, 0);
        watch(set, stop, libc::EPOLLIN as u32, 1);
        let server = thread::spawn(move || {
            let mut event = libc::epoll_event { events: 0, u64: 0 };
            while call!(epoll_wait(set, &raw mut event, 1, -1)) != 1 {}
        });
        let status = self.ask().expect("the status");
        super::calls::write_all(stop, &1u64.to_ne_bytes());
        server.join().expect("the server's thread");
        super::calls::close_all([set, stop]);
        status
    }

    /// What `slipway sockets status` would be told now.
    pub fn ask(&self) -> Result<ServerStatus, StatusError> {
        in_time(|| match self.name.split_first() {
            _ if self.display != 0 => status::query(self.display),
            Some((0, name)) => status::query_endpoint(&Endpoint::Abstract(name.to_vec())),
            _ => status::query_endpoint(&Endpoint::Path(std::ffi::OsStr::from_bytes(&self.name).into())),
        })
    }

    /// What each connection goes over, in the order of the server's list.
    pub fn transports(&self) -> Vec<Transport> {
        self.status().connections.iter().map(|c| c.transport).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        call!(close(self.listener));
    }
}

/// Asks a server again that does not answer in time: on a busy machine it may have had no turn.
pub fn in_time(ask: impl Fn() -> Result<ServerStatus, StatusError>) -> Result<ServerStatus, StatusError> {
    let mut said = ask();
    until("the server answers", || {
        let is_late = matches!(said, Err(StatusError::NoAnswer { .. }));
        if is_late {
            said = ask();
        }
        !is_late
    });
    said
}

/// Registers `fd` in an epoll set.
pub fn watch(set: Fd, fd: Fd, events: u32, data: u64) {
    let mut event = libc::epoll_event { events, u64: data };
    good(call!(epoll_ctl(set, libc::EPOLL_CTL_ADD, fd, &raw mut event)));
}

fn listen(name: &[u8]) -> Option<Fd> {
    let fd = socket();
    let (address, length) = address(name);
    let bound = call!(bind(fd, (&raw const address).cast(), length)) == 0;
    if !bound {
        call!(close(fd));
        return None;
    }
    good(call!(listen(fd, 64)));
    Some(fd)
}

/// connect(2) to a Unix socket of this name.
pub fn connect(fd: Fd, name: &[u8]) -> c_int {
    let (address, length) = address(name);
    call!(connect(fd, (&raw const address).cast(), length))
}

/// Both ends of a connection; closed when dropped.
#[derive(Debug)]
pub struct Connection {
    pub client: Fd,
    pub server: Fd,
}

impl Connection {
    /// A plain pair of sockets, where the hooks do nothing.
    pub fn plain() -> Self {
        let mut ends = [0; 2];
        good(call!(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.as_mut_ptr())));
        Self { client: ends[0], server: ends[1] }
    }

    /// The program waits for both ends by the hooks: for a moment.
    pub fn wait_for(&self) {
        [self.client, self.server].iter().for_each(|fd| _ = super::calls::ready(*fd, libc::POLLIN));
    }

    /// A byte each way, after which both ends have moved to the ring if they will.
    pub fn exchange(&self) {
        self.wait_for();
        for (from, to) in [(self.client, self.server), (self.server, self.client)] {
            super::calls::write_all(from, b"!");
            assert_eq!(super::calls::read_up_to(to, 1), b"!");
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        super::calls::close_all([self.client, self.server]);
    }
}
