//! What the processes of these tests do: a server that echoes, and clients that are in the midst of
//! something when they die. They use plain socket calls; the hooks are preloaded.

use libc::{EPOLLET, EPOLLIN, EPOLLOUT, c_int, epoll_event};
use std::{
    collections::HashMap,
    io::{BufRead, ErrorKind, Read, Write},
    os::{
        fd::{AsRawFd, RawFd},
        unix::net::{UnixListener, UnixStream},
    },
};

/// Tells the test something, apart from what the test harness prints.
fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "\n@ {what}").and_then(|()| out.flush());
}

pub fn play(role: &str, display: u32) {
    let path = format!("/tmp/.X11-unix/X{display}");
    if role == "server" {
        return serve(&path);
    }
    let mut connection = UnixStream::connect(&path).expect("the server listens");
    match role {
        // Not a byte: the server's end of the ring stays unopened.
        "connected" => {
            say("there");
            end_of(&mut connection);
        }
        "sleeper" => {
            for n in 0..20 {
                round_trip(&mut connection, 100 * n + 1).expect("echo");
            }
            say("there");
            end_of(&mut connection);
        }
        "talker" => talk(&mut connection),
        "glutton" => stuff(&mut connection),
        "good" => {
            // The first may go over the socket, before the server's grant is there.
            for _ in 0..3 {
                round_trip(&mut connection, 1000).expect("echo");
            }
            say("there");
            for line in std::io::stdin().lock().lines() {
                let rounds: usize = line.expect("a line").parse().expect("a number");
                for n in 0..rounds {
                    round_trip(&mut connection, 50 * n % 9000 + 1).expect("echo");
                }
                say("done");
            }
        }
        "dripper" => {
            round_trip(&mut connection, 1000).expect("echo");
            say("there");
            for line in std::io::stdin().lock().lines() {
                let count: usize = line.expect("a line").parse().expect("a number");
                for _ in 0..count {
                    connection.write_all(b"x").expect("room");
                }
                say("done");
                connection.read_exact(&mut vec![0; count]).expect("echo");
                say("echoed");
                round_trip(&mut connection, 1).expect("echo");
                say("again");
            }
        }
        other => panic!("no role {other}"),
    }
}

/// Waits for the end and says how it came.
fn end_of(connection: &mut UnixStream) {
    let mut buffer = [0; 4096];
    let how = loop {
        match connection.read(&mut buffer) {
            Ok(0) => break "end".to_owned(),
            Ok(_) => {}
            Err(error) => break format!("{:?}", error.kind()),
        }
    };
    say(&format!("over {how}"));
}

fn round_trip(connection: &mut UnixStream, n: usize) -> std::io::Result<()> {
    let said: Vec<u8> = (0..n).map(|i| (i * 7 + n) as u8).collect();
    connection.write_all(&said)?;
    let mut heard = vec![0; n];
    connection.read_exact(&mut heard)?;
    assert_eq!(heard, said);
    Ok(())
}

/// One round trip after the other until the server is gone.
fn talk(connection: &mut UnixStream) {
    let mut n = 0;
    let error = loop {
        if n == 50 {
            say("there");
        }
        n += 1;
        if let Err(error) = round_trip(connection, 37 * n % 20_000 + 1) {
            break error;
        }
    };
    say(&format!("over {:?}", error.kind()));
}

/// Sends all that goes and reads nothing, until both directions are full.
fn stuff(connection: &mut UnixStream) {
    let block = [b'x'; 16 << 10];
    // The ring is in use before it is filled.
    for _ in 0..3 {
        round_trip(connection, 1000).expect("echo");
    }
    connection.set_nonblocking(true).expect("a socket");
    let mut refused = 0;
    while refused < 1000 {
        match connection.write(&block) {
            Ok(_) => refused = 0,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                refused += 1;
                std::thread::yield_now();
            }
            Err(error) => panic!("{error}"),
        }
    }
    say("there");
    connection.set_nonblocking(false).expect("a socket");
    let error = loop {
        if let Err(error) = connection.write_all(&block) {
            break error;
        }
    };
    say(&format!("over {:?}", error.kind()));
}

struct Client {
    connection: UnixStream,
    pending: Vec<u8>,
}

/// Echoes in one thread, edge-triggered, as an X server waits; says when a client is gone; ends with
/// its standard input.
fn serve(path: &str) {
    let _ = std::fs::remove_file(path);
    let listener = UnixListener::bind(path).expect("bind");
    listener.set_nonblocking(true).expect("a socket");
    // SAFETY: no pointers.
    let epfd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    assert!(epfd >= 0);
    watch(epfd, listener.as_raw_fd(), EPOLLIN as u32);
    watch(epfd, 0, EPOLLIN as u32);
    let mut clients: HashMap<RawFd, Client> = HashMap::new();
    say("there");
    loop {
        let mut events = [epoll_event { events: 0, u64: 0 }; 32];
        // SAFETY: the array has as many entries.
        let n = unsafe { libc::epoll_wait(epfd, events.as_mut_ptr(), events.len() as c_int, -1) };
        for event in events.iter().take(usize::try_from(n).unwrap_or(0)) {
            let fd = event.u64 as RawFd;
            if fd == 0 {
                let _ = std::fs::remove_file(path);
                return;
            }
            if fd == listener.as_raw_fd() {
                while let Ok((connection, _)) = listener.accept() {
                    connection.set_nonblocking(true).expect("a socket");
                    let fd = connection.as_raw_fd();
                    watch(epfd, fd, (EPOLLIN | EPOLLOUT | EPOLLET) as u32);
                    clients.insert(fd, Client { connection, pending: Vec::new() });
                }
            } else if clients.get_mut(&fd).is_some_and(|client| !client.echo()) {
                clients.remove(&fd);
                say("gone");
            }
        }
    }
}

fn watch(epfd: RawFd, fd: RawFd, events: u32) {
    let mut event = epoll_event { events, u64: fd as u64 };
    // SAFETY: the event outlives the call.
    assert_eq!(unsafe { libc::epoll_ctl(epfd, libc::EPOLL_CTL_ADD, fd, &raw mut event) }, 0);
}

impl Client {
    /// Echoes what is there; false if the client is gone.
    fn echo(&mut self) -> bool {
        let mut buffer = [0; 16 << 10];
        loop {
            while !self.pending.is_empty() {
                match self.connection.write(&self.pending) {
                    Ok(n) => drop(self.pending.drain(..n)),
                    Err(error) => return error.kind() == ErrorKind::WouldBlock,
                }
            }
            match self.connection.read(&mut buffer) {
                Ok(0) => return false,
                Ok(n) => self.pending.extend_from_slice(&buffer[..n]),
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }
}
