// The subsystem mach, made by mig. Do not edit: change the .defs file.

use slipway_mach::mig;

/// A server of the subsystem mach: each of its routines is a method.
#[derive(Debug)]
pub struct Mach(pub mig::SendRight);

impl Mach {
    /// mach.defs:12, message 2008:
    /// `routine task_terminate(target_task: task_t);`
    pub fn task_terminate(&self) -> Result<(), mig::Error> {
        let request = mig::Request::new(2008, "mach.task_terminate");
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// mach.defs:18, message 2011:
    /// `routine task_threads(target_task: task_t; out thread_list: thread_array_t);`
    pub fn task_threads(&self) -> Result<Vec<Option<mig::SendRight>>, mig::Error> {
        let request = mig::Request::new(2011, "mach.task_threads");
        request.call(&self.0, 64, |reply| {
            let thread_list: Vec<Option<mig::SendRight>> = reply.far_rights(u32::MAX)?;
            Ok(thread_list)
        })
    }

    /// mach.defs:22, message 2012:
    /// `routine task_info(target_task: task_t; flavor: int; out task_info_out: task_info_t,
    /// CountInOut);`
    pub fn task_info(&self, flavor: i32, task_info_out_room: u32) -> Result<Vec<i32>, mig::Error> {
        let mut request = mig::Request::new(2012, "mach.task_info");
        request.value(mig::INTEGER_32, &flavor);
        request.value(mig::INTEGER_32, &task_info_out_room.min(1024));
        request.call(&self.0, 4152, |reply| {
            let task_info_out: Vec<i32> =
                reply.list_within(mig::INTEGER_32, 1024, task_info_out_room)?;
            Ok(task_info_out)
        })
    }

    /// mach.defs:29, message 2021:
    /// `routine vm_allocate(target_task: vm_task_t; inout address: vm_address_t; size: vm_size_t;
    /// anywhere: boolean_t);`
    pub fn vm_allocate(&self, address: u64, size: u64, anywhere: bool) -> Result<u64, mig::Error> {
        let mut request = mig::Request::new(2021, "mach.vm_allocate");
        request.value(mig::INTEGER_64, &address);
        request.value(mig::INTEGER_64, &size);
        request.value(mig::BOOLEAN, &anywhere);
        request.call(&self.0, 64, |reply| {
            let address: u64 = reply.value(mig::INTEGER_64)?;
            Ok(address)
        })
    }

    /// mach.defs:37, message 2023:
    /// `routine vm_deallocate(target_task: vm_task_t; address: vm_address_t; size: vm_size_t);`
    pub fn vm_deallocate(&self, address: u64, size: u64) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(2023, "mach.vm_deallocate");
        request.value(mig::INTEGER_64, &address);
        request.value(mig::INTEGER_64, &size);
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// mach.defs:42, message 2024:
    /// `routine vm_protect(target_task: vm_task_t; address: vm_address_t; size: vm_size_t;
    /// set_maximum: boolean_t; new_protection: vm_prot_t);`
    pub fn vm_protect(
        &self,
        address: u64,
        size: u64,
        set_maximum: bool,
        new_protection: i32,
    ) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(2024, "mach.vm_protect");
        request.value(mig::INTEGER_64, &address);
        request.value(mig::INTEGER_64, &size);
        request.value(mig::BOOLEAN, &set_maximum);
        request.value(mig::INTEGER_32, &new_protection);
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// mach.defs:51, message 2026:
    /// `routine vm_read(target_task: vm_task_t; address: vm_address_t; size: vm_size_t; out data:
    /// pointer_t);`
    pub fn vm_read(&self, address: u64, size: u64) -> Result<mig::Array<u8>, mig::Error> {
        let mut request = mig::Request::new(2026, "mach.vm_read");
        request.value(mig::INTEGER_64, &address);
        request.value(mig::INTEGER_64, &size);
        request.call(&self.0, 64, |reply| {
            let data: mig::Array<u8> = reply.memory(mig::BYTE.long(), u32::MAX)?;
            Ok(data)
        })
    }

    /// mach.defs:57, message 2027:
    /// `routine vm_write(target_task: vm_task_t; address: vm_address_t; data: pointer_t);`
    pub fn vm_write(&self, address: u64, data: &[u8]) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(2027, "mach.vm_write");
        request.value(mig::INTEGER_64, &address);
        request.memory(mig::BYTE.long(), u32::MAX, data);
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// mach.defs:62, message 2028:
    /// `routine vm_copy(target_task: vm_task_t; source_address: vm_address_t; size: vm_size_t;
    /// dest_address: vm_address_t);`
    pub fn vm_copy(
        &self,
        source_address: u64,
        size: u64,
        dest_address: u64,
    ) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(2028, "mach.vm_copy");
        request.value(mig::INTEGER_64, &source_address);
        request.value(mig::INTEGER_64, &size);
        request.value(mig::INTEGER_64, &dest_address);
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// mach.defs:70, message 2058:
    /// `routine task_get_special_port(task: task_t; which_port: int; out special_port:
    /// mach_port_t);`
    pub fn task_get_special_port(
        &self,
        which_port: i32,
    ) -> Result<Option<mig::SendRight>, mig::Error> {
        let mut request = mig::Request::new(2058, "mach.task_get_special_port");
        request.value(mig::INTEGER_32, &which_port);
        request.call(&self.0, 64, |reply| {
            let special_port: Option<mig::SendRight> = reply.right()?;
            Ok(special_port)
        })
    }

    /// mach.defs:75, message 2059:
    /// `routine task_set_special_port(task: task_t; which_port: int; special_port: mach_port_t);`
    pub fn task_set_special_port(
        &self,
        which_port: i32,
        special_port: Option<&mig::SendRight>,
    ) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(2059, "mach.task_set_special_port");
        request.value(mig::INTEGER_32, &which_port);
        request.right(mig::COPY_SEND, special_port);
        request.call(&self.0, 48, |_| Ok(()))
    }
}

