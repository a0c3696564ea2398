//! The functions of libmach that a connection needs. The hooks don't link it: a process has one, which is found or loaded.
#![allow(unsafe_code, reason = "functions of another library, found by name")]

use crate::settings::Settings;
use slipway_abi::{
    Code,
    call::Header,
    kind, notify, option, right,
    types::{MAKE_SEND, MAKE_SEND_ONCE},
};
use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    os::{
        fd::{FromRawFd, IntoRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
};

/// A name of a port.
pub type Name = u32;

macro_rules! functions {
    ($(fn $name:ident($($type:ty),*) -> $result:ty;)*) => {
        #[derive(Debug, Clone, Copy)]
        struct Functions {
            $($name: unsafe extern "C" fn($($type),*) -> $result,)*
        }

        impl Functions {
            fn find(library: *mut c_void) -> Option<Self> {
                $(
                    let name = concat!(stringify!($name), "\0");
                    // SAFETY: a handle of dlopen's, or one that stands for all of the process; the name ends with a zero.
                    let $name = unsafe { libc::dlsym(library, name.as_ptr().cast()) };
                    if $name.is_null() {
                        return None;
                    }
                )*
                Some(Self {
                    $(
                        // SAFETY: libmach's function of this name has this type.
                        $name: unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> $result>($name) },
                    )*
                })
            }
        }
    };
}

functions! {
    fn mach_msg(*mut Header, c_int, u32, u32, Name, u32, Name) -> c_int;
    fn mach_msg_destroy(*mut Header) -> ();
    fn mach_task_self() -> Name;
    fn mach_port_allocate(Name, u32, *mut Name) -> c_int;
    fn mach_port_deallocate(Name, Name) -> c_int;
    fn mach_port_type(Name, Name, *mut u32) -> c_int;
    fn mach_port_mod_refs(Name, Name, u32, c_int) -> c_int;
    fn mach_port_move_member(Name, Name, Name) -> c_int;
    fn mach_port_set_qlimit(Name, Name, u32) -> c_int;
    fn mach_port_insert_right(Name, Name, Name, u32) -> c_int;
    fn mach_port_request_notification(Name, Name, c_int, u32, Name, u32, *mut Name) -> c_int;
    fn bootstrap_look_up(Name, *const c_char, *mut Name) -> c_int;
    fn bootstrap_check_in(Name, *const c_char, *mut Name) -> c_int;
    fn bootstrap_register(Name, *const c_char, Name) -> c_int;
    fn bootstrap_strerror(c_int) -> *const c_char;
    fn slipway_port_descriptor(Name, *mut c_int) -> c_int;
    fn slipway_port_poll(Name, c_int) -> c_int;
    fn slipway_port_import(c_int, c_int, *mut Name) -> c_int;
}

/// The process's libmach.
#[derive(Debug, Clone, Copy)]
pub struct Mach(Functions);

fn outcome(code: c_int) -> Result<(), Code> {
    if Code(code) == Code::SUCCESS { Ok(()) } else { Err(Code(code)) }
}

