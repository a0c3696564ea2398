//! What the tests of tasks in Rust run: a task whose first argument says what it does.

#![allow(unsafe_code, reason = "routines that are called with arguments by pointer")]

use slipway_mach::{
    bootstrap,
    rights::{Outgoing, ReceiveRight, SendRight},
    task::Task,
    trap::{self, Entry, Table},
};
use std::{
    error::Error,
    ffi::{OsString, c_int, c_void},
    process, thread,
};

mod calls;

slipway_domain::task_main!(main);

/// The identifier of the request to double a number, and what its routine's argument looks like.
const DOUBLE: i32 = 7000;
const SIGNATURE: u64 = 7;
/// A number for which the server calls `exit`.
const DEADLY: i32 = 1_000_000;

/// Doubles the number that a caller brings; a negative one is a mistake of the caller's that this server panics about.
unsafe extern "C-unwind" fn double(_request: u32, argument: *mut c_void, _context: *mut c_void) -> c_int {
    // SAFETY: who calls with this routine's signature brings a number.
    let number = unsafe { &mut *argument.cast::<c_int>() };
    assert!(*number >= 0, "a negative number");
    if *number == DEADLY {
        process::exit(9);
    }
    *number *= 2;
    0
}

type Outcome = Result<i32, Box<dyn Error>>;

fn main(arguments: Vec<OsString>) -> i32 {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let done = match words[1..] {
        ["serve", service] => serve(service),
        ["call", service] => call(service, &[21, 4]),
        ["call-deadly", service] => call(service, &[21, -1, 4, DEADLY, 5]),
        ["kill-again", service, times] => kill_again(service, times.parse().unwrap_or(1)),
        ["calls"] => said(calls::transcript()),
        ["fork", service] => fork(service),
        ["return", code] => code.parse().map_err(Into::into),
        ["deadly-at-a-word", service] => deadly_at_a_word(service),
        ["exit", code] => exit(code.parse().unwrap_or(99)),
        ["exit-elsewhere", code] => exit_elsewhere(code),
        _ => Err(format!("no such role: {words:?}").into()),
    };
    done.unwrap_or_else(|why| {
        eprintln!("rust_roles: {why}");
        98
    })
}

fn serve(service: &str) -> Outcome {
    let port = ReceiveRight::new()?;
    let entries = Box::new([Entry { routine: Some(double), signature: SIGNATURE }]);
    // SAFETY: the routine takes a number, as its signature says.
    unsafe { Task::current().register_traps(port.name(), Table { base: DOUBLE, entries, context: 0 }, false)? };
    port.make_send()?.register(service)?;
    println!("serving");
    loop {
        let mut request = port.receive(None)?;
        let (Some(number), Some(reply)) = (request.next_int(), request.take_reply()) else { continue };
        if number == DEADLY as u32 {
            process::exit(9);
        }
        // A client that is gone has no use for an answer.
        let _ = reply.send(Outgoing::new(request.id() + 100).ints(&[number.wrapping_mul(2)]));
    }
}

/// Has a number doubled, by a call if that is possible, else by message.
fn double_by(server: &SendRight, number: i32) -> Result<(i32, &'static str), Box<dyn Error>> {
    let mut value = number;
    // SAFETY: a number is what a routine with this signature takes.
    match unsafe { trap::call(server.name(), DOUBLE, SIGNATURE, (&raw mut value).cast()) } {
        Some(0) => Ok((value, "call")),
        Some(code) => Err(format!("code {code}").into()),
        None => {
            let mut answer = server.call(Outgoing::new(DOUBLE).ints(&[number as u32]), None)?;
            Ok((answer.next_int().ok_or("died")? as i32, "message"))
        }
    }
}

fn call(service: &str, numbers: &[i32]) -> Outcome {
    let server = SendRight::look_up(service)?;
    let own = Task::current();
    let shown = |number| match double_by(&server, number) {
        Ok((value, how)) => format!("{value} by {how}"),
        Err(why) => why.to_string(),
    };
    for number in numbers {
        println!("{number}: {}", shown(*number));
    }
    println!("same task {}", own == Task::current());
    Ok(0)
}

fn said(transcript: Result<String, Box<dyn Error>>) -> Outcome {
    print!("{}", transcript?);
    Ok(0)
}

/// A child has a task of its own, its parent's bootstrap port and none of its rights.
fn fork(service: &str) -> Outcome {
    let server = SendRight::look_up(service)?;
    let (own, kept) = (Task::current(), server.name());
    // SAFETY: the child does nothing that another thread of the parent could have stopped in the midst of.
    let child = unsafe { libc::fork() };
    if child == 0 {
        println!("other {} names {:?} {:?}", Task::current() != own, own.kind(kept), own.allocate(1));
        drop(server);
        let done = SendRight::look_up(service).map_err(Into::into).and_then(|server| double_by(&server, 21));
        println!("child {:?}", done.map_err(|why| why.to_string()));
        process::exit(3);
    }
    let mut status = 0;
    // SAFETY: the status has a place.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    println!("ended {} own {}", libc::WEXITSTATUS(status), Task::current() == own);
    println!("parent {:?}", double_by(&server, 4)?);
    Ok(0)
}

fn exit(code: i32) -> ! {
    println!("exiting in {}", process::id());
    process::exit(code)
}

/// Looks a service up until it is there.
fn wait_for(service: &str) -> Result<SendRight, Box<dyn Error>> {
    loop {
        match SendRight::look_up(service) {
            Ok(server) => return Ok(server),
            Err(why) if matches!(why.why, bootstrap::Error::Code(bootstrap::protocol::UNKNOWN_SERVICE)) => thread::yield_now(),
            Err(why) => return Err(why.into()),
        }
    }
}

/// Has a server that is started again and again end itself, while other threads call it.
fn kill_again(service: &str, times: u32) -> Outcome {
    let mut names = 0;
    for at in 0..times {
        let server = wait_for(service)?;
        thread::scope(|scope| {
            // Each comes to an end when the server does.
            let load = || while double_by(&server, 4).is_ok_and(|(value, _)| value == 8) {};
            let mut threads: Vec<_> = (0..3).map(|_| scope.spawn(load)).collect();
            threads.push(scope.spawn(|| drop(double_by(&server, DEADLY))));
            // With a thread its reply port is gone, which the end of the scope does not wait for.
            threads.into_iter().try_for_each(|thread| thread.join())
        })
        .map_err(|_| "a thread panicked")?;
        drop(server);
        let now = Task::current().names()?.len();
        if at > 0 && now > names {
            return Err(format!("{now} names, and {names} before").into());
        }
        names = now;
    }
    println!("all dead");
    Ok(0)
}

/// Stays; first has the server of a service end itself, if there is to be one.
fn deadly_at_a_word(service: &str) -> Outcome {
    println!("stays in {}", process::id());
    let port = ReceiveRight::new()?;
    let server = wait_for(service)?;
    println!("{}", double_by(&server, DEADLY).map_or_else(|why| why.to_string(), |(value, how)| format!("{value} by {how}")));
    port.receive(None)?;
    Ok(0)
}

fn exit_elsewhere(code: &str) -> Outcome {
    let code = code.parse()?;
    let port = ReceiveRight::new()?;
    thread::spawn(move || exit(code));
    // Its right goes with the task.
    let why = port.receive(None).err().ok_or("a message")?;
    Err(why.into())
}