/// A server of the subsystem mach. An error that a routine returns is its caller's result.
pub trait MachServer {
    /// mach.defs:12, message 2008:
    /// `routine task_terminate(target_task: task_t);`
    fn task_terminate(&mut self, target_task: mig::Target) -> Result<(), mig::Code>;

    /// mach.defs:18, message 2011:
    /// `routine task_threads(target_task: task_t; out thread_list: thread_array_t);`
    fn task_threads(
        &mut self,
        target_task: mig::Target,
    ) -> Result<Vec<Option<mig::SendRight>>, mig::Code>;

    /// mach.defs:22, message 2012:
    /// `routine task_info(target_task: task_t; flavor: int; out task_info_out: task_info_t,
    /// CountInOut);`
    fn task_info(
        &mut self,
        target_task: mig::Target,
        flavor: i32,
        task_info_out_room: u32,
    ) -> Result<Vec<i32>, mig::Code>;

    /// mach.defs:29, message 2021:
    /// `routine vm_allocate(target_task: vm_task_t; inout address: vm_address_t; size: vm_size_t;
    /// anywhere: boolean_t);`
    fn vm_allocate(
        &mut self,
        target_task: mig::Target,
        address: u64,
        size: u64,
        anywhere: bool,
    ) -> Result<u64, mig::Code>;

    /// mach.defs:37, message 2023:
    /// `routine vm_deallocate(target_task: vm_task_t; address: vm_address_t; size: vm_size_t);`
    fn vm_deallocate(
        &mut self,
        target_task: mig::Target,
        address: u64,
        size: u64,
    ) -> Result<(), mig::Code>;

    /// mach.defs:42, message 2024:
    /// `routine vm_protect(target_task: vm_task_t; address: vm_address_t; size: vm_size_t;
    /// set_maximum: boolean_t; new_protection: vm_prot_t);`
    fn vm_protect(
        &mut self,
        target_task: mig::Target,
        address: u64,
        size: u64,
        set_maximum: bool,
        new_protection: i32,
    ) -> Result<(), mig::Code>;

    /// mach.defs:51, message 2026:
    /// `routine vm_read(target_task: vm_task_t; address: vm_address_t; size: vm_size_t; out data:
    /// pointer_t);`
    fn vm_read(
        &mut self,
        target_task: mig::Target,
        address: u64,
        size: u64,
    ) -> Result<mig::Array<u8>, mig::Code>;

    /// mach.defs:57, message 2027:
    /// `routine vm_write(target_task: vm_task_t; address: vm_address_t; data: pointer_t);`
    fn vm_write(
        &mut self,
        target_task: mig::Target,
        address: u64,
        data: mig::Array<u8>,
    ) -> Result<(), mig::Code>;

    /// mach.defs:62, message 2028:
    /// `routine vm_copy(target_task: vm_task_t; source_address: vm_address_t; size: vm_size_t;
    /// dest_address: vm_address_t);`
    fn vm_copy(
        &mut self,
        target_task: mig::Target,
        source_address: u64,
        size: u64,
        dest_address: u64,
    ) -> Result<(), mig::Code>;

