//! The name server's messages, as client and server write and read them: those that mig makes of
//! `include/mach/bootstrap.defs`, and two for `slipway services`.
//!
//! A request is a header, a name (`name_t`, a string with its NUL in at most [`NAME_MAX`] bytes) and perhaps a
//! right. A reply has the request's id plus 100, a return code and, if that is success, what was asked for.

use crate::{
    abi::typed::Descriptor,
    abi::typed::type_word,
    abi::{self, COMPLEX, Code, HEADER, SLOT, types},
    task::Task,
};
use slipway_fabric::sync::pages;

/// The size of `name_t` in bytes, its NUL included.
pub const NAME_MAX: usize = 128;
/// A reply's id is its request's and this.
pub const REPLY: i32 = 100;

/// Where a reply's return code is: behind the header and its type.
const CODE_AT: usize = HEADER + SLOT;
/// The size of a reply that only has a return code, in bytes.
pub const REPLY_MIN: usize = CODE_AT + SLOT;

/// The ids of requests: Darwin's.
pub mod id {
    /// The receive right of a service.
    pub const CHECK_IN: i32 = 402;
    /// Makes a port known.
    pub const REGISTER: i32 = 403;
    /// A send right for a service.
    pub const LOOK_UP: i32 = 404;
    /// Whether a service is served.
    pub const STATUS: i32 = 407;
    /// All services.
    pub const INFO: i32 = 408;
    /// A service whose messages wait until a task checks in.
    pub const CREATE_SERVICE: i32 = 410;
}

/// `BOOTSTRAP_NOT_PRIVILEGED`: the service is not the caller's to use or change.
pub const NOT_PRIVILEGED: Code = Code(1100);
/// `BOOTSTRAP_NAME_IN_USE`: there is such a service.
pub const NAME_IN_USE: Code = Code(1101);
/// `BOOTSTRAP_UNKNOWN_SERVICE`: there is no such service.
pub const UNKNOWN_SERVICE: Code = Code(1102);
/// `BOOTSTRAP_SERVICE_ACTIVE`: another task has checked in.
pub const SERVICE_ACTIVE: Code = Code(1103);
/// `BOOTSTRAP_BAD_COUNT`: a count out of range.
pub const BAD_COUNT: Code = Code(1104);
/// `BOOTSTRAP_NO_MEMORY`: the name server has no memory or descriptors left.
pub const NO_MEMORY: Code = Code(1105);
/// `MIG_BAD_ARGUMENTS`: a request that doesn't have the form that its id asks for.
pub const BAD_ARGUMENTS: Code = Code(-304);

/// A service's name: 1 to 127 bytes, none of them 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceName(Vec<u8>);

impl ServiceName {
    /// `INVALID_ARGUMENT` if it is empty, too long or has a zero byte.
    pub fn new(name: impl AsRef<[u8]>) -> Result<Self, Code> {
        let name = name.as_ref();
        if name.is_empty() || name.len() >= NAME_MAX || name.contains(&0) {
            return Err(Code::INVALID_ARGUMENT);
        }
        Ok(Self(name.to_vec()))
    }

    /// Its bytes, without a NUL.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Display for ServiceName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", String::from_utf8_lossy(&self.0).escape_debug())
    }
}

/// Whether a service is served: `bootstrap_status_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// No task serves it.
    Inactive,
    /// A task serves it.
    Active,
    /// Its program starts with its first message.
    OnDemand,
}

impl Status {
    /// The number in a message.
    pub fn number(self) -> u32 {
        self as u32
    }

    fn from_number(number: u32) -> Option<Self> {
        [Self::Inactive, Self::Active, Self::OnDemand].into_iter().find(|status| status.number() == number)
    }
}

/// What the name server tells of one service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Its name.
    pub name: ServiceName,
    /// Whether it is served.
    pub status: Status,
    /// The program that is started for it; empty if none is. Cut where it is longer than a name may be.
    pub program: Vec<u8>,
    /// How that program last ended or why it didn't start; empty if there is nothing to tell. Cut likewise.
    pub note: Vec<u8>,
}

