//! Damaged requests: what a server says of them, whatever language it is in.

use crate::client::{sampler, tidy};
use slipway_mach::{
    Request,
    abi::{COMPLEX, Code, HEADER, option, right, types},
    mig::{ReceiveRight, SendRight},
    task::Task,
};
use std::fmt::Write as _;

/// Damaged requests of each kind.
const ROUNDS: usize = 400;
/// How long an answer may take that must come, in milliseconds.
const PATIENCE: u32 = 60_000;

/// A request as it lies in memory behind its header, and its identifier.
pub struct Sample {
    pub id: i32,
    pub body: Vec<u8>,
    /// Whether a reply has nothing that a server may copy with its padding.
    exact: bool,
}

/// A number of 32 bits in a message.
pub fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

/// Receives a message as it lies in memory.
pub fn receive(name: u32) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 16];
    let request = Request {
        option: option::RCV_MSG | option::RCV_TIMEOUT,
        receive_size: buffer.len(),
        receive_name: name,
        timeout: PATIENCE,
        ..Request::default()
    };
    assert_eq!(Task::current().mach_msg(&mut buffer, &request), Code::SUCCESS, "receive");
    let size = word(&buffer, 4) as usize;
    buffer.truncate(size);
    buffer
}

/// The request that a call sends, which is left without an answer.
fn sample(call: impl FnOnce(SendRight) + Send + 'static) -> Sample {
    let port = ReceiveRight::new().expect("a port");
    let to = port.make_send().expect("a send right");
    let calling = std::thread::spawn(move || call(to));
    let message = receive(port.name());
    Task::current().deallocate(word(&message, 8)).expect("the reply right");
    calling.join().expect("the call ends");
    assert_eq!(word(&message, 0) & COMPLEX, 0, "rights and memory would be refused by the sender's own task");
    Sample { id: word(&message, 28).cast_signed(), body: message[HEADER..].to_vec(), exact: true }
}

/// A request of each routine that carries plain data only.
pub fn samples() -> Vec<Sample> {
    let sampler = sampler::Sampler;
    let tidy = tidy::Tidy;
    let record = sampler::Record { tag: 1, big: 2, small: 3 };
    let mut list = vec![
        sample(move |to| {
            let _ = sampler(to).null();
        }),
        sample(move |to| drop(sampler(to).four(1, 2, 3, 4))),
        sample(move |to| drop(sampler(to).sizes(b'a', 2, 3, true, 4.5))),
        sample(move |to| drop(sampler(to).strings(c"word", c"label", c"old", c"both"))),
        sample(move |to| drop(sampler(to).arrays(&[1, 2, 3, 4], b"bytes", 6, &[7; 33], &[8, 9]))),
        sample(move |to| drop(sampler(to).room(5))),
        sample(move |to| drop(sampler(to).unlimited(&[1, 2], &[3], &[], 4))),
        sample(move |to| drop(sampler(to).accounts(4, 3))),
        sample(move |to| {
            let _ = sampler(to).timed(0, 77);
        }),
        sample(move |to| drop(sampler(to).numbers(1.5, 1, 2, 3, 4, 5, &[true, false], &[6; 2000]))),
        sample(move |to| drop(tidy(to).pairs(&[1, 2, 3], &[4, 5, 6]))),
        sample(move |to| {
            let _ = tidy(to).hurry_on(std::time::Duration::ZERO, 41);
        }),
    ];
    let structures = sample(move |to| drop(sampler(to).structures(&[1, 2], &record, &[record; 3])));
    list.push(Sample { exact: false, ..structures });
    list
}

/// Numbers that are the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

/// Changes a few things, most often in type words; whether the message calls itself complex.
pub fn damage(random: &mut Random, body: &mut Vec<u8>) -> bool {
    for _ in 0..random.below(3) {
        if body.is_empty() {
            break;
        }
        let at = random.below(body.len());
        let at = if random.below(2) == 0 { at & !7 } else { at };
        let end = (at + 4).min(body.len());
        match random.below(5) {
            0 => body[at] ^= 1 << random.below(8),
            1 => body[at] = random.below(256) as u8,
            2 => body[at..end].fill(0xff),
            3 => body[at..end].fill(0),
            // The number of elements is the upper half of a type word.
            _ => body[(at & !7) + 4] = body[(at & !7) + 4].wrapping_add(1),
        }
    }
    match random.below(12) {
        0 => body.truncate(random.below(body.len() / 8 + 1) * 8),
        1 => body.extend([0; 8]),
        _ => {}
    }
    random.below(10) == 0
}

/// Sends a message as it lies in memory; the code, if it could not be sent.
pub fn send(id: i32, dest: (u32, u32), reply: (u32, u32), body: &[u8], complex: bool) -> Option<Code> {
    let bits = dest.1 | reply.1 << 8 | if complex { COMPLEX } else { 0 };
    let mut buffer = vec![0; HEADER];
    buffer[0..4].copy_from_slice(&bits.to_le_bytes());
    buffer[8..12].copy_from_slice(&dest.0.to_le_bytes());
    buffer[16..20].copy_from_slice(&reply.0.to_le_bytes());
    buffer[28..32].copy_from_slice(&id.to_le_bytes());
    buffer.extend(body);
    let request = Request { option: option::SEND_MSG, send_size: buffer.len(), ..Request::default() };
    Some(Task::current().mach_msg(&mut buffer, &request)).filter(|code| *code != Code::SUCCESS)
}

/// Sends a request, and tells what came back.
fn answer(server: &SendRight, port: u32, sample: &Sample, body: &[u8], complex: bool) -> String {
    let (dest, reply) = ((server.name(), types::COPY_SEND), (port, types::MAKE_SEND_ONCE));
    if let Some(code) = send(sample.id, dest, reply, body, complex) {
        // If the message was destroyed its reply right was, of which the port is told.
        let mut buffer = vec![0; 1 << 10];
        let drain = Request {
            option: option::RCV_MSG | option::RCV_TIMEOUT,
            receive_size: buffer.len(),
            receive_name: port,
            ..Request::default()
        };
        while Task::current().mach_msg(&mut buffer, &drain) == Code::SUCCESS {}
        return format!("not sent: {code}");
    }
    let reply = receive(port);
    let (id, complex) = (word(&reply, 28), word(&reply, 0) & COMPLEX != 0);
    let shown = if complex || !sample.exact { HEADER + 16 } else { reply.len() };
    let body: String = reply[HEADER..shown.min(reply.len())].iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    format!("{id} {complex} {} {body}", reply.len())
}

/// What the server says to each of many damaged requests, which are the same in every run.
pub fn report() -> Vec<String> {
    let server = SendRight::look_up("sampler").expect("the server");
    let port = Task::current().allocate(right::RECEIVE).expect("a port");
    let mut random = Random(1);
    let mut lines = Vec::new();
    for sample in samples() {
        for round in 0..ROUNDS {
            let mut body = sample.body.clone();
            let complex = round > 0 && damage(&mut random, &mut body);
            lines.push(format!("{} {round}: {}", sample.id, answer(&server, port, &sample, &body, complex)));
        }
    }
    lines
}