    /// mach.defs:70, message 2058:
    /// `routine task_get_special_port(task: task_t; which_port: int; out special_port:
    /// mach_port_t);`
    fn task_get_special_port(
        &mut self,
        task: mig::Target,
        which_port: i32,
    ) -> Result<Option<mig::SendRight>, mig::Code>;

    /// mach.defs:75, message 2059:
    /// `routine task_set_special_port(task: task_t; which_port: int; special_port: mach_port_t);`
    fn task_set_special_port(
        &mut self,
        task: mig::Target,
        which_port: i32,
        special_port: Option<mig::SendRight>,
    ) -> Result<(), mig::Code>;
}

/// Serves a request, and makes the answer, which is to be sent.
///
/// # Errors
/// The request itself, if no routine has its identifier.
pub fn demux<S: MachServer + ?Sized>(server: &mut S, request: mig::Received) -> mig::Served {
    let routine: mig::Routine<S> = match request.id() {
        2008 => serve_task_terminate,
        2011 => serve_task_threads,
        2012 => serve_task_info,
        2021 => serve_vm_allocate,
        2023 => serve_vm_deallocate,
        2024 => serve_vm_protect,
        2026 => serve_vm_read,
        2027 => serve_vm_write,
        2028 => serve_vm_copy,
        2058 => serve_task_get_special_port,
        2059 => serve_task_set_special_port,
        _ => return Err(Box::new(request)),
    };
    Ok(mig::answer(request, server, routine))
}

fn serve_task_terminate<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    request.finish()?;
    server.task_terminate(request.target())
}

fn serve_task_threads<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    request.finish()?;
    let thread_list = server.task_threads(request.target())?;
    reply.far_rights(mig::MOVE_SEND, u32::MAX, thread_list);
    Ok(())
}

fn serve_task_info<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let flavor: i32 = request.value(mig::INTEGER_32)?;
    let task_info_out_room: u32 = request.value(mig::INTEGER_32)?;
    let task_info_out_room = task_info_out_room.min(1024);
    request.finish()?;
    let task_info_out = server.task_info(request.target(), flavor, task_info_out_room)?;
    reply.list(mig::INTEGER_32, 1024, &task_info_out);
    Ok(())
}

fn serve_vm_allocate<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let address: u64 = request.value(mig::INTEGER_64)?;
    let size: u64 = request.value(mig::INTEGER_64)?;
    let anywhere: bool = request.value(mig::BOOLEAN)?;
    request.finish()?;
    let address = server.vm_allocate(request.target(), address, size, anywhere)?;
    reply.value(mig::INTEGER_64, &address);
    Ok(())
}

fn serve_vm_deallocate<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let address: u64 = request.value(mig::INTEGER_64)?;
    let size: u64 = request.value(mig::INTEGER_64)?;
    request.finish()?;
    server.vm_deallocate(request.target(), address, size)
}

fn serve_vm_protect<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let address: u64 = request.value(mig::INTEGER_64)?;
    let size: u64 = request.value(mig::INTEGER_64)?;
    let set_maximum: bool = request.value(mig::BOOLEAN)?;
    let new_protection: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    server.vm_protect(request.target(), address, size, set_maximum, new_protection)
}

fn serve_vm_read<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let address: u64 = request.value(mig::INTEGER_64)?;
    let size: u64 = request.value(mig::INTEGER_64)?;
    request.finish()?;
    let data = server.vm_read(request.target(), address, size)?;
    reply.memory(mig::BYTE.long(), u32::MAX, data);
    Ok(())
}

fn serve_vm_write<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let address: u64 = request.value(mig::INTEGER_64)?;
    let data: mig::Array<u8> = request.memory(mig::BYTE.long(), u32::MAX)?;
    request.finish()?;
    server.vm_write(request.target(), address, data)
}

fn serve_vm_copy<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let source_address: u64 = request.value(mig::INTEGER_64)?;
    let size: u64 = request.value(mig::INTEGER_64)?;
    let dest_address: u64 = request.value(mig::INTEGER_64)?;
    request.finish()?;
    server.vm_copy(request.target(), source_address, size, dest_address)
}

fn serve_task_get_special_port<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let which_port: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let special_port = server.task_get_special_port(request.target(), which_port)?;
    reply.right(mig::MOVE_SEND, special_port);
    Ok(())
}

fn serve_task_set_special_port<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let which_port: i32 = request.value(mig::INTEGER_32)?;
    let special_port: Option<mig::SendRight> = request.right()?;
    request.finish()?;
    server.task_set_special_port(request.target(), which_port, special_port)
}
