// The subsystem listing, made by mig. Do not edit: change the .defs file.

use slipway_mach::mig;

/// `service_info_t`, of 388 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceInfo {
    /// At byte 0.
    pub name: [u8; 128],
    /// At byte 128.
    pub program: [u8; 128],
    /// At byte 256.
    pub note: [u8; 128],
    /// At byte 384.
    pub status: u32,
}

impl mig::Plain for ServiceInfo {
    const SIZE: usize = 388;

    fn load(from: &[u8]) -> Self {
        Self {
            name: mig::field(from, 0),
            program: mig::field(from, 128),
            note: mig::field(from, 256),
            status: mig::field(from, 384),
        }
    }

    fn store(&self, to: &mut [u8]) {
        mig::set_field(to, 0, &self.name);
        mig::set_field(to, 128, &self.program);
        mig::set_field(to, 256, &self.note);
        mig::set_field(to, 384, &self.status);
    }
}

/// A server of the subsystem listing: each of its routines is a method.
#[derive(Debug)]
pub struct Listing(pub mig::SendRight);

impl Listing {
    /// listing.defs:18, message 408:
    /// `routine list_services(server: mach_port_t; out services: service_list_t);`
    pub fn list_services(&self) -> Result<mig::Array<ServiceInfo>, mig::Error> {
        let request = mig::Request::new(408, "listing.list_services");
        request.call(&self.0, 2000, |reply| {
            let services: mig::Array<ServiceInfo> =
                reply.array(mig::INTEGER_32.times(97).long(), 5)?;
            Ok(services)
        })
    }
}

/// A server of the subsystem listing. An error that a routine returns is its caller's result.
pub trait ListingServer {
    /// listing.defs:18, message 408:
    /// `routine list_services(server: mach_port_t; out services: service_list_t);`
    fn list_services(&mut self, server: mig::Target) -> Result<mig::Array<ServiceInfo>, mig::Code>;
}

/// Serves a request, and makes the answer, which is to be sent.
///
/// # Errors
/// The request itself, if no routine has its identifier.
pub fn demux<S: ListingServer + ?Sized>(server: &mut S, request: mig::Received) -> mig::Served {
    let routine: mig::Routine<S> = match request.id() {
        408 => serve_list_services,
        _ => return Err(Box::new(request)),
    };
    Ok(mig::answer(request, server, routine))
}

fn serve_list_services<S: ListingServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    request.finish()?;
    let services = server.list_services(request.target())?;
    reply.array(mig::INTEGER_32.times(97).long(), 5, services);
    Ok(())
}
