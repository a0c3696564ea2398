// The subsystem names, made by mig. Do not edit: change the .defs file.

use slipway_mach::mig;

/// What `mach_port_names` gives back.
#[derive(Debug)]
pub struct MachPortNamesReply {
    /// `names`.
    pub names: mig::Array<u32>,
    /// `types`.
    pub types: mig::Array<u32>,
}

/// A server of the subsystem names: each of its routines is a method.
#[derive(Debug)]
pub struct Names(pub mig::SendRight);

impl Names {
    /// names.defs:7, message 3200:
    /// `routine mach_port_names(task: ipc_space_t; out names: mach_port_name_array_t = ^array[] of
    /// mach_port_name_t, dealloc; out types: mach_port_type_array_t = ^array[] of mach_port_type_t,
    /// dealloc);`
    pub fn mach_port_names(&self) -> Result<MachPortNamesReply, mig::Error> {
        let request = mig::Request::new(3200, "names.mach_port_names");
        request.call(&self.0, 80, |reply| {
            let names: mig::Array<u32> = reply.memory(mig::PORT_NAME.long(), u32::MAX)?;
            let types: mig::Array<u32> = reply.memory(mig::INTEGER_32.long(), u32::MAX)?;
            Ok(MachPortNamesReply { names, types })
        })
    }

    /// names.defs:12, message 3201:
    /// `routine mach_port_type(task: ipc_space_t; name: mach_port_name_t; out port_type:
    /// mach_port_type_t);`
    pub fn mach_port_type(&self, name: u32) -> Result<u32, mig::Error> {
        let mut request = mig::Request::new(3201, "names.mach_port_type");
        request.value(mig::PORT_NAME, &name);
        request.call(&self.0, 64, |reply| {
            let port_type: u32 = reply.value(mig::INTEGER_32)?;
            Ok(port_type)
        })
    }

    /// names.defs:19, message 3204:
    /// `routine mach_port_allocate(task: ipc_space_t; right: mach_port_right_t; out name:
    /// mach_port_name_t);`
    pub fn mach_port_allocate(&self, right: u32) -> Result<u32, mig::Error> {
        let mut request = mig::Request::new(3204, "names.mach_port_allocate");
        request.value(mig::INTEGER_32, &right);
        request.call(&self.0, 64, |reply| {
            let name: u32 = reply.value(mig::PORT_NAME)?;
            Ok(name)
        })
    }

    /// names.defs:24, message 3205:
    /// `routine mach_port_destroy(task: ipc_space_t; name: mach_port_name_t);`
    pub fn mach_port_destroy(&self, name: u32) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(3205, "names.mach_port_destroy");
        request.value(mig::PORT_NAME, &name);
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// names.defs:28, message 3206:
    /// `routine mach_port_deallocate(task: ipc_space_t; name: mach_port_name_t);`
    pub fn mach_port_deallocate(&self, name: u32) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(3206, "names.mach_port_deallocate");
        request.value(mig::PORT_NAME, &name);
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// names.defs:32, message 3207:
    /// `routine mach_port_get_refs(task: ipc_space_t; name: mach_port_name_t; right:
    /// mach_port_right_t; out refs: mach_port_urefs_t);`
    pub fn mach_port_get_refs(&self, name: u32, right: u32) -> Result<u32, mig::Error> {
        let mut request = mig::Request::new(3207, "names.mach_port_get_refs");
        request.value(mig::PORT_NAME, &name);
        request.value(mig::INTEGER_32, &right);
        request.call(&self.0, 64, |reply| {
            let refs: u32 = reply.value(mig::INTEGER_32)?;
            Ok(refs)
        })
    }

    /// names.defs:38, message 3208:
    /// `routine mach_port_mod_refs(task: ipc_space_t; name: mach_port_name_t; right:
    /// mach_port_right_t; delta: mach_port_delta_t);`
    pub fn mach_port_mod_refs(&self, name: u32, right: u32, delta: i32) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(3208, "names.mach_port_mod_refs");
        request.value(mig::PORT_NAME, &name);
        request.value(mig::INTEGER_32, &right);
        request.value(mig::INTEGER_32, &delta);
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// names.defs:46, message 3216:
    /// `routine mach_port_insert_right(task: ipc_space_t; name: mach_port_name_t; right:
    /// mach_port_poly_t);`
    pub fn mach_port_insert_right<'a>(
        &self,
        name: u32,
        right: impl Into<mig::Carry<'a>>,
    ) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(3216, "names.mach_port_insert_right");
        request.value(mig::PORT_NAME, &name);
        request.any_right(right);
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// names.defs:51, message 3217:
    /// `routine mach_port_extract_right(task: ipc_space_t; name: mach_port_name_t; desired:
    /// mach_msg_type_name_t; out right: mach_port_poly_t);`
    pub fn mach_port_extract_right(
        &self,
        name: u32,
        desired: u32,
    ) -> Result<mig::AnyRight, mig::Error> {
        let mut request = mig::Request::new(3217, "names.mach_port_extract_right");
        request.value(mig::PORT_NAME, &name);
        request.value(mig::INTEGER_32, &desired);
        request.call(&self.0, 64, |reply| {
            let right: mig::AnyRight = reply.any_right()?;
            Ok(right)
        })
    }
}

/// A server of the subsystem names. An error that a routine returns is its caller's result.
pub trait NamesServer {
    /// names.defs:7, message 3200:
    /// `routine mach_port_names(task: ipc_space_t; out names: mach_port_name_array_t = ^array[] of
    /// mach_port_name_t, dealloc; out types: mach_port_type_array_t = ^array[] of mach_port_type_t,
    /// dealloc);`
    fn mach_port_names(&mut self, task: mig::Target) -> Result<MachPortNamesReply, mig::Code>;

