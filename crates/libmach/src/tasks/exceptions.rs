// The subsystem exceptions, made by mig. Do not edit: change the .defs file.

use slipway_mach::mig;

/// What `get_exception_ports` gives back.
#[derive(Debug)]
pub struct GetExceptionPortsReply {
    /// `masks`.
    pub masks: Vec<u32>,
    /// `ports`.
    pub ports: Vec<Option<mig::SendRight>>,
    /// `behaviors`.
    pub behaviors: Vec<u32>,
    /// `flavors`.
    pub flavors: Vec<i32>,
}

/// A server of the subsystem exceptions: each of its routines is a method.
#[derive(Debug)]
pub struct Exceptions(pub mig::SendRight);

impl Exceptions {
    /// exceptions.defs:12, message 3413:
    /// `routine set_exception_ports(target: mach_port_t; mask: natural_t; port: mach_port_t;
    /// behavior: natural_t; flavor: int; darwin: boolean_t);`
    pub fn set_exception_ports(
        &self,
        mask: u32,
        port: Option<&mig::SendRight>,
        behavior: u32,
        flavor: i32,
        darwin: bool,
    ) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(3413, "exceptions.set_exception_ports");
        request.value(mig::INTEGER_32, &mask);
        request.right(mig::COPY_SEND, port);
        request.value(mig::INTEGER_32, &behavior);
        request.value(mig::INTEGER_32, &flavor);
        request.value(mig::BOOLEAN, &darwin);
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// exceptions.defs:20, message 3414:
    /// `routine get_exception_ports(target: mach_port_t; mask: natural_t; out masks: masks_t; out
    /// ports: ports_t; out behaviors: masks_t; out flavors: numbers_t);`
    pub fn get_exception_ports(&self, mask: u32) -> Result<GetExceptionPortsReply, mig::Error> {
        let mut request = mig::Request::new(3414, "exceptions.get_exception_ports");
        request.value(mig::INTEGER_32, &mask);
        request.call(&self.0, 360, |reply| {
            let masks: Vec<u32> = reply.list(mig::INTEGER_32, 14)?;
            let ports: Vec<Option<mig::SendRight>> = reply.rights(14)?;
            let behaviors: Vec<u32> = reply.list(mig::INTEGER_32, 14)?;
            let flavors: Vec<i32> = reply.list(mig::INTEGER_32, 14)?;
            Ok(GetExceptionPortsReply {
                masks,
                ports,
                behaviors,
                flavors,
            })
        })
    }
}

/// A server of the subsystem exceptions. An error that a routine returns is its caller's result.
pub trait ExceptionsServer {
    /// exceptions.defs:12, message 3413:
    /// `routine set_exception_ports(target: mach_port_t; mask: natural_t; port: mach_port_t;
    /// behavior: natural_t; flavor: int; darwin: boolean_t);`
    fn set_exception_ports(
        &mut self,
        target: mig::Target,
        mask: u32,
        port: Option<mig::SendRight>,
        behavior: u32,
        flavor: i32,
        darwin: bool,
    ) -> Result<(), mig::Code>;

    /// exceptions.defs:20, message 3414:
    /// `routine get_exception_ports(target: mach_port_t; mask: natural_t; out masks: masks_t; out
    /// ports: ports_t; out behaviors: masks_t; out flavors: numbers_t);`
    fn get_exception_ports(
        &mut self,
        target: mig::Target,
        mask: u32,
    ) -> Result<GetExceptionPortsReply, mig::Code>;
}

/// Serves a request, and makes the answer, which is to be sent.
///
/// # Errors
/// The request itself, if no routine has its identifier.
pub fn demux<S: ExceptionsServer + ?Sized>(server: &mut S, request: mig::Received) -> mig::Served {
    let routine: mig::Routine<S> = match request.id() {
        3413 => serve_set_exception_ports,
        3414 => serve_get_exception_ports,
        _ => return Err(Box::new(request)),
    };
    Ok(mig::answer(request, server, routine))
}

fn serve_set_exception_ports<S: ExceptionsServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let mask: u32 = request.value(mig::INTEGER_32)?;
    let port: Option<mig::SendRight> = request.right()?;
    let behavior: u32 = request.value(mig::INTEGER_32)?;
    let flavor: i32 = request.value(mig::INTEGER_32)?;
    let darwin: bool = request.value(mig::BOOLEAN)?;
    request.finish()?;
    server.set_exception_ports(request.target(), mask, port, behavior, flavor, darwin)
}

fn serve_get_exception_ports<S: ExceptionsServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let mask: u32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let out = server.get_exception_ports(request.target(), mask)?;
    reply.list(mig::INTEGER_32, 14, &out.masks);
    reply.rights(mig::MOVE_SEND, 14, out.ports);
    reply.list(mig::INTEGER_32, 14, &out.behaviors);
    reply.list(mig::INTEGER_32, 14, &out.flavors);
    Ok(())
}
