//! A connection in two processes, one of which is killed while it holds a lock of it; and one that was forked while another thread held some.
#![allow(unsafe_code, reason = "fork")]

use super::super::{
    pair::{self, Ends, FORKED},
    state::Change,
    *,
};
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, waitpid};
use std::{
    io::{IoSlice, IoSliceMut},
    os::fd::AsFd,
    sync::PoisonError,
};

/// Two ends, of which one is on the ring.
fn ends() -> Ends {
    let ends = pair::ends();
    assert_eq!(ends.send(b"first "), Ok(6));
    assert_eq!(ends.receive(), Ok(b"first ".to_vec()));
    assert!(ends.client.0.on_ring());
    ends
}

impl Ends {
    fn send(&self, what: &[u8]) -> Result<usize, Errno> {
        self.client.0.send(self.client.1.as_fd(), &[IoSlice::new(what)], &[])
    }

    fn receive(&self) -> Result<Vec<u8>, Errno> {
        let mut buffer = [0; 64];
        let to = &mut [IoSliceMut::new(&mut buffer)];
        let got = self.server.0.receive(self.server.1.as_fd(), to, How::default())?;
        Ok(buffer[..got.bytes].to_vec())
    }
}

/// Runs `work` in a child that is killed in the midst of it.
fn killed<T>(work: impl FnOnce() -> T) {
    let _guard = FORKED.write().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the child does nothing that needs another thread of its parent.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let _held = work();
        let _ = kill_process(getpid(), Signal::KILL);
    }
    let (_, status) = waitpid(Pid::from_raw(pid), WaitOptions::empty()).unwrap().unwrap();
    assert_eq!(status.terminating_signal(), Some(libc::SIGKILL));
}

#[test]
fn what_a_killed_writer_had_kept_is_shown() {
    let ends = ends();
    killed(|| {
        let (stream, _) = &ends.client;
        let guard = stream.lock_sending(None);
        let (ring, mut cursor) = (&stream.line().unwrap().tx, stream.state.tx.cursor());
        ring.free(&mut cursor, 9).unwrap();
        ring.fill(&mut cursor, b"child's, ").unwrap();
        stream.state.tx.keep(&cursor);
        // Filled in, and not kept: nobody will see it.
        ring.fill(&mut cursor, b"lost").unwrap();
        guard
    });
    assert_eq!(ends.send(b"parent's"), Ok(8));
    assert_eq!(ends.receive(), Ok(b"child's, parent's".to_vec()));
}

#[test]
fn what_a_killed_reader_had_kept_is_not_read_again() {
    let ends = ends();
    assert_eq!(ends.send(b"0123456789"), Ok(10));
    killed(|| {
        let (stream, _) = &ends.server;
        let guard = stream.lock_receiving(None);
        let mut cursor = stream.state.rx.cursor();
        stream.line().unwrap().rx.available(&mut cursor).unwrap();
        cursor.head += 4;
        stream.state.rx.keep(&cursor);
        guard
    });
    assert_eq!(ends.receive(), Ok(b"456789".to_vec()));
    let (_, mut cursor) = (ends.send(b"x"), ends.client.0.state.tx.cursor());
    assert_eq!(ends.client.0.line().unwrap().tx.unread(&mut cursor), Ok(1), "the writer has its space back");
}

#[test]
fn a_change_that_nobody_finishes_ends_the_connection() {
    let ends = ends();
    killed(|| (ends.client.0.lock_sending(None), Change::begin(&ends.client.0.state.tx.unfinished)));
    ends.client.0.sending_ended();
    assert_eq!(ends.send(b"more"), Err(Errno::PIPE));

    let ends = self::ends();
    killed(|| (ends.server.0.lock_receiving(None), Change::begin(&ends.server.0.state.rx.unfinished)));
    assert_eq!(ends.send(b"more"), Ok(4));
    assert_eq!(ends.receive(), Ok(Vec::new()));
    assert_eq!(ends.send(b""), Err(Errno::PIPE));
}

#[test]
fn a_connection_that_has_no_segment_stays_on_its_socket() {
    let (stream, socket, peer) = pair::quiet();
    killed(|| {
        let guard = stream.lock_receiving(None);
        (Change::begin(&stream.state.rx.unfinished), guard)
    });
    assert_eq!(rustix::io::write(&peer, b"good"), Ok(4));
    let mut buffer = [0; 8];
    let got = stream.receive(socket.as_fd(), &mut [IoSliceMut::new(&mut buffer)], How::default()).map(|got| got.bytes);
    assert_eq!((got, stream.is_plain()), (Ok(4), true));
}

/// Runs `work` in a child that was forked while another thread held `lock`; what it says.
fn forked_beside<T: Send>(lock: &ForkMutex<T>, work: impl FnOnce(&Forked) -> bool) {
    let ((holds, held), (go, wait)) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _guard = lock.lock();
            holds.send(()).unwrap();
            let _ = wait.recv();
        });
        held.recv().unwrap();
        let _go = go;
        let code = slipway_test_support::forked(|| {
            // SAFETY: no pointers; the child has the one thread.
            let child = unsafe {
                libc::alarm(60);
                Forked::new()
            };
            i32::from(!work(&child))
        });
        assert_eq!(code, 0);
    });
}

#[test]
fn a_child_waits_for_no_thread_of_its_parents() {
    let ends = ends();
    let (server, client) = (&ends.server.0, &ends.client.0);
    let goes_on = |child: &Forked| {
        server.after_fork(child);
        client.after_fork(child);
        // The bell, descriptors at their place, a line that never comes, and the sets that are to be told.
        server.attend();
        client.stay_plain();
        server.alert_sets();
        server.get_line(ends.server.1.as_fd(), 0);
        client.send(ends.client.1.as_fd(), &[IoSlice::new(b"x")], &[ends.client.1.as_fd()]) == Ok(1)
    };
    server.before_fork();
    client.before_fork();
    forked_beside(&server.mail, goes_on);
    forked_beside(&client.mail, goes_on);
    forked_beside(&server.sets, goes_on);
    forked_beside(&server.prospect, goes_on);
    forked_beside(&client.prospect, goes_on);
}

#[test]
fn a_signal_handler_may_fork_in_the_midst_of_a_call() {
    let (stream, _socket, _peer) = pair::quiet();
    let client = ends().client.0;
    client.state.common.phase.store(phase::OFFERED, Relaxed);
    for stream in [&stream, &client] {
        let _interrupted = (stream.mail.lock(), stream.sets.lock(), stream.prospect.lock());
        let code = slipway_test_support::forked(|| {
            // SAFETY: no pointers.
            unsafe { libc::alarm(60) };
            stream.before_fork();
            0
        });
        assert_eq!(code, 0);
    }
}
