// The subsystem exc, made by mig. Do not edit: change the .defs file.

use slipway_mach::mig;

/// What `exception_raise_state` gives back.
#[derive(Debug)]
pub struct ExceptionRaiseStateReply {
    /// `flavor`.
    pub flavor: i32,
    /// `new_state`.
    pub new_state: Vec<u32>,
}

/// What `exception_raise_state_identity` gives back.
#[derive(Debug)]
pub struct ExceptionRaiseStateIdentityReply {
    /// `flavor`.
    pub flavor: i32,
    /// `new_state`.
    pub new_state: Vec<u32>,
}

/// A server of the subsystem exc: each of its routines is a method.
#[derive(Debug)]
pub struct Exc(pub mig::SendRight);

impl Exc {
    /// exc.defs:9, message 2400:
    /// `routine exception_raise(exception_port: mach_port_t; thread: mach_port_t; task:
    /// mach_port_t; exception: integer_t; code: integer_t; subcode: rpc_long_integer_t);`
    pub fn exception_raise(
        &self,
        thread: Option<&mig::SendRight>,
        task: Option<&mig::SendRight>,
        exception: i32,
        code: i32,
        subcode: i64,
    ) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(2400, "exc.exception_raise");
        request.right(mig::COPY_SEND, thread);
        request.right(mig::COPY_SEND, task);
        request.value(mig::INTEGER_32, &exception);
        request.value(mig::INTEGER_32, &code);
        request.value(mig::INTEGER_64, &subcode);
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// exc.defs:19, message 2402:
    /// `routine exception_raise_state(exception_port: mach_port_t; exception: integer_t; code:
    /// integer_t; subcode: rpc_long_integer_t; inout flavor: int; old_state: thread_state_t; out
    /// new_state: thread_state_t);`
    pub fn exception_raise_state(
        &self,
        exception: i32,
        code: i32,
        subcode: i64,
        flavor: i32,
        old_state: &[u32],
    ) -> Result<ExceptionRaiseStateReply, mig::Error> {
        let mut request = mig::Request::new(2402, "exc.exception_raise_state");
        request.value(mig::INTEGER_32, &exception);
        request.value(mig::INTEGER_32, &code);
        request.value(mig::INTEGER_64, &subcode);
        request.value(mig::INTEGER_32, &flavor);
        request.list(mig::INTEGER_32, 1024, old_state);
        request.call(&self.0, 4168, |reply| {
            let flavor: i32 = reply.value(mig::INTEGER_32)?;
            let new_state: Vec<u32> = reply.list(mig::INTEGER_32, 1024)?;
            Ok(ExceptionRaiseStateReply { flavor, new_state })
        })
    }

    /// exc.defs:28, message 2403:
    /// `routine exception_raise_state_identity(exception_port: mach_port_t; thread: mach_port_t;
    /// task: mach_port_t; exception: integer_t; code: integer_t; subcode: rpc_long_integer_t; inout
    /// flavor: int; old_state: thread_state_t; out new_state: thread_state_t);`
    #[allow(clippy::too_many_arguments)]
    pub fn exception_raise_state_identity(
        &self,
        thread: Option<&mig::SendRight>,
        task: Option<&mig::SendRight>,
        exception: i32,
        code: i32,
        subcode: i64,
        flavor: i32,
        old_state: &[u32],
    ) -> Result<ExceptionRaiseStateIdentityReply, mig::Error> {
        let mut request = mig::Request::new(2403, "exc.exception_raise_state_identity");
        request.right(mig::COPY_SEND, thread);
        request.right(mig::COPY_SEND, task);
        request.value(mig::INTEGER_32, &exception);
        request.value(mig::INTEGER_32, &code);
        request.value(mig::INTEGER_64, &subcode);
        request.value(mig::INTEGER_32, &flavor);
        request.list(mig::INTEGER_32, 1024, old_state);
        request.call(&self.0, 4168, |reply| {
            let flavor: i32 = reply.value(mig::INTEGER_32)?;
            let new_state: Vec<u32> = reply.list(mig::INTEGER_32, 1024)?;
            Ok(ExceptionRaiseStateIdentityReply { flavor, new_state })
        })
    }
}

