//! Processes as the subject: the same sequences, each task in a process of its own, and the whole of I/O between them.
//!
//! One thing is done at a time, and the next when every process sees what the rules say. What they see comes about a
//! moment later elsewhere; they are asked until it has.

use crate::{
    ops::{self, Act, Outcome},
    player::{self, Answer, Command},
    rules::{Check, Model},
    step,
    support::{self, Msg},
};
use proptest::{
    collection::vec,
    test_runner::{TestCaseError, TestRunner},
};
use slipway_ports::abi::{self, Code, types};
use std::{
    cell::RefCell,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    process::Child,
    time::{Duration, Instant},
};

const TASKS: usize = crate::TASKS;
const TEST: &str = "processes::any_sequence_follows_the_rules_between_processes";
/// Lives, if PROPTEST_CASES doesn't say otherwise. MODEL_STEPS and MODEL_SHRINK (seconds) help to find small failures;
/// MODEL_ACTS is a file with the acts of one, as they are printed, to be done again.
const CASES: u32 = 20;
/// How long what must come about may take; and when a failure is being made smaller.
const PATIENCE: Duration = Duration::from_secs(60);
const LITTLE_PATIENCE: Duration = Duration::from_millis(700);
/// Payloads are the number of the port in the model and this.
const PAYLOAD: u64 = 1 << 40;

/// A process with a task.
struct Player {
    process: Child,
    socket: BufReader<UnixStream>,
    /// The starter's right to its carrier's port.
    port: u32,
}

impl Player {
    fn start() -> Self {
        let place = tempfile::tempdir().expect("a directory");
        let path = place.path().join("commands");
        let listener = UnixListener::bind(&path).expect("a socket");
        let hello = support::receive_right();
        let process = support::start(TEST, path.to_str().expect("a path"), hello);
        let port = support::receive(hello).reply();
        let (socket, _) = listener.accept().expect("the process that was started");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        Self { process, socket: BufReader::new(socket), port }
    }

    fn tell(&mut self, command: &Command) -> Check {
        let mut text = serde_json::to_string(command).map_err(|error| error.to_string())?;
        text.push('\n');
        self.socket.get_mut().write_all(text.as_bytes()).map_err(|error| format!("process {}: {error}", self.process.id()))
    }

    fn register(&mut self) -> Check<Answer> {
        let mut text = String::new();
        self.socket.read_line(&mut text).map_err(|error| format!("process {} does not answer: {error}", self.process.id()))?;
        serde_json::from_str(&text).map_err(|error| format!("process {} answers {text:?}: {error}", self.process.id()))
    }

