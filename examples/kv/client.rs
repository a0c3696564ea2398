//! kv-client in Rust: puts, holds, gets, deletes and lists entries of kv-server, as client.c does.
//!
//! `cargo run -p slipway-mach --example kv-client -- list`

use mach as _;
use slipway_mach::{
    abi::notify,
    rights::{Outgoing, ReceiveRight, Received, SendRight},
};
use std::{
    io::{Read, Write},
    process::ExitCode,
    time::Duration,
};

const SERVICE: &str = "slipway.example.kv";

// The messages are those of kv.h.
const PUT: i32 = 5000;
const GET: i32 = 5001;
const DELETE: i32 = 5002;
const LIST: i32 = 5003;
const REPLY: i32 = 100;
const KEY_SIZE: usize = 64;
const VALUE_MAX: usize = 1 << 20;
const CHAR: u32 = 8;

const NOT_FOUND: u8 = 1;
const USAGE: u8 = 2;
const FAILED: u8 = 3;

/// How long a server may take that has not ended.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(10));

/// What to tell the person at the terminal, and the exit status.
struct Failure(u8, String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(FAILED, error.to_string())
    }
}

fn request(id: i32, key: &str) -> Result<Outgoing, Failure> {
    if id != LIST && (key.is_empty() || key.len() >= KEY_SIZE) {
        return Err(Failure(USAGE, format!("a key has 1 to {} bytes", KEY_SIZE - 1)));
    }
    let mut padded = [0; KEY_SIZE];
    padded[..key.len()].copy_from_slice(key.as_bytes());
    Ok(Outgoing::new(id).data(CHAR, 8, KEY_SIZE as u32, &padded))
}

/// Sends a request; the value in its reply.
fn call(service: &SendRight, id: i32, message: Outgoing, key: &str) -> Result<Vec<u8>, Failure> {
    let mut reply: Received = service.call(message, PATIENCE)?;
    if reply.is_notification(notify::SEND_ONCE) {
        return Err(Failure(FAILED, "the service ended before it answered".into()));
    }
    if reply.id() != id + REPLY {
        return Err(Failure(FAILED, "the reply is none of kv-server's".into()));
    }
    match reply.next_int() {
        Some(0) => reply.next_bytes().ok_or(Failure(FAILED, "the reply has no value".into())),
        Some(1) => Err(Failure(NOT_FOUND, format!("no entry \"{key}\""))),
        Some(3) => Err(Failure(FAILED, "the service keeps no more".into())),
        _ => Err(Failure(FAILED, "the service refused the request".into())),
    }
}

fn run(args: &[&str]) -> Result<(), Failure> {
    let (service, args) = match args {
        ["-s", service, rest @ ..] => (*service, rest),
        _ => (SERVICE, args),
    };
    let (id, key, value) = match args {
        ["put", key] => {
            let mut value = Vec::new();
            std::io::stdin().lock().take(VALUE_MAX as u64 + 1).read_to_end(&mut value)?;
            (PUT, *key, Some(value))
        }
        ["put", key, value] => (PUT, *key, Some(value.as_bytes().to_vec())),
        ["hold", key, value] => (PUT, *key, Some(value.as_bytes().to_vec())),
        ["get", key] => (GET, *key, None),
        ["delete", key] => (DELETE, *key, None),
        ["list"] => (LIST, "", None),
        _ => {
            return Err(Failure(
                USAGE,
                "usage: kv-client [-s SERVICE] put KEY [VALUE] | hold KEY VALUE | get KEY | delete KEY | list".into(),
            ));
        }
    };
    let held = ReceiveRight::new()?;
    let mut message = request(id, key)?;
    if let Some(value) = value {
        if value.len() > VALUE_MAX {
            return Err(Failure(USAGE, format!("a value has at most {VALUE_MAX} bytes")));
        }
        message = message.memory(value);
        // An entry that is held goes when this port dies, which is when the program ends, however it ends.
        message = if args[0] == "hold" { message.make_send(&held) } else { message.no_right() };
    }
    let value = call(&SendRight::look_up(service)?, id, message, key)?;
    std::io::stdout().write_all(&value)?;
    if args[0] == "hold" {
        println!("kv-client: held until this program ends");
        loop {
            std::thread::park();
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(status, why)) => {
            eprintln!("kv-client: {why}");
            ExitCode::from(status)
        }
    }
}