/// What a task asks the name server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// For the receive right of a service.
    CheckIn(ServiceName),
    /// To make a port known; null: to forget it.
    Register(ServiceName, u32),
    /// For a send right.
    LookUp(ServiceName),
    /// Whether the service is served.
    Status(ServiceName),
    /// For all services.
    Info,
    /// To make a service with a port of the server's.
    CreateService(ServiceName),
}

/// What the name server answers, if not only a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Done.
    Done,
    /// A right: its name, and its disposition when sent, or its type when received.
    Right(u32, u32),
    /// A service's status.
    Status(Status),
    /// All services.
    Services(Vec<Service>),
}

impl Request {
    fn id(&self) -> i32 {
        match self {
            Self::CheckIn(_) => id::CHECK_IN,
            Self::Register(..) => id::REGISTER,
            Self::LookUp(_) => id::LOOK_UP,
            Self::Status(_) => id::STATUS,
            Self::Info => id::INFO,
            Self::CreateService(_) => id::CREATE_SERVICE,
        }
    }

    /// The service that it is about.
    pub fn name(&self) -> Option<&ServiceName> {
        match self {
            Self::CheckIn(name)
            | Self::Register(name, _)
            | Self::LookUp(name)
            | Self::Status(name)
            | Self::CreateService(name) => Some(name),
            Self::Info => None,
        }
    }

    /// The message to the server, answered at `reply`, a receive right. A right in it is sent as `disposition` says.
    pub fn encode(&self, server: u32, reply: u32, disposition: u32) -> Vec<u8> {
        let mut out = header(self.id(), (server, types::COPY_SEND), (reply, types::MAKE_SEND_ONCE));
        match self {
            Self::CheckIn(name) | Self::LookUp(name) | Self::Status(name) | Self::CreateService(name) => {
                put_text(&mut out, name.as_bytes())
            }
            Self::Register(name, port) => {
                put_text(&mut out, name.as_bytes());
                put_right(&mut out, *port, disposition);
            }
            Self::Info => {}
        }
        out
    }

    /// Reads a received message: `MIG_BAD_ID`, [`BAD_ARGUMENTS`], or `INVALID_ARGUMENT` for a name that can't be one.
    /// On error the rights in it are still the caller's to [`discard`].
    pub fn decode(message: &[u8]) -> Result<Self, Code> {
        let mut items = Items::of(message);
        let request = match message_id(message) {
            id::CHECK_IN => Self::CheckIn(items.name()?),
            id::REGISTER => Self::Register(items.name()?, items.right(types::PORT_SEND)?),
            id::LOOK_UP => Self::LookUp(items.name()?),
            id::STATUS => Self::Status(items.name()?),
            id::INFO => Self::Info,
            id::CREATE_SERVICE => Self::CreateService(items.name()?),
            _ => return Err(Code::MIG_BAD_ID),
        };
        if items.next().is_some() { Err(BAD_ARGUMENTS) } else { Ok(request) }
    }

    /// Reads the reply to this request. Whatever else comes than an answer of the right form is `MIG_SERVER_DIED`.
    pub fn decode_reply(&self, message: &[u8]) -> Result<Answer, Code> {
        let died = Code::MIG_SERVER_DIED;
        if message_id(message) != self.id() + REPLY || message.len() < REPLY_MIN {
            return Err(died);
        }
        match Code(u32_at(message, CODE_AT) as i32) {
            Code::SUCCESS => {}
            code => return Err(code),
        }
        let mut items = Items::of(message);
        let _code = items.next();
        let answer = match self {
            Self::Register(..) => Answer::Done,
            Self::CheckIn(_) => Answer::Right(items.right(types::PORT_RECEIVE).map_err(|_| died)?, types::PORT_RECEIVE),
            Self::LookUp(_) | Self::CreateService(_) => {
                Answer::Right(items.right(types::PORT_SEND).map_err(|_| died)?, types::PORT_SEND)
            }
            Self::Status(_) => Answer::Status(items.number().and_then(Status::from_number).ok_or(died)?),
            Self::Info => Answer::Services(items.services().ok_or(died)?),
        };
        Ok(answer)
    }
}