    fn ask(&mut self, command: &Command) -> Check<Answer> {
        self.tell(command)?;
        self.register()
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A task in each process.
struct Processes(Vec<Player>);

impl Processes {
    fn start() -> Self {
        let players: Vec<Player> = (0..TASKS).map(|_| Player::start()).collect();
        for player in &players {
            let mut msg = Msg::new(1, (player.port, types::COPY_SEND), (0, 0));
            for other in &players {
                msg = msg.ports(types::COPY_SEND, &[other.port]);
            }
            assert_eq!(support::send(&msg), Code::SUCCESS);
        }
        Self(players)
    }

    fn act(&mut self, model: &Model, task: usize, act: &Act) -> Check<Outcome> {
        let act = match act {
            Act::Insert { into, at, right } if *into != task => return self.carry(task, *into, Some(*at), *right),
            Act::Extract { from, right } if *from != task => {
                // The routine knows wrong dispositions for every name.
                let known = (types::MOVE_RECEIVE..=types::MAKE_SEND_ONCE).contains(&right.1);
                if !known || matches!(right.0, abi::NULL | abi::DEAD) {
                    let code = if known { Code::INVALID_NAME } else { Code::INVALID_VALUE };
                    return Ok(Outcome::of(Err(code)));
                }
                return self.carry(*from, task, None, *right);
            }
            Act::SetPayload { name, payload: Some(_) } => {
                let port = model.receive_right(task, *name).unwrap_or_default();
                &Act::SetPayload { name: *name, payload: Some(PAYLOAD + port as u64) }
            }
            act => act,
        };
        let mut outcome = self.0[task].ask(&Command::Act(act.clone()))?.outcome();
        if let Some(got) = &mut outcome.got
            && let Some(payload) = got.payload
        {
            let port = payload.checked_sub(PAYLOAD).filter(|port| model.ports.contains_key(&(*port as usize)));
            let port = port.ok_or_else(|| format!("the payload {payload:#x}"))? as usize;
            model.ports[&port].payload.ok_or("a payload of a port without one")?;
            let mut names = model.tasks[task].names.iter();
            got.from = names.find(|(_, entry)| entry.receive && entry.port == Some(port)).map_or(abi::NULL, |(name, _)| *name);
        }
        Ok(outcome)
    }

    /// Takes a right from one task to another, as who knows both tasks' ports would.
    fn carry(&mut self, from: usize, to: usize, at: Option<u32>, right: (u32, u32)) -> Check<Outcome> {
        let taken = self.0[from].ask(&Command::Give { to, right })?.outcome();
        if taken.code != Code::SUCCESS {
            return Ok(taken);
        }
        Ok(self.0[to].ask(&Command::Accept { at, right: (taken.name, right.1) })?.outcome())
    }

    /// Waits until all see what they must by one of `models`: that one.
    fn settle(&mut self, models: Vec<Model>, patience: Duration) -> Check<Model> {
        let start = Instant::now();
        let mut wait = 0;
        loop {
            // All look at the same time.
            self.0.iter_mut().try_for_each(|player| player.tell(&Command::See { wait }))?;
            let seen = self.0.iter_mut().map(|player| Ok(player.register()?.seen())).collect::<Check<Vec<_>>>()?;
            let mut wrong = String::new();
            for model in &models {
                let census = model.census();
                let other =
                    (0..TASKS).find_map(|task| step::same_view(task, &seen[task], &step::seen(model, &census, task)).err());
                match other {
                    None => return Ok(model.clone()),
                    Some(what) => wrong = what,
                }
            }
            if start.elapsed() > patience {
                return Err(format!("after {patience:?}: {wrong}"));
            }
            wait = 1;
        }
    }
}

/// What may be by the rules after an act. Messages of one sender keep their order, but those of several do not,
/// nor do those that came with send-once rights, as notifications do.
fn possible(model: Model, task: usize, act: &Act, outcome: &Outcome) -> Check<Vec<Model>> {
    let mut first_error = None;
    let mut models = Vec::new();
    let port = outcome.got.as_ref().filter(|_| matches!(act, Act::Receive { .. })).map(|got| model.receive_right(task, got.from));
    let Some(Ok(port)) = port else {
        let mut model = model;
        step::step(&mut model, task, act, outcome)?;
        return Ok(vec![model]);
    };
    let queue = &model.ports[&port].queue;
    for (i, message) in queue.iter().enumerate() {
        let from = |it: &crate::rules::Message| it.sender.map(|(task, _)| task);
        let behind =
            queue.iter().take(i).any(|other| other == message || (from(other).is_some() && from(other) == from(message)));
        if behind {
            continue;
        }
        let mut model = model.clone();
        let queue = &mut model.port(port).queue;
        if let Some(message) = queue.remove(i) {
            queue.push_front(message);
        }
        match step::step(&mut model, task, act, outcome) {
            Ok(()) => models.push(model),
            Err(what) => first_error = first_error.or(Some(what)),
        }
    }
    match first_error {
        Some(what) if models.is_empty() => Err(what),
        _ if models.is_empty() => Err("a message where there is none".to_owned()),
        _ => Ok(models),
    }
}

/// What was done in a life: which task, and what.
type Acts = Vec<(usize, Act)>;

/// One life of three tasks, to the death of all. `next` says what is done next; what was done is in `did`.
fn live(
    subject: &mut Processes,
    mut next: impl FnMut(&Model, usize) -> Option<(usize, Act)>,
    patience: Duration,
    did: &mut Acts,
) -> Check {
    let mut model = Model::new(TASKS);
    model.apart = true;
    while let Some((task, act)) = next(&model, did.len()) {
        did.push((task, act.clone()));
        model = one_step(subject, model, task, &act, patience).map_err(|what| format!("step {}: {what}", did.len() - 1))?;
    }
    for task in 0..TASKS {
        model = one_step(subject, model, task, &Act::Terminate, patience)
            .map_err(|what| format!("the end of task {task}: {what}"))?;
    }
    Ok(())
}

/// Leaves out of a life that fails what it fails without, for `time`; what is left, and what is wrong with it.
fn smallest(mut acts: Acts, mut wrong: String, time: Duration) -> (Acts, String) {
    let start = Instant::now();
    let mut size = acts.len().div_ceil(2);
    while size > 0 && start.elapsed() < time {
        let mut at = 0;
        while at < acts.len() && start.elapsed() < time {
            let rest = [&acts[..at], &acts[acts.len().min(at + size)..]].concat();
            let mut left = rest.iter().filter(|(_, act)| !answers_itself(act));
            let mut did = Acts::new();
            match live(&mut Processes::start(), |_, _| left.next().cloned(), LITTLE_PATIENCE, &mut did) {
                Ok(()) => at += size,
                Err(what) => (acts, wrong) = (did, what),
            }
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    (acts, wrong)
}

/// Whether a message's two ports are one name, which is never done: see [`ops::op`].
fn answers_itself(act: &Act) -> bool {
    matches!(act, Act::Send(it) if it.reply.0 == it.dest.0 && it.reply.0 != abi::NULL)
}

fn one_step(subject: &mut Processes, model: Model, task: usize, act: &Act, patience: Duration) -> Check<Model> {
    let outcome = subject.act(&model, task, act)?;
    let mut models = possible(model, task, act, &outcome)?;
    if matches!(act, Act::Terminate) {
        models.iter_mut().for_each(|model| model.replace_task(task));
    }
    subject.settle(models, patience).map_err(|what| format!("{outcome:x?}, {what}"))
}

#[test]
fn any_sequence_follows_the_rules_between_processes() {
    if let Some(path) = support::role() {
        return player::play(&path);
    }
    if let Ok(path) = std::env::var("MODEL_ACTS") {
        let text = std::fs::read_to_string(path).expect("a file");
        let acts: Acts = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let (mut left, mut did) = (acts.iter(), Acts::new());
        if let Err(what) = live(&mut Processes::start(), |_, _| left.next().cloned(), PATIENCE, &mut did) {
            fail(did, what);
        }
        return;
    }
    let (subject, failed) = (RefCell::new(None), RefCell::new(None));
    let mut config = crate::config();
    // See `smallest`.
    (config.cases, config.max_shrink_iters) = (crate::from_environment("PROPTEST_CASES", CASES), 0);
    let done = TestRunner::new(config).run(&vec(ops::op(), 1..crate::from_environment("MODEL_STEPS", 400)), |ops| {
        let mut all = subject.borrow_mut().take().unwrap_or_else(Processes::start);
        let (mut did, mut ops) = (Acts::new(), ops.iter());
        let next = |model: &Model, number| ops.next().map(|op| (usize::from(op.task) % TASKS, op.resolve(model, number)));
        let lived = live(&mut all, next, PATIENCE, &mut did);
        match &lived {
            Ok(()) => *subject.borrow_mut() = Some(all),
            Err(what) => *failed.borrow_mut() = Some((did, what.clone())),
        }
        lived.map_err(TestCaseError::fail)
    });
    if let Some((acts, what)) = failed.take() {
        fail(acts, what);
    }
    done.expect("a life that fails is kept");
}

/// Tells the least that fails.
fn fail(acts: Acts, what: String) -> ! {
    let (acts, what) = smallest(acts, what, Duration::from_secs(crate::from_environment("MODEL_SHRINK", 60)));
    let acts: Vec<String> = acts.iter().filter_map(|act| serde_json::to_string(act).ok()).collect();
    panic!("{}\n{what}", acts.join("\n"));
}
