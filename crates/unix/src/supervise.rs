//! The server's process: it starts the command in the net, answers its calls, and reports how it ended. It goes on while anything
//! that the command started is there.

use crate::{
    calls::{Answer, Reply, Server},
    filter,
    launch::{Report, Started},
    sys::{self, Ended, Notification},
    tasks::open_thread,
};
use rustix::{
    event::{EventfdFlags, epoll, eventfd},
    fd::{AsFd, BorrowedFd, OwnedFd},
    fs::Mode,
    io::Errno,
    process::{Pid, Signal, kill_process},
};
use slipway_emulator::loader::Look;
use std::{
    ffi::OsStr,
    fs::File,
    io::{Read, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

/// What an event is of.
const LISTENER: u64 = 0;
const SIGNALS: u64 = 1;
const FRONT: u64 = 2;
const AGAIN: u64 = 3;
/// The end of a thread that a thread of the server's waits for, and that one's number.
const CALLER: u64 = 1 << 32;

struct Supervisor {
    server: Server,
    /// The server's thread waits for a call, or is about to: nothing else of it is to be interrupted.
    waits: Arc<Mutex<bool>>,
    listener: Arc<OwnedFd>,
    events: Arc<OwnedFd>,
    /// Processes that ended, by number. Nothing waits for these: they are looked at before a call is answered.
    ends: OwnedFd,
    /// Calls that a thread has waited for, to be looked at again; and what tells that there are some.
    again: Receiver<(Notification, OwnedFd)>,
    to_again: Sender<(Notification, OwnedFd)>,
    has_again: Arc<OwnedFd>,
    signals: OwnedFd,
    /// The process that the user started, which waits for reports.
    front: File,
    /// The command, until it has ended.
    command: Option<Pid>,
    /// Where it says that it could not be executed.
    failure: File,
    /// Where what was looked at is written.
    record: Option<PathBuf>,
    is_saved: bool,
}

/// Starts the program and serves it to the end. `front` gets the reports.
pub(crate) fn supervise(
    mut server: Server,
    program: &Started<'_>,
    kernel_dir: &Path,
    record: Option<&Path>,
    front: File,
) -> Result<(), Errno> {
    let old = rustix::process::umask(Mode::empty());
    server.tasks.start_with(old.as_raw_mode());
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    // In the kernel's working directory of the command, a path over /proc/self/cwd leads the server where it leads the command.
    rustix::process::chdir(kernel_dir)?;
    let (to_command, from_command) = std::os::unix::net::UnixStream::pair().map_err(|_| Errno::MFILE)?;
    let (failure, tell_failure) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let place = server.in_path(program.program.name);
    let Some(command) = sys::fork()? else {
        rustix::process::umask(old);
        become_command(program, place.as_deref(), server.loader.look, &from_command, tell_failure.into());
    };
    drop((from_command, tell_failure));
    // The command has the limit that it was started with.
    sys::raise_descriptors();
    // Who reads what the command writes sees its end with the command's.
    if let Ok(null) = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC, Mode::empty()) {
        let _ = rustix::stdio::dup2_stdin(&null).and_then(|()| rustix::stdio::dup2_stdout(&null));
        let _ = rustix::stdio::dup2_stderr(&null);
    }
    let mut failure = File::from(failure);
    let Ok(listener) = receive_fd(&to_command) else {
        let mut code = [0; 4];
        let _ = failure.read_exact(&mut code);
        return tell(&front, &Report::NoNet(i32::from_ne_bytes(code)));
    };
    sys::switch_at_once(listener.as_fd());
    let events = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let signals = sys::signals()?;
    epoll::add(&events, &signals, epoll::EventData::new_u64(SIGNALS), epoll::EventFlags::IN)?;
    let has_again = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    epoll::add(&events, &has_again, epoll::EventData::new_u64(AGAIN), epoll::EventFlags::IN)?;
    let (to_again, again) = channel();
    // Of these only the end is an event.
    for (fd, which) in [(listener.as_fd(), LISTENER), (front.as_fd(), FRONT)] {
        epoll::add(&events, fd, epoll::EventData::new_u64(which), epoll::EventFlags::empty())?;
    }
    let supervisor = Supervisor {
        server,
        waits: Arc::default(),
        listener: Arc::new(listener),
        events: Arc::new(events),
        ends: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        again,
        to_again,
        has_again: Arc::new(has_again),
        signals,
        front,
        command: Some(command),
        failure,
        record: record.map(Path::to_owned),
        is_saved: false,
    };
    supervisor.serve(command)
}

/// The command's process: into the net, then the program, which should be at that place.
fn become_command(
    program: &Started<'_>,
    place: Option<&OsStr>,
    look: Option<Look>,
    to: &std::os::unix::net::UnixStream,
    mut failure: File,
) -> ! {
    let run = || -> std::io::Error {
        let prepared = (|| {
            program.program.file_limit.restore();
            // Without the server nothing is safe.
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            rustix::thread::set_no_new_privs(true)?;
            if program.program.contain {
                sys::confine()?;
            }
            let listener = sys::install_filter(&filter::filter(program.program.network, program.program.contain, look))?;
            let listeners = [listener.as_fd()];
            let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut message = rustix::net::SendAncillaryBuffer::new(&mut space);
            message.push(rustix::net::SendAncillaryMessage::ScmRights(&listeners));
            rustix::net::sendmsg(to, &[std::io::IoSlice::new(b"n")], &mut message, rustix::net::SendFlags::empty())
        })();
        match prepared {
            Err(error) => error.into(),
            Ok(_) => {
                sys::mask_signals(Some(&program.signals));
                let exec =
                    |place: &OsStr| process::Command::new(place).arg0(program.program.name).args(program.program.args).exec();
                place.into_iter().for_each(|place| drop(exec(place)));
                // Where that can't be executed, another directory may have one that can.
                exec(program.program.name)
            }
        }
    };
    let error = run();
    let code = error.raw_os_error().unwrap_or(libc::EIO);
    let _ = failure.write_all(&code.to_ne_bytes());
    process::exit(126)
}

fn receive_fd(from: &std::os::unix::net::UnixStream) -> Result<OwnedFd, Errno> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = rustix::net::RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut parts = [std::io::IoSliceMut::new(&mut byte)];
    rustix::net::recvmsg(from, &mut parts, &mut message, rustix::net::RecvFlags::CMSG_CLOEXEC)?;
    let fds = message.drain().find_map(|message| match message {
        rustix::net::RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    fds.ok_or(Errno::PERM)
}

fn tell(mut front: &File, report: &Report) -> Result<(), Errno> {
    let mut line = serde_json::to_vec(report).map_err(|_| Errno::IO)?;
    line.push(b'\n');
    front.write_all(&line).map_err(|_| Errno::PIPE)
}

impl Supervisor {
    fn serve(mut self, command: Pid) -> Result<(), Errno> {
        self.report(&Report::Started(command.as_raw_nonzero().get()));
        let events = watch(Arc::clone(&self.events), Arc::clone(&self.waits));
        let (events, done) = events.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::AGAIN))?;
        let mut is_empty = false;
        loop {
            // Where there are no more calls, an event is all that can come.
            let mut batch = if is_empty { events.recv().ok() } else { events.try_recv().ok() };
            while let Some(numbers) = batch.take() {
                numbers.into_iter().for_each(|number| is_empty |= self.happened(number));
                let _ = done.send(());
                batch = events.try_recv().ok();
            }
            if self.command.is_none() && (is_empty || !sys::has_children()) {
                self.save();
                return Ok(());
            }
            if !is_empty {
                self.answer_next();
            }
        }
    }

    /// Takes an event: whether all have left the net. The command's end may not have been told then.
    fn happened(&mut self, number: u64) -> bool {
        match number {
            LISTENER => {
                let _ = epoll::delete(&self.events, &self.listener);
                return true;
            }
            SIGNALS => {
                while sys::next_signal(&self.signals).is_some() {}
                self.reap();
            }
            FRONT => self.end_command(),
            AGAIN => self.answer_again(),
            // Again and again, until it is out of the call: it may have been just about to make it.
            waiter => Pid::from_raw(waiter as i32).into_iter().for_each(sys::interrupt),
        }
        false
    }

    /// Forgets what has ended. Its number is another's only after that.
    fn forget_ended(&mut self) {
        const NOW: rustix::event::Timespec = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut space = [std::mem::MaybeUninit::uninit(); 16];
        while let Ok((ended, _)) = epoll::wait(&self.ends, &mut space, Some(&NOW))
            && !ended.is_empty()
        {
            let pids: Vec<u32> = ended.iter().map(|event| event.data.u64() as u32).collect();
            pids.into_iter().for_each(|pid| self.ended(pid));
        }
    }

    /// The process that the user started was killed: so is the command.
    fn end_command(&mut self) {
        let _ = epoll::delete(&self.events, &self.front);
        if let Some(command) = self.command {
            let _ = kill_process(command, Signal::KILL);
        }
    }

    fn ended(&mut self, pid: u32) {
        self.server.tasks.remove(pid);
        self.server.listings.forget(pid);
        self.server.execs.forget(pid);
    }

    /// Notes which children ended.
    fn reap(&mut self) {
        let mut ended = None;
        while let Some((pid, how)) = sys::wait_any() {
            let is_command = self.command.is_some_and(|command| command.as_raw_nonzero().get() as u32 == pid);
            match (how, is_command) {
                (Ended::Stopped, true) => self.report(&Report::Stopped),
                (Ended::Stopped, false) => {}
                (how, is_command) => {
                    self.ended(pid);
                    if is_command {
                        self.command = None;
                        self.save();
                        ended = Some(how);
                    }
                }
            }
        }
        if let Some(how) = ended {
            self.report_end(how);
            if sys::has_children() {
                self.report(&Report::Background);
            }
        }
    }

    fn report_end(&mut self, how: Ended) {
        let mut code = [0; 4];
        let failed = self.failure.read_exact(&mut code).is_ok();
        self.report(&match how {
            _ if failed => Report::NotRun(i32::from_ne_bytes(code)),
            Ended::Signal(signal) => Report::Signal(signal),
            Ended::Exit(code) => Report::Exit(code),
            Ended::Stopped => Report::Stopped,
        });
    }

    fn report(&mut self, report: &Report) {
        // Nobody there is told of by an event.
        let _ = tell(&self.front, report);
    }

    /// Adds what was looked at to what earlier commands in the layer did, and this one before.
    fn save(&mut self) {
        let Some(path) = &self.record else { return };
        let mut record = std::mem::take(&mut self.server.record);
        if let Some(index) = &mut self.server.index {
            index.drain(&self.server.view, &mut record);
        }
        if std::mem::replace(&mut self.is_saved, true) && record.is_empty() {
            return;
        }
        if let Ok(text) = std::fs::read(path)
            && let Ok(earlier) = serde_json::from_slice(&text)
        {
            record.add(earlier);
        }
        let beside = path.with_extension("new");
        let written = serde_json::to_vec(&record).map_err(std::io::Error::other).and_then(|text| std::fs::write(&beside, text));
        let _ = written.and_then(|()| std::fs::rename(&beside, path));
    }

    fn set_waiting(&self, waits: bool) {
        *self.waits.lock().unwrap_or_else(PoisonError::into_inner) = waits;
    }

    /// Waits for a call, or until an event interrupts that.
    fn answer_next(&mut self) {
        self.set_waiting(true);
        let call = sys::receive(self.listener.as_fd());
        self.set_waiting(false);
        let Ok(call) = call else { return };
        self.answer(&call);
    }

    /// Answers those that have waited and are there still.
    fn answer_again(&mut self) {
        let _ = rustix::io::read(&self.has_again, &mut [0; 8]);
        while let Ok((call, _held)) = self.again.try_recv() {
            if sys::is_waiting(self.listener.as_fd(), call.id) {
                self.answer(&call);
            }
        }
    }

    fn answer(&mut self, call: &Notification) {
        self.forget_ended();
        let reply = self.server.answer(call);
        for pid in std::mem::take(&mut self.server.tasks.entered) {
            if let Some(process) = self.server.tasks.get(pid) {
                let _ = epoll::add(&self.ends, &process.pidfd, epoll::EventData::new_u64(pid.into()), epoll::EventFlags::IN);
            }
        }
        match reply {
            Ok(Answer::Later(later)) => self.make_later(call, later),
            reply => respond(self.listener.as_fd(), call.id, reply),
        }
    }

    /// Has a thread make a call that may wait, as long as its caller is there: it would take the other end of a FIFO from those that are.
    fn make_later(&self, call: &Notification, later: Box<dyn Fn() -> Reply + Send>) {
        let (listener, events, id) = (Arc::clone(&self.listener), Arc::clone(&self.events), call.id);
        let (call, to_again, has_again) = (*call, self.to_again.clone(), Arc::clone(&self.has_again));
        let of_process = || self.server.tasks.process_of(call.tid)?.pidfd.try_clone().ok();
        let caller = open_thread(call.tid).ok().or_else(of_process);
        let made = thread::Builder::new().spawn(move || {
            let number = epoll::EventData::new_u64(CALLER | rustix::thread::gettid().as_raw_nonzero().get() as u64);
            let _ = caller.as_ref().map(|caller| epoll::add(&events, caller, number, epoll::EventFlags::IN));
            let reply = loop {
                match later() {
                    Err(Errno::INTR) if sys::is_waiting(listener.as_fd(), id) => {}
                    reply => break reply,
                }
            };
            let _ = caller.as_ref().map(|caller| epoll::delete(&events, caller));
            match reply {
                Ok(Answer::Again(held)) => {
                    let _ = to_again.send((call, held));
                    let _ = rustix::io::write(&has_again, &1_u64.to_ne_bytes());
                }
                reply => respond(listener.as_fd(), id, reply),
            }
        });
        // A limit on processes must not end the server.
        if let Err(error) = made {
            sys::respond(self.listener.as_fd(), id, Err(Errno::from_io_error(&error).unwrap_or(Errno::AGAIN)));
        }
    }
}

