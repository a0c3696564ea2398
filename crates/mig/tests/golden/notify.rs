// The subsystem notify, made by mig. Do not edit: change the .defs file.

use slipway_mach::mig;

/// The routines of the subsystem notify.
#[derive(Debug)]
pub struct Notify;

impl Notify {
    /// notify.defs:42, message 65:
    /// `simpleroutine mach_notify_port_deleted(notify: notify_port_t; name: mach_port_name_t);`
    pub fn mach_notify_port_deleted(
        notify: mig::SendOnceRight,
        name: u32,
    ) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(65, "notify.mach_notify_port_deleted");
        request.value(mig::PORT_NAME, &name);
        request.send(notify)
    }

    /// notify.defs:48, message 66:
    /// `simpleroutine mach_notify_msg_accepted(notify: notify_port_t; name: mach_port_name_t);`
    pub fn mach_notify_msg_accepted(
        notify: mig::SendOnceRight,
        name: u32,
    ) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(66, "notify.mach_notify_msg_accepted");
        request.value(mig::PORT_NAME, &name);
        request.send(notify)
    }

    /// notify.defs:56, message 69:
    /// `simpleroutine mach_notify_port_destroyed(notify: notify_port_t; rights:
    /// mach_port_receive_t);`
    pub fn mach_notify_port_destroyed(
        notify: mig::SendOnceRight,
        rights: Option<mig::ReceiveRight>,
    ) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(69, "notify.mach_notify_port_destroyed");
        request.right(mig::MOVE_RECEIVE, rights);
        request.send(notify)
    }

    /// notify.defs:62, message 70:
    /// `simpleroutine mach_notify_no_senders(notify: notify_port_t; mscount: mach_port_mscount_t);`
    pub fn mach_notify_no_senders(
        notify: mig::SendOnceRight,
        mscount: u32,
    ) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(70, "notify.mach_notify_no_senders");
        request.value(mig::INTEGER_32, &mscount);
        request.send(notify)
    }

    /// notify.defs:68, message 71:
    /// `simpleroutine mach_notify_send_once(notify: notify_port_t;);`
    pub fn mach_notify_send_once(notify: mig::SendOnceRight) -> Result<(), mig::Error> {
        let request = mig::Request::new(71, "notify.mach_notify_send_once");
        request.send(notify)
    }

    /// notify.defs:73, message 72:
    /// `simpleroutine mach_notify_dead_name(notify: notify_port_t; name: mach_port_name_t);`
    pub fn mach_notify_dead_name(notify: mig::SendOnceRight, name: u32) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(72, "notify.mach_notify_dead_name");
        request.value(mig::PORT_NAME, &name);
        request.send(notify)
    }
}

/// A server of the subsystem notify. An error that a routine returns is its caller's result.
pub trait NotifyServer {
    /// notify.defs:42, message 65:
    /// `simpleroutine mach_notify_port_deleted(notify: notify_port_t; name: mach_port_name_t);`
    fn mach_notify_port_deleted(&mut self, notify: mig::Target, name: u32)
    -> Result<(), mig::Code>;

    /// notify.defs:48, message 66:
    /// `simpleroutine mach_notify_msg_accepted(notify: notify_port_t; name: mach_port_name_t);`
    fn mach_notify_msg_accepted(&mut self, notify: mig::Target, name: u32)
    -> Result<(), mig::Code>;

    /// notify.defs:56, message 69:
    /// `simpleroutine mach_notify_port_destroyed(notify: notify_port_t; rights:
    /// mach_port_receive_t);`
    fn mach_notify_port_destroyed(
        &mut self,
        notify: mig::Target,
        rights: Option<mig::ReceiveRight>,
    ) -> Result<(), mig::Code>;

    /// notify.defs:62, message 70:
    /// `simpleroutine mach_notify_no_senders(notify: notify_port_t; mscount: mach_port_mscount_t);`
    fn mach_notify_no_senders(
        &mut self,
        notify: mig::Target,
        mscount: u32,
    ) -> Result<(), mig::Code>;

    /// notify.defs:68, message 71:
    /// `simpleroutine mach_notify_send_once(notify: notify_port_t;);`
    fn mach_notify_send_once(&mut self, notify: mig::Target) -> Result<(), mig::Code>;

    /// notify.defs:73, message 72:
    /// `simpleroutine mach_notify_dead_name(notify: notify_port_t; name: mach_port_name_t);`
    fn mach_notify_dead_name(&mut self, notify: mig::Target, name: u32) -> Result<(), mig::Code>;
}

/// Serves a request, and makes the answer, which is to be sent.
///
/// # Errors
/// The request itself, if no routine has its identifier.
pub fn demux<S: NotifyServer + ?Sized>(server: &mut S, request: mig::Received) -> mig::Served {
    let routine: mig::Routine<S> = match request.id() {
        65 => serve_mach_notify_port_deleted,
        66 => serve_mach_notify_msg_accepted,
        69 => serve_mach_notify_port_destroyed,
        70 => serve_mach_notify_no_senders,
        71 => serve_mach_notify_send_once,
        72 => serve_mach_notify_dead_name,
        _ => return Err(Box::new(request)),
    };
    Ok(mig::answer(request, server, routine))
}

fn serve_mach_notify_port_deleted<S: NotifyServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let name: u32 = request.value(mig::PORT_NAME)?;
    request.finish()?;
    server.mach_notify_port_deleted(request.target(), name)
}

fn serve_mach_notify_msg_accepted<S: NotifyServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let name: u32 = request.value(mig::PORT_NAME)?;
    request.finish()?;
    server.mach_notify_msg_accepted(request.target(), name)
}

fn serve_mach_notify_port_destroyed<S: NotifyServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let rights: Option<mig::ReceiveRight> = request.right()?;
    request.finish()?;
    server.mach_notify_port_destroyed(request.target(), rights)
}

fn serve_mach_notify_no_senders<S: NotifyServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let mscount: u32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    server.mach_notify_no_senders(request.target(), mscount)
}

fn serve_mach_notify_send_once<S: NotifyServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    request.finish()?;
    server.mach_notify_send_once(request.target())
}

fn serve_mach_notify_dead_name<S: NotifyServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let name: u32 = request.value(mig::PORT_NAME)?;
    request.finish()?;
    server.mach_notify_dead_name(request.target(), name)
}
