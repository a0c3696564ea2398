// The subsystem bootstrap, made by mig. Do not edit: change the .defs file.

use slipway_mach::mig;
use std::ffi::{CStr, CString};

/// A server of the subsystem bootstrap: each of its routines is a method.
#[derive(Debug)]
pub struct Bootstrap(pub mig::SendRight);

impl Bootstrap {
    /// bootstrap.defs:19, message 402:
    /// `routine bootstrap_check_in(bp: mach_port_t; service_name: name_t; out service_port:
    /// mach_port_move_receive_t);`
    pub fn bootstrap_check_in(
        &self,
        service_name: &CStr,
    ) -> Result<Option<mig::ReceiveRight>, mig::Error> {
        let mut request = mig::Request::new(402, "bootstrap.bootstrap_check_in");
        request.string(128, service_name);
        request.call(&self.0, 64, |reply| {
            let service_port: Option<mig::ReceiveRight> = reply.right()?;
            Ok(service_port)
        })
    }

    /// bootstrap.defs:25, message 403:
    /// `routine bootstrap_register(bp: mach_port_t; service_name: name_t; service_port:
    /// mach_port_t);`
    pub fn bootstrap_register(
        &self,
        service_name: &CStr,
        service_port: Option<&mig::SendRight>,
    ) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(403, "bootstrap.bootstrap_register");
        request.string(128, service_name);
        request.right(mig::COPY_SEND, service_port);
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// bootstrap.defs:31, message 404:
    /// `routine bootstrap_look_up(bp: mach_port_t; service_name: name_t; out service_port:
    /// mach_port_t);`
    pub fn bootstrap_look_up(
        &self,
        service_name: &CStr,
    ) -> Result<Option<mig::SendRight>, mig::Error> {
        let mut request = mig::Request::new(404, "bootstrap.bootstrap_look_up");
        request.string(128, service_name);
        request.call(&self.0, 64, |reply| {
            let service_port: Option<mig::SendRight> = reply.right()?;
            Ok(service_port)
        })
    }

    /// bootstrap.defs:38, message 407:
    /// `routine bootstrap_status(bp: mach_port_t; service_name: name_t; out service_active:
    /// bootstrap_status_t);`
    pub fn bootstrap_status(&self, service_name: &CStr) -> Result<i32, mig::Error> {
        let mut request = mig::Request::new(407, "bootstrap.bootstrap_status");
        request.string(128, service_name);
        request.call(&self.0, 64, |reply| {
            let service_active: i32 = reply.value(mig::BOOLEAN)?;
            Ok(service_active)
        })
    }

    /// bootstrap.defs:47, message 410:
    /// `routine bootstrap_create_service(bp: mach_port_t; service_name: name_t; out service_port:
    /// mach_port_move_send_t);`
    pub fn bootstrap_create_service(
        &self,
        service_name: &CStr,
    ) -> Result<Option<mig::SendRight>, mig::Error> {
        let mut request = mig::Request::new(410, "bootstrap.bootstrap_create_service");
        request.string(128, service_name);
        request.call(&self.0, 64, |reply| {
            let service_port: Option<mig::SendRight> = reply.right()?;
            Ok(service_port)
        })
    }
}

/// A server of the subsystem bootstrap. An error that a routine returns is its caller's result.
pub trait BootstrapServer {
    /// bootstrap.defs:19, message 402:
    /// `routine bootstrap_check_in(bp: mach_port_t; service_name: name_t; out service_port:
    /// mach_port_move_receive_t);`
    fn bootstrap_check_in(
        &mut self,
        bp: mig::Target,
        service_name: CString,
    ) -> Result<Option<mig::ReceiveRight>, mig::Code>;

    /// bootstrap.defs:25, message 403:
    /// `routine bootstrap_register(bp: mach_port_t; service_name: name_t; service_port:
    /// mach_port_t);`
    fn bootstrap_register(
        &mut self,
        bp: mig::Target,
        service_name: CString,
        service_port: Option<mig::SendRight>,
    ) -> Result<(), mig::Code>;

    /// bootstrap.defs:31, message 404:
    /// `routine bootstrap_look_up(bp: mach_port_t; service_name: name_t; out service_port:
    /// mach_port_t);`
    fn bootstrap_look_up(
        &mut self,
        bp: mig::Target,
        service_name: CString,
    ) -> Result<Option<mig::SendRight>, mig::Code>;

    /// bootstrap.defs:38, message 407:
    /// `routine bootstrap_status(bp: mach_port_t; service_name: name_t; out service_active:
    /// bootstrap_status_t);`
    fn bootstrap_status(
        &mut self,
        bp: mig::Target,
        service_name: CString,
    ) -> Result<i32, mig::Code>;

    /// bootstrap.defs:47, message 410:
    /// `routine bootstrap_create_service(bp: mach_port_t; service_name: name_t; out service_port:
    /// mach_port_move_send_t);`
    fn bootstrap_create_service(
        &mut self,
        bp: mig::Target,
        service_name: CString,
    ) -> Result<Option<mig::SendRight>, mig::Code>;
}

/// Serves a request, and makes the answer, which is to be sent.
///
/// # Errors
/// The request itself, if no routine has its identifier.
pub fn demux<S: BootstrapServer + ?Sized>(server: &mut S, request: mig::Received) -> mig::Served {
    let routine: mig::Routine<S> = match request.id() {
        402 => serve_bootstrap_check_in,
        403 => serve_bootstrap_register,
        404 => serve_bootstrap_look_up,
        407 => serve_bootstrap_status,
        410 => serve_bootstrap_create_service,
        _ => return Err(Box::new(request)),
    };
    Ok(mig::answer(request, server, routine))
}

fn serve_bootstrap_check_in<S: BootstrapServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let service_name: CString = request.string(128)?;
    request.finish()?;
    let service_port = server.bootstrap_check_in(request.target(), service_name)?;
    reply.right(mig::MOVE_RECEIVE, service_port);
    Ok(())
}

fn serve_bootstrap_register<S: BootstrapServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let service_name: CString = request.string(128)?;
    let service_port: Option<mig::SendRight> = request.right()?;
    request.finish()?;
    server.bootstrap_register(request.target(), service_name, service_port)
}

fn serve_bootstrap_look_up<S: BootstrapServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let service_name: CString = request.string(128)?;
    request.finish()?;
    let service_port = server.bootstrap_look_up(request.target(), service_name)?;
    reply.right(mig::MOVE_SEND, service_port);
    Ok(())
}

fn serve_bootstrap_status<S: BootstrapServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let service_name: CString = request.string(128)?;
    request.finish()?;
    let service_active = server.bootstrap_status(request.target(), service_name)?;
    reply.value(mig::BOOLEAN, &service_active);
    Ok(())
}

fn serve_bootstrap_create_service<S: BootstrapServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let service_name: CString = request.string(128)?;
    request.finish()?;
    let service_port = server.bootstrap_create_service(request.target(), service_name)?;
    reply.right(mig::MOVE_SEND, service_port);
    Ok(())
}