/// The reply to a request with the id `request`. `to` is the received reply right: its name and type.
pub fn encode_reply(request: i32, to: (u32, u32), answer: &Result<Answer, Code>) -> Vec<u8> {
    // A right's type when received is the disposition that moves it.
    let mut out = header(request.wrapping_add(REPLY), to, (abi::NULL, 0));
    put_number(&mut out, types::INTEGER_32, answer.as_ref().err().unwrap_or(&Code::SUCCESS).0 as u32);
    match answer {
        Ok(Answer::Right(name, disposition)) => put_right(&mut out, *name, *disposition),
        Ok(Answer::Status(status)) => put_number(&mut out, BOOLEAN, status.number()),
        Ok(Answer::Services(services)) => {
            put_texts(&mut out, services.iter().map(|service| service.name.as_bytes()));
            put_texts(&mut out, services.iter().map(|service| service.program.as_slice()));
            put_texts(&mut out, services.iter().map(|service| service.note.as_slice()));
            out.extend(type_word(BOOLEAN, 32, services.len() as u32).to_le_bytes());
            services.iter().for_each(|service| out.extend(service.status.number().to_le_bytes()));
            out.resize(out.len().next_multiple_of(SLOT), 0);
        }
        Ok(Answer::Done) | Err(_) => {}
    }
    out
}

/// `MACH_MSG_TYPE_BOOLEAN`.
const BOOLEAN: u32 = 0;
/// `MACH_MSG_TYPE_STRING_C`.
const STRING_C: u32 = 12;

/// A header: an id, and the destination and the reply port with their dispositions.
pub fn header(id: i32, remote: (u32, u32), local: (u32, u32)) -> Vec<u8> {
    let mut out = vec![0; HEADER];
    out[0..4].copy_from_slice(&(remote.1 | local.1 << 8).to_le_bytes());
    out[8..12].copy_from_slice(&remote.0.to_le_bytes());
    out[16..20].copy_from_slice(&local.0.to_le_bytes());
    out[28..32].copy_from_slice(&id.to_le_bytes());
    out
}

fn put_number(out: &mut Vec<u8>, name: u32, value: u32) {
    out.extend(type_word(name, 32, 1).to_le_bytes());
    out.extend(u64::from(value).to_le_bytes());
}

fn put_right(out: &mut Vec<u8>, name: u32, disposition: u32) {
    let bits = u32_at(out, 0) | COMPLEX;
    out[0..4].copy_from_slice(&bits.to_le_bytes());
    out.extend(type_word(disposition, 64, 1).to_le_bytes());
    out.extend(u64::from(name).to_le_bytes());
}

/// A string with its NUL, and zeros up to the next word.
fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    let text = &text[..text.len().min(NAME_MAX - 1)];
    out.extend(type_word(STRING_C, 8, text.len() as u32 + 1).to_le_bytes());
    out.extend(text);
    out.resize((out.len() + 1).next_multiple_of(SLOT), 0);
}

/// Texts, each in [`NAME_MAX`] bytes with at least one NUL.
fn put_texts<'a>(out: &mut Vec<u8>, texts: impl Iterator<Item = &'a [u8]> + Clone) {
    out.extend(type_word(STRING_C, 8, (texts.clone().count() * NAME_MAX) as u32).to_le_bytes());
    for text in texts {
        let end = out.len() + NAME_MAX;
        out.extend(&text[..text.len().min(NAME_MAX - 1)]);
        out.resize(end, 0);
    }
}

/// The 32-bit word at an offset; 0 beyond the end.
pub fn u32_at(message: &[u8], at: usize) -> u32 {
    message.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_le_bytes)
}