/// A server of the subsystem exc. An error that a routine returns is its caller's result.
pub trait ExcServer {
    /// exc.defs:9, message 2400:
    /// `routine exception_raise(exception_port: mach_port_t; thread: mach_port_t; task:
    /// mach_port_t; exception: integer_t; code: integer_t; subcode: rpc_long_integer_t);`
    fn exception_raise(
        &mut self,
        exception_port: mig::Target,
        thread: Option<mig::SendRight>,
        task: Option<mig::SendRight>,
        exception: i32,
        code: i32,
        subcode: i64,
    ) -> Result<(), mig::Code>;

    /// exc.defs:19, message 2402:
    /// `routine exception_raise_state(exception_port: mach_port_t; exception: integer_t; code:
    /// integer_t; subcode: rpc_long_integer_t; inout flavor: int; old_state: thread_state_t; out
    /// new_state: thread_state_t);`
    fn exception_raise_state(
        &mut self,
        exception_port: mig::Target,
        exception: i32,
        code: i32,
        subcode: i64,
        flavor: i32,
        old_state: Vec<u32>,
    ) -> Result<ExceptionRaiseStateReply, mig::Code>;

    /// exc.defs:28, message 2403:
    /// `routine exception_raise_state_identity(exception_port: mach_port_t; thread: mach_port_t;
    /// task: mach_port_t; exception: integer_t; code: integer_t; subcode: rpc_long_integer_t; inout
    /// flavor: int; old_state: thread_state_t; out new_state: thread_state_t);`
    #[allow(clippy::too_many_arguments)]
    fn exception_raise_state_identity(
        &mut self,
        exception_port: mig::Target,
        thread: Option<mig::SendRight>,
        task: Option<mig::SendRight>,
        exception: i32,
        code: i32,
        subcode: i64,
        flavor: i32,
        old_state: Vec<u32>,
    ) -> Result<ExceptionRaiseStateIdentityReply, mig::Code>;
}

/// Serves a request, and makes the answer, which is to be sent.
///
/// # Errors
/// The request itself, if no routine has its identifier.
pub fn demux<S: ExcServer + ?Sized>(server: &mut S, request: mig::Received) -> mig::Served {
    let routine: mig::Routine<S> = match request.id() {
        2400 => serve_exception_raise,
        2402 => serve_exception_raise_state,
        2403 => serve_exception_raise_state_identity,
        _ => return Err(Box::new(request)),
    };
    Ok(mig::answer(request, server, routine))
}

fn serve_exception_raise<S: ExcServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let thread: Option<mig::SendRight> = request.right()?;
    let task: Option<mig::SendRight> = request.right()?;
    let exception: i32 = request.value(mig::INTEGER_32)?;
    let code: i32 = request.value(mig::INTEGER_32)?;
    let subcode: i64 = request.value(mig::INTEGER_64)?;
    request.finish()?;
    server.exception_raise(request.target(), thread, task, exception, code, subcode)
}

fn serve_exception_raise_state<S: ExcServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let exception: i32 = request.value(mig::INTEGER_32)?;
    let code: i32 = request.value(mig::INTEGER_32)?;
    let subcode: i64 = request.value(mig::INTEGER_64)?;
    let flavor: i32 = request.value(mig::INTEGER_32)?;
    let old_state: Vec<u32> = request.list(mig::INTEGER_32, 1024)?;
    request.finish()?;
    let out = server.exception_raise_state(
        request.target(),
        exception,
        code,
        subcode,
        flavor,
        old_state,
    )?;
    reply.value(mig::INTEGER_32, &out.flavor);
    reply.list(mig::INTEGER_32, 1024, &out.new_state);
    Ok(())
}

fn serve_exception_raise_state_identity<S: ExcServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let thread: Option<mig::SendRight> = request.right()?;
    let task: Option<mig::SendRight> = request.right()?;
    let exception: i32 = request.value(mig::INTEGER_32)?;
    let code: i32 = request.value(mig::INTEGER_32)?;
    let subcode: i64 = request.value(mig::INTEGER_64)?;
    let flavor: i32 = request.value(mig::INTEGER_32)?;
    let old_state: Vec<u32> = request.list(mig::INTEGER_32, 1024)?;
    request.finish()?;
    let out = server.exception_raise_state_identity(
        request.target(),
        thread,
        task,
        exception,
        code,
        subcode,
        flavor,
        old_state,
    )?;
    reply.value(mig::INTEGER_32, &out.flavor);
    reply.list(mig::INTEGER_32, 1024, &out.new_state);
    Ok(())
}