    /// names.defs:12, message 3201:
    /// `routine mach_port_type(task: ipc_space_t; name: mach_port_name_t; out port_type:
    /// mach_port_type_t);`
    fn mach_port_type(&mut self, task: mig::Target, name: u32) -> Result<u32, mig::Code>;

    /// names.defs:19, message 3204:
    /// `routine mach_port_allocate(task: ipc_space_t; right: mach_port_right_t; out name:
    /// mach_port_name_t);`
    fn mach_port_allocate(&mut self, task: mig::Target, right: u32) -> Result<u32, mig::Code>;

    /// names.defs:24, message 3205:
    /// `routine mach_port_destroy(task: ipc_space_t; name: mach_port_name_t);`
    fn mach_port_destroy(&mut self, task: mig::Target, name: u32) -> Result<(), mig::Code>;

    /// names.defs:28, message 3206:
    /// `routine mach_port_deallocate(task: ipc_space_t; name: mach_port_name_t);`
    fn mach_port_deallocate(&mut self, task: mig::Target, name: u32) -> Result<(), mig::Code>;

    /// names.defs:32, message 3207:
    /// `routine mach_port_get_refs(task: ipc_space_t; name: mach_port_name_t; right:
    /// mach_port_right_t; out refs: mach_port_urefs_t);`
    fn mach_port_get_refs(
        &mut self,
        task: mig::Target,
        name: u32,
        right: u32,
    ) -> Result<u32, mig::Code>;

    /// names.defs:38, message 3208:
    /// `routine mach_port_mod_refs(task: ipc_space_t; name: mach_port_name_t; right:
    /// mach_port_right_t; delta: mach_port_delta_t);`
    fn mach_port_mod_refs(
        &mut self,
        task: mig::Target,
        name: u32,
        right: u32,
        delta: i32,
    ) -> Result<(), mig::Code>;

    /// names.defs:46, message 3216:
    /// `routine mach_port_insert_right(task: ipc_space_t; name: mach_port_name_t; right:
    /// mach_port_poly_t);`
    fn mach_port_insert_right(
        &mut self,
        task: mig::Target,
        name: u32,
        right: mig::AnyRight,
    ) -> Result<(), mig::Code>;

    /// names.defs:51, message 3217:
    /// `routine mach_port_extract_right(task: ipc_space_t; name: mach_port_name_t; desired:
    /// mach_msg_type_name_t; out right: mach_port_poly_t);`
    fn mach_port_extract_right(
        &mut self,
        task: mig::Target,
        name: u32,
        desired: u32,
    ) -> Result<mig::AnyRight, mig::Code>;
}

/// Serves a request, and makes the answer, which is to be sent.
///
/// # Errors
/// The request itself, if no routine has its identifier.
pub fn demux<S: NamesServer + ?Sized>(server: &mut S, request: mig::Received) -> mig::Served {
    let routine: mig::Routine<S> = match request.id() {
        3200 => serve_mach_port_names,
        3201 => serve_mach_port_type,
        3204 => serve_mach_port_allocate,
        3205 => serve_mach_port_destroy,
        3206 => serve_mach_port_deallocate,
        3207 => serve_mach_port_get_refs,
        3208 => serve_mach_port_mod_refs,
        3216 => serve_mach_port_insert_right,
        3217 => serve_mach_port_extract_right,
        _ => return Err(Box::new(request)),
    };
    Ok(mig::answer(request, server, routine))
}

fn serve_mach_port_names<S: NamesServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    request.finish()?;
    let out = server.mach_port_names(request.target())?;
    reply.memory(mig::PORT_NAME.long(), u32::MAX, out.names);
    reply.memory(mig::INTEGER_32.long(), u32::MAX, out.types);
    Ok(())
}

fn serve_mach_port_type<S: NamesServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let name: u32 = request.value(mig::PORT_NAME)?;
    request.finish()?;
    let port_type = server.mach_port_type(request.target(), name)?;
    reply.value(mig::INTEGER_32, &port_type);
    Ok(())
}

fn serve_mach_port_allocate<S: NamesServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let right: u32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let name = server.mach_port_allocate(request.target(), right)?;
    reply.value(mig::PORT_NAME, &name);
    Ok(())
}

fn serve_mach_port_destroy<S: NamesServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let name: u32 = request.value(mig::PORT_NAME)?;
    request.finish()?;
    server.mach_port_destroy(request.target(), name)
}

fn serve_mach_port_deallocate<S: NamesServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let name: u32 = request.value(mig::PORT_NAME)?;
    request.finish()?;
    server.mach_port_deallocate(request.target(), name)
}

fn serve_mach_port_get_refs<S: NamesServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let name: u32 = request.value(mig::PORT_NAME)?;
    let right: u32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let refs = server.mach_port_get_refs(request.target(), name, right)?;
    reply.value(mig::INTEGER_32, &refs);
    Ok(())
}

fn serve_mach_port_mod_refs<S: NamesServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let name: u32 = request.value(mig::PORT_NAME)?;
    let right: u32 = request.value(mig::INTEGER_32)?;
    let delta: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    server.mach_port_mod_refs(request.target(), name, right, delta)
}

fn serve_mach_port_insert_right<S: NamesServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let name: u32 = request.value(mig::PORT_NAME)?;
    let right: mig::AnyRight = request.any_right()?;
    request.finish()?;
    server.mach_port_insert_right(request.target(), name, right)
}

fn serve_mach_port_extract_right<S: NamesServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let name: u32 = request.value(mig::PORT_NAME)?;
    let desired: u32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let right = server.mach_port_extract_right(request.target(), name, desired)?;
    reply.any_right(right);
    Ok(())
}