/// `msgh_id`.
pub fn message_id(message: &[u8]) -> i32 {
    u32_at(message, 28) as i32
}

/// The items of a received body, one after the other; ends where the body makes no sense.
struct Items<'a>(&'a [u8]);

impl<'a> Items<'a> {
    fn of(message: &'a [u8]) -> Self {
        Self(message.get(HEADER..).unwrap_or_default())
    }

    fn name(&mut self) -> Result<ServiceName, Code> {
        let (kind, bytes) = self.next().ok_or(BAD_ARGUMENTS)?;
        // 8 for a character, 9 for a byte.
        if !matches!(kind.name, STRING_C | 8 | 9) || !kind.inline || bytes.len() > NAME_MAX {
            return Err(BAD_ARGUMENTS);
        }
        ServiceName::new(until_nul(bytes))
    }

    fn right(&mut self, wanted: u32) -> Result<u32, Code> {
        match self.next() {
            Some((kind, bytes)) if kind.name == wanted && kind.inline && kind.number == 1 => Ok(u32_at(bytes, 0)),
            _ => Err(BAD_ARGUMENTS),
        }
    }

    fn number(&mut self) -> Option<u32> {
        let (kind, bytes) = self.next()?;
        (kind.inline && !kind.is_port() && bytes.len() == 4).then(|| u32_at(bytes, 0))
    }

    fn services(&mut self) -> Option<Vec<Service>> {
        let [names, programs, notes, states] = [self.next()?.1, self.next()?.1, self.next()?.1, self.next()?.1];
        let each = names.chunks(NAME_MAX).zip(programs.chunks(NAME_MAX)).zip(notes.chunks(NAME_MAX)).zip(states.chunks(4));
        each.map(|(((name, program), note), status)| {
            Some(Service {
                name: ServiceName::new(until_nul(name)).ok()?,
                status: Status::from_number(u32_at(status, 0))?,
                program: until_nul(program).to_vec(),
                note: until_nul(note).to_vec(),
            })
        })
        .collect()
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = (Descriptor, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let word = u64::from_le_bytes(self.0.get(..SLOT)?.try_into().ok()?);
        let kind = Descriptor::parse(word).ok()?;
        let len = if kind.inline { usize::try_from(kind.size()).ok()? } else { SLOT };
        let end = len.checked_next_multiple_of(SLOT)?.checked_add(SLOT).filter(|end| *end <= self.0.len())?;
        let bytes = &self.0[SLOT..SLOT + len];
        self.0 = &self.0[end..];
        Some((kind, bytes))
    }
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len())]
}

/// Gives up the rights and the memory that a received message's body brought, as `mach_msg_destroy` does; its reply
/// right stays.
pub fn discard(task: Task, message: &[u8]) {
    if u32_at(message, 0) & COMPLEX == 0 {
        return;
    }
    for (kind, bytes) in Items::of(message) {
        match (kind.is_port(), kind.inline) {
            (true, true) => bytes.chunks_exact(SLOT).for_each(|name| discard_right(task, u32_at(name, 0), kind.name)),
            (false, true) => {}
            (_, false) => discard_memory(task, &kind, u64::from(u32_at(bytes, 0)) | u64::from(u32_at(bytes, 4)) << 32),
        }
    }
}

/// Gives up one received right.
pub fn discard_right(task: Task, name: u32, kind: u32) {
    let _ = match kind {
        _ if name == abi::NULL || name == abi::DEAD => return,
        types::PORT_RECEIVE => task.mod_refs(name, abi::right::RECEIVE, -1),
        _ => task.deallocate(name),
    };
}

