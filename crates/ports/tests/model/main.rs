//! Random sequences of operations, compared step by step with a plain model of Mach's rules.
//!
//! After each step the return code, the names that were given out, every name's type and references, every receive
//! right's status and every queue must be what the rules say. PROPTEST_CASES says how many lives are lived. The seed
//! is fixed, so that a check of one change doesn't fail for another's sake; PROPTEST_RNG_SEED sets another.
#![allow(unsafe_code, reason = "memory that comes with messages")]

mod local;
mod ops;
mod player;
mod processes;
mod rules;
mod step;
#[path = "../support/mod.rs"]
mod support;

use local::Local;
use ops::{Act, Op, Outcome};
use proptest::{
    collection::vec,
    test_runner::{Config, RngSeed, TestCaseError, TestRunner},
};
use rules::{Check, Model, same};
use std::{cell::RefCell, collections::BTreeMap};

const TASKS: usize = 3;
/// Lives, if PROPTEST_CASES doesn't say otherwise.
const CASES: u32 = 320;
const SEED: u64 = 1989;

/// What must have happened, or the comparison says little: each return code of each call that tasks without
/// ports elsewhere can get but for those that take a name of 65534 references, and each notification.
const REACHED: &[&str] = &[
    "Allocate INVALID_VALUE",
    "Allocate SUCCESS",
    "AllocateName INVALID_VALUE",
    "AllocateName NAME_EXISTS",
    "AllocateName SUCCESS",
    "Deallocate INVALID_NAME",
    "Deallocate INVALID_RIGHT",
    "Deallocate SUCCESS",
    "Destroy INVALID_NAME",
    "Destroy SUCCESS",
    "Extract INVALID_RIGHT",
    "Extract INVALID_VALUE",
    "Extract SUCCESS",
    "Insert INVALID_CAPABILITY",
    "Insert INVALID_RIGHT",
    "Insert INVALID_VALUE",
    "Insert NAME_EXISTS",
    "Insert RIGHT_EXISTS",
    "Insert SUCCESS",
    "ModRefs INVALID_NAME",
    "ModRefs INVALID_RIGHT",
    "ModRefs INVALID_VALUE",
    "ModRefs SUCCESS",
    "ModRefs UREFS_OVERFLOW",
    "MoveMember INVALID_NAME",
    "MoveMember INVALID_RIGHT",
    "MoveMember NOT_IN_SET",
    "MoveMember SUCCESS",
    "Receive RCV_INVALID_NAME",
    "Receive RCV_IN_SET",
    "Receive RCV_TIMED_OUT",
    "Receive SUCCESS",
    "Rename INVALID_VALUE",
    "Rename NAME_EXISTS",
    "Rename SUCCESS",
    "Request INVALID_ARGUMENT",
    "Request INVALID_CAPABILITY",
    "Request INVALID_NAME",
    "Request INVALID_RIGHT",
    "Request INVALID_VALUE",
    "Request SUCCESS",
    "Send SEND_INVALID_DEST",
    "Send SEND_INVALID_REPLY",
    "Send SEND_INVALID_RIGHT",
    "Send SEND_TIMED_OUT",
    "Send SUCCESS",
    "SetMscount SUCCESS",
    "SetPayload SUCCESS",
    "SetQlimit INVALID_VALUE",
    "SetQlimit SUCCESS",
    "SetSeqno SUCCESS",
    "Terminate SUCCESS",
    "notification 65",
    "notification 69",
    "notification 70",
    "notification 71",
    "notification 72",
];

fn from_environment<T: std::str::FromStr>(name: &str, or: T) -> T {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(or)
}

fn config() -> Config {
    Config {
        cases: from_environment("PROPTEST_CASES", CASES),
        rng_seed: RngSeed::Fixed(from_environment("PROPTEST_RNG_SEED", SEED)),
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    }
}

/// What happened in lives: kinds of acts with their codes, and the ids of notifications received.
type Reached = BTreeMap<String, usize>;

/// One life of three tasks, to the death of all.
fn live(ops: &[Op], reached: &mut Reached) -> Check {
    let (mut subject, mut model) = (Local::new(TASKS), Model::new(TASKS));
    for (number, op) in ops.iter().enumerate() {
        let task = usize::from(op.task) % TASKS;
        let act = op.resolve(&model, number);
        let outcome = one_step(&mut subject, &mut model, task, &act)
            .map_err(|what| format!("step {number}, task {task}, {act:x?}: {what}"))?;
        *reached.entry(format!("{} {}", act.kind(), outcome.code)).or_default() += 1;
        if let Some(got) = outcome.got.filter(|got| got.id < 1000) {
            *reached.entry(format!("notification {}", got.id)).or_default() += 1;
        }
        if matches!(act, Act::Terminate) {
            subject.replace_task(task);
            model.replace_task(task);
        }
    }
    for task in 0..TASKS {
        one_step(&mut subject, &mut model, task, &Act::Terminate).map_err(|what| format!("the end of task {task}: {what}"))?;
    }
    Ok(())
}

fn one_step(subject: &mut Local, model: &mut Model, task: usize, act: &Act) -> Check<Outcome> {
    let outcome = subject.act(task, act);
    step::step(model, task, act, &outcome)?;
    subject.settle()?;
    let census = model.census();
    for task in 0..TASKS {
        same(&format!("what task {task} sees"), subject.see(task), step::seen(model, &census, task))?;
    }
    subject.check_inside(model, &census)?;
    Ok(outcome)
}

#[test]
fn any_sequence_follows_the_rules() {
    let reached = RefCell::new(Reached::new());
    let done = TestRunner::new(config())
        .run(&vec(ops::op(), 1..400), |ops| live(&ops, &mut reached.borrow_mut()).map_err(TestCaseError::fail));
    if let Err(error) = done {
        panic!("{error}");
    }
    for needed in REACHED {
        assert!(reached.borrow().contains_key(*needed), "no sequence came to {needed}: {:#?}", reached.borrow());
    }
}