/// Starts a thread that waits for every event but calls. It interrupts this thread if an event can't wait, and goes on when this one has handled it.
/// So this one can wait for calls alone: the kernel then wakes it on the core of the caller, which waits for it.
fn watch(events: Arc<OwnedFd>, waits: Arc<Mutex<bool>>) -> std::io::Result<(Receiver<Vec<u64>>, Sender<()>)> {
    let ((send, receive), (done, is_done)) = (channel(), channel());
    let server = rustix::thread::gettid();
    thread::Builder::new().spawn(move || {
        loop {
            let mut space = Vec::with_capacity(64);
            while matches!(epoll::wait(&events, rustix::buffer::spare_capacity(&mut space), None), Err(Errno::INTR)) {}
            let numbers: Vec<u64> = space.iter().map(|event| event.data.u64()).collect();
            if send.send(numbers).is_err() {
                return;
            }
            // Where one thread runs at a time, each look takes that one's.
            let mut patience = Duration::from_micros(50);
            loop {
                if *waits.lock().unwrap_or_else(PoisonError::into_inner) {
                    sys::interrupt(server);
                }
                // It may have been just about to wait.
                match is_done.recv_timeout(patience) {
                    Err(RecvTimeoutError::Timeout) => patience = (2 * patience).min(Duration::from_millis(10)),
                    Err(RecvTimeoutError::Disconnected) => return,
                    Ok(()) => break,
                }
            }
        }
    })?;
    sys::be_interruptible();
    Ok((receive, done))
}

fn give(listener: BorrowedFd<'_>, id: u64, given: BorrowedFd<'_>, cloexec: bool) {
    if let Err(error) = sys::give(listener, id, given, cloexec) {
        sys::respond(listener, id, Err(error));
    }
}

fn respond(fd: BorrowedFd<'_>, id: u64, reply: Reply) {
    match reply {
        Ok(Answer::Value(value)) => sys::respond(fd, id, Ok(value)),
        Err(error) => sys::respond(fd, id, Err(error)),
        Ok(Answer::Continue) => sys::carry_on(fd, id),
        Ok(Answer::ContinueThen(then)) => {
            sys::carry_on(fd, id);
            then();
        }
        Ok(Answer::Fd(given, cloexec)) => give(fd, id, given.as_fd(), cloexec),
        Ok(Answer::Shared(given)) => give(fd, id, given.as_fd(), true),
        // A thread makes one call.
        Ok(Answer::Later(_) | Answer::Again(_)) => sys::respond(fd, id, Err(Errno::IO)),
    }
}