fn discard_memory(task: Task, kind: &Descriptor, at: u64) {
    let (at, len) = (at as usize, kind.size() as usize);
    if at == 0 || len == 0 {
        return;
    }
    if kind.is_port() {
        let mut names = vec![0; len];
        if pages::read(at, &mut names).is_ok() {
            names.chunks_exact(4).for_each(|name| discard_right(task, u32_at(name, 0), kind.name));
        }
    }
    if let Some(len) = pages::whole_pages(len) {
        let _ = pages::deallocate(at, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONCE: (u32, u32) = (3, types::MOVE_SEND_ONCE);

    fn name(text: &str) -> ServiceName {
        ServiceName::new(text).expect("a name")
    }

    #[test]
    fn names_have_limits() {
        for wrong in [&b""[..], b"a\0b", &[b'x'; NAME_MAX]] {
            assert_eq!(ServiceName::new(wrong), Err(Code::INVALID_ARGUMENT));
        }
        let longest = ServiceName::new([b'x'; NAME_MAX - 1]).expect("the longest name");
        assert_eq!(Request::decode(&Request::LookUp(longest.clone()).encode(1, 2, 0)), Ok(Request::LookUp(longest)));
    }

    #[test]
    fn requests_come_back_as_they_were() {
        let requests = [
            Request::CheckIn(name("a")),
            Request::LookUp(name("org.example.kv")),
            Request::Status(name("ü")),
            Request::Info,
            Request::CreateService(name("x y")),
            Request::Register(name("r"), 0x103),
        ];
        for request in requests {
            // What was sent with one disposition is received with a type.
            assert_eq!(Request::decode(&request.encode(7, 9, types::PORT_SEND)), Ok(request));
        }
    }

    #[test]
    fn malformed_requests_are_refused() {
        let good = Request::LookUp(name("a")).encode(7, 9, 0);
        let with = |at: usize, byte: u8| {
            let mut bad = good.clone();
            bad[at] = byte;
            Request::decode(&bad)
        };
        assert_eq!(with(28, 0), Err(Code::MIG_BAD_ID));
        assert_eq!(with(HEADER, types::PORT_SEND as u8), Err(BAD_ARGUMENTS), "a right in place of a name");
        assert_eq!(with(HEADER + 4, 200), Err(BAD_ARGUMENTS), "longer than the message");
        assert_eq!(with(HEADER + SLOT, 0), Err(Code::INVALID_ARGUMENT), "an empty name");
        assert_eq!(Request::decode(&good[..HEADER]), Err(BAD_ARGUMENTS));
        let mut more = good.clone();
        put_number(&mut more, types::INTEGER_32, 1);
        assert_eq!(Request::decode(&more), Err(BAD_ARGUMENTS));
    }

    #[test]
    fn replies_come_back_as_they_were() {
        let service = |text: &str, status| Service { name: name(text), status, program: b"/bin/x".to_vec(), note: Vec::new() };
        let services = vec![service("a", Status::Active), service("b", Status::OnDemand), service("c", Status::Inactive)];
        let cases = [
            (Request::Register(name("a"), 1), Answer::Done),
            (Request::CheckIn(name("a")), Answer::Right(5, types::PORT_RECEIVE)),
            (Request::LookUp(name("a")), Answer::Right(5, types::PORT_SEND)),
            (Request::Status(name("a")), Answer::Status(Status::OnDemand)),
            (Request::Info, Answer::Services(services)),
            (Request::Info, Answer::Services(Vec::new())),
        ];
        for (request, answer) in cases {
            let reply = encode_reply(request.id(), ONCE, &Ok(answer.clone()));
            assert_eq!(request.decode_reply(&reply), Ok(answer));
            let refused = encode_reply(request.id(), ONCE, &Err(UNKNOWN_SERVICE));
            assert_eq!(refused.len(), REPLY_MIN);
            assert_eq!(request.decode_reply(&refused), Err(UNKNOWN_SERVICE));
        }
        let stray = encode_reply(id::STATUS, ONCE, &Ok(Answer::Done));
        assert_eq!(Request::LookUp(name("a")).decode_reply(&stray), Err(Code::MIG_SERVER_DIED));
    }
}
