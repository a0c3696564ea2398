//! What the name server's calls are about. The messages are [`interface`] and [`listing`], which mig makes of
//! `include/mach/bootstrap.defs` and of `listing.defs` beside this file.
//!
//! [`interface`]: super::interface
//! [`listing`]: super::listing

use super::listing::ServiceInfo;
use crate::abi::Code;
use std::ffi::{CStr, CString};

/// The size of `name_t` in bytes, its NUL included.
pub const NAME_MAX: usize = 128;

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

/// A service's name: 1 to 127 bytes, none of them 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServiceName(CString);

impl ServiceName {
    /// A name of these bytes.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if it is empty, too long or has a zero byte.
    pub fn new(name: impl AsRef<[u8]>) -> Result<Self, Code> {
        let name = name.as_ref();
        if name.is_empty() || name.len() >= NAME_MAX {
            return Err(Code::INVALID_ARGUMENT);
        }
        CString::new(name).map(Self).map_err(|_| Code::INVALID_ARGUMENT)
    }

    /// Its bytes, without a NUL.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.to_bytes()
    }

    /// As a message has it.
    pub fn as_c_str(&self) -> &CStr {
        &self.0
    }
}

impl std::fmt::Display for ServiceName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", String::from_utf8_lossy(self.as_bytes()).escape_debug())
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

    /// What a number in a message means.
    pub fn from_number(number: u32) -> Option<Self> {
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

impl Service {
    /// As a message has it: texts are cut, and their fields filled with zeros.
    pub fn to_info(&self) -> ServiceInfo {
        let text = |bytes: &[u8]| std::array::from_fn(|i| if i < NAME_MAX - 1 { bytes.get(i).copied().unwrap_or(0) } else { 0 });
        let [name, program, note] = [self.name.as_bytes(), &self.program, &self.note].map(text);
        ServiceInfo { name, program, note, status: self.status.number() }
    }

    /// What a message has; None if it makes no sense.
    pub fn from_info(info: &ServiceInfo) -> Option<Self> {
        let text = |bytes: &[u8]| bytes.iter().copied().take_while(|byte| *byte != 0).collect::<Vec<_>>();
        Some(Self {
            name: ServiceName::new(text(&info.name)).ok()?,
            status: Status::from_number(info.status)?,
            program: text(&info.program),
            note: text(&info.note),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_limits() {
        for wrong in [&b""[..], b"a\0b", &[b'x'; NAME_MAX]] {
            assert_eq!(ServiceName::new(wrong), Err(Code::INVALID_ARGUMENT));
        }
        assert!(ServiceName::new([b'x'; NAME_MAX - 1]).is_ok());
    }

    #[test]
    fn services_come_back_as_they_were() {
        let name = ServiceName::new([b'x'; NAME_MAX - 1]).expect("a name");
        let service = Service { name, status: Status::OnDemand, program: vec![b'p'; NAME_MAX], note: Vec::new() };
        let cut = Service { program: vec![b'p'; NAME_MAX - 1], ..service.clone() };
        assert_eq!(Service::from_info(&service.to_info()), Some(cut));
        let wrong = ServiceInfo { status: 3, ..service.to_info() };
        assert_eq!(Service::from_info(&wrong), None);
    }
}