impl Mach {
    /// The libmach that the program has, else the one that the settings name.
    ///
    /// # Errors
    /// Why it can't be loaded, for a person.
    pub fn find() -> Result<Self, String> {
        // The library's own, where there is one: a program may have functions of another dialect in front of them.
        // SAFETY: the name is a string; nothing is loaded.
        let loaded = unsafe { libc::dlopen(c"libmach.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        let known = if loaded.is_null() { libc::RTLD_DEFAULT } else { loaded };
        if let Some(functions) = Functions::find(known) {
            return Ok(Self(functions));
        }
        let path = Settings::get()
            .libmach
            .as_deref()
            .map_or_else(|| c"libmach.so.1".to_owned(), |path| CString::new(path.as_os_str().as_bytes()).unwrap_or_default());
        // SAFETY: the path is a string.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            // SAFETY: after a failure it is a string, which is copied.
            let why = unsafe { CStr::from_ptr(libc::dlerror()) };
            return Err(why.to_string_lossy().into_owned());
        }
        Functions::find(library).map(Self).ok_or_else(|| format!("{} is of another version", path.to_string_lossy()))
    }

    fn task(&self) -> Name {
        // SAFETY: it has no needs.
        unsafe { (self.0.mach_task_self)() }
    }

    fn get(&self, call: impl FnOnce(Name, *mut Name) -> c_int) -> Result<Name, Code> {
        let mut name = 0;
        outcome(call(self.task(), &raw mut name)).map(|()| name)
    }

    /// `mach_msg` on a buffer.
    ///
    /// # Errors
    /// The code.
    ///
    /// # Safety
    /// The buffer has room for what is sent and for what may be received.
    pub unsafe fn message(
        &self,
        buffer: &mut [u64],
        options: u32,
        send: usize,
        name: Name,
        timeout: u32,
        notify: Name,
    ) -> Result<(), Code> {
        let receive = if options & option::RCV_MSG != 0 { size_of_val(buffer) } else { 0 };
        let header = buffer.as_mut_ptr().cast::<Header>();
        // SAFETY: the caller's promise; the sizes are the buffer's.
        outcome(unsafe { (self.0.mach_msg)(header, options as c_int, send as u32, receive as u32, name, timeout, notify) })
    }

    /// Gives up all that a received message carries.
    pub fn destroy_message(&self, buffer: &mut [u64]) {
        // SAFETY: a message as it was received.
        unsafe { (self.0.mach_msg_destroy)(buffer.as_mut_ptr().cast()) };
    }

    /// A new receive right with the largest queue, in `set`.
    ///
    /// # Errors
    /// No names are left.
    pub fn receive_right(&self, set: Name) -> Result<Name, Code> {
        // SAFETY: the result has a place.
        let name = self.get(|task, name| unsafe { (self.0.mach_port_allocate)(task, right::RECEIVE, name) })?;
        self.widen(name);
        self.move_to(name, set);
        Ok(name)
    }

    /// Gives a receive right the largest queue.
    pub fn widen(&self, name: Name) {
        // SAFETY: no pointers, here and below.
        unsafe { (self.0.mach_port_set_qlimit)(self.task(), name, slipway_abi::QLIMIT_MAX) };
    }

    /// A new port set.
    ///
    /// # Errors
    /// No names are left.
    pub fn set(&self) -> Result<Name, Code> {
        // SAFETY: the result has a place.
        self.get(|task, name| unsafe { (self.0.mach_port_allocate)(task, right::PORT_SET, name) })
    }

    /// Makes a receive right a member of `set`, or of none if that is null.
    pub fn move_to(&self, name: Name, set: Name) {
        // SAFETY: no pointers.
        unsafe { (self.0.mach_port_move_member)(self.task(), name, set) };
    }

    /// Makes a send right of a receive right.
    pub fn make_send(&self, name: Name) {
        // SAFETY: no pointers.
        unsafe { (self.0.mach_port_insert_right)(self.task(), name, name, MAKE_SEND) };
    }

    /// Gives up a receive right.
    pub fn drop_receive(&self, name: Name) {
        // SAFETY: no pointers.
        unsafe { (self.0.mach_port_mod_refs)(self.task(), name, right::RECEIVE, -1) };
    }

    /// Gives up a reference to a send right or a dead name.
    pub fn drop_send(&self, name: Name) {
        // SAFETY: no pointers.
        unsafe { (self.0.mach_port_deallocate)(self.task(), name) };
    }

    /// Whether the port of a send right is gone.
    pub fn is_dead(&self, name: Name) -> bool {
        // SAFETY: the result has a place.
        self.get(|task, found| unsafe { (self.0.mach_port_type)(task, name, found) })
            .is_ok_and(|found| found & kind::DEAD_NAME != 0)
    }

    /// Asks for a message to the port itself when its last send right is gone, of which there was one at least.
    pub fn notify_no_senders(&self, name: Name) {
        let mut previous = 0;
        // SAFETY: the result has a place.
        unsafe {
            let task = self.task();
            let (request, once) = (self.0.mach_port_request_notification, MAKE_SEND_ONCE);
            request(task, name, notify::NO_SENDERS, 1, name, once, &raw mut previous);
        }
    }

    /// A send right for a service.
    ///
    /// # Errors
    /// The name server's code, or that of its being out of reach.
    pub fn look_up(&self, service: &CStr) -> Result<Name, Code> {
        // SAFETY: the name is a string, and the result has a place.
        self.get(|_, name| unsafe { (self.0.bootstrap_look_up)(0, service.as_ptr(), name) })
    }

    /// The receive right behind a service's name: the name server's, if it started this program for the service, else a new one.
    ///
    /// # Errors
    /// The name server's code.
    pub fn serve(&self, service: &CStr) -> Result<Name, Code> {
        // SAFETY: the name is a string, and the result has a place.
        let checked_in = self.get(|_, name| unsafe { (self.0.bootstrap_check_in)(0, service.as_ptr(), name) });
        if checked_in.is_ok() {
            return checked_in;
        }
        let name = self.receive_right(0)?;
        self.make_send(name);
        // SAFETY: the name is a string.
        let code = unsafe { (self.0.bootstrap_register)(0, service.as_ptr(), name) };
        // The name server has a right of its own.
        // SAFETY: no pointers.
        unsafe { (self.0.mach_port_mod_refs)(self.task(), name, right::SEND, -1) };
        outcome(code).map(|()| name).inspect_err(|_| self.drop_receive(name))
    }

    /// A code of the name server's calls in words.
    pub fn describe(&self, code: Code) -> String {
        // SAFETY: the result is a string, which is copied.
        unsafe { CStr::from_ptr((self.0.bootstrap_strerror)(code.0)) }.to_string_lossy().into_owned()
    }

    /// A descriptor that is readable while a message may be at the name, as long as it is [polled](Self::poll).
    ///
    /// # Errors
    /// No descriptors are left.
    pub fn descriptor(&self, name: Name) -> Result<OwnedFd, Code> {
        let mut fd = -1;
        // SAFETY: the result has a place.
        outcome(unsafe { (self.0.slipway_port_descriptor)(name, &raw mut fd) })?;
        // SAFETY: a new descriptor, the caller's.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Whether the name's descriptor is polled from here on.
    pub fn poll(&self, name: Name, on: bool) {
        // SAFETY: no pointers.
        unsafe { (self.0.slipway_port_poll)(name, on.into()) };
    }

    /// The send right that two inherited descriptors stand for.
    ///
    /// # Errors
    /// They stand for none.
    pub fn import(&self, sending: OwnedFd, holder: OwnedFd) -> Result<Name, Code> {
        let mut name = 0;
        // SAFETY: the descriptors are given away, and the result has a place.
        let errno = unsafe { (self.0.slipway_port_import)(sending.into_raw_fd(), holder.into_raw_fd(), &raw mut name) };
        if errno == 0 { Ok(name) } else { Err(Code::INVALID_CAPABILITY) }
    }
}
