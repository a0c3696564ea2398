// The subsystem mach, made by mig. Do not edit: change the .defs file.

use slipway_mach::mig;

/// A server of the subsystem mach. An error that a routine returns is its caller's result.
pub trait MachServer {
    /// mach.defs:13, message 2008:
    /// `routine task_terminate(target_task: task_t);`
    fn task_terminate(&mut self, target_task: mig::Target) -> Result<(), mig::Code>;

    /// mach.defs:19, message 2011:
    /// `routine task_threads(target_task: task_t; out thread_list: thread_array_t);`
    fn task_threads(
        &mut self,
        target_task: mig::Target,
    ) -> Result<Vec<Option<mig::SendRight>>, mig::Code>;

    /// mach.defs:23, message 2012:
    /// `routine task_info(target_task: task_t; flavor: int; out task_info_out: task_info_t,
    /// CountInOut);`
    fn task_info(
        &mut self,
        target_task: mig::Target,
        flavor: i32,
        task_info_out_room: u32,
    ) -> Result<Vec<i32>, mig::Code>;

    /// mach.defs:30, message 2016:
    /// `routine thread_terminate(target_thread: thread_t);`
    fn thread_terminate(&mut self, target_thread: mig::Target) -> Result<(), mig::Code>;

    /// mach.defs:34, message 2017:
    /// `routine thread_get_state(target_thread: thread_t; flavor: int; out old_state:
    /// thread_state_t, CountInOut);`
    fn thread_get_state(
        &mut self,
        target_thread: mig::Target,
        flavor: i32,
        old_state_room: u32,
    ) -> Result<Vec<u32>, mig::Code>;

    /// mach.defs:39, message 2018:
    /// `routine thread_set_state(target_thread: thread_t; flavor: int; new_state: thread_state_t);`
    fn thread_set_state(
        &mut self,
        target_thread: mig::Target,
        flavor: i32,
        new_state: Vec<u32>,
    ) -> Result<(), mig::Code>;

    /// mach.defs:44, message 2019:
    /// `routine thread_info(target_thread: thread_t; flavor: int; out thread_info_out:
    /// thread_info_t, CountInOut);`
    fn thread_info(
        &mut self,
        target_thread: mig::Target,
        flavor: i32,
        thread_info_out_room: u32,
    ) -> Result<Vec<i32>, mig::Code>;

    /// mach.defs:51, message 2021:
    /// `routine vm_allocate(target_task: vm_task_t; inout address: vm_address_t; size: vm_size_t;
    /// anywhere: boolean_t);`
    fn vm_allocate(
        &mut self,
        target_task: mig::Target,
        address: u64,
        size: u64,
        anywhere: bool,
    ) -> Result<u64, mig::Code>;

    /// mach.defs:59, message 2023:
    /// `routine vm_deallocate(target_task: vm_task_t; address: vm_address_t; size: vm_size_t);`
    fn vm_deallocate(
        &mut self,
        target_task: mig::Target,
        address: u64,
        size: u64,
    ) -> Result<(), mig::Code>;

    /// mach.defs:64, message 2024:
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

    /// mach.defs:73, message 2026:
    /// `routine vm_read(target_task: vm_task_t; address: vm_address_t; size: vm_size_t; out data:
    /// pointer_t);`
    fn vm_read(
        &mut self,
        target_task: mig::Target,
        address: u64,
        size: u64,
    ) -> Result<mig::Array<u8>, mig::Code>;

    /// mach.defs:79, message 2027:
    /// `routine vm_write(target_task: vm_task_t; address: vm_address_t; data: pointer_t);`
    fn vm_write(
        &mut self,
        target_task: mig::Target,
        address: u64,
        data: mig::Array<u8>,
    ) -> Result<(), mig::Code>;

    /// mach.defs:84, message 2028:
    /// `routine vm_copy(target_task: vm_task_t; source_address: vm_address_t; size: vm_size_t;
    /// dest_address: vm_address_t);`
    fn vm_copy(
        &mut self,
        target_task: mig::Target,
        source_address: u64,
        size: u64,
        dest_address: u64,
    ) -> Result<(), mig::Code>;

    /// mach.defs:92, message 2056:
    /// `routine task_suspend(target_task: task_t);`
    fn task_suspend(&mut self, target_task: mig::Target) -> Result<(), mig::Code>;

    /// mach.defs:95, message 2057:
    /// `routine task_resume(target_task: task_t);`
    fn task_resume(&mut self, target_task: mig::Target) -> Result<(), mig::Code>;

    /// mach.defs:98, message 2058:
    /// `routine task_get_special_port(task: task_t; which_port: int; out special_port:
    /// mach_port_t);`
    fn task_get_special_port(
        &mut self,
        task: mig::Target,
        which_port: i32,
    ) -> Result<Option<mig::SendRight>, mig::Code>;

    /// mach.defs:103, message 2059:
    /// `routine task_set_special_port(task: task_t; which_port: int; special_port: mach_port_t);`
    fn task_set_special_port(
        &mut self,
        task: mig::Target,
        which_port: i32,
        special_port: Option<mig::SendRight>,
    ) -> Result<(), mig::Code>;

    /// mach.defs:110, message 2062:
    /// `routine thread_suspend(target_thread: thread_t);`
    fn thread_suspend(&mut self, target_thread: mig::Target) -> Result<(), mig::Code>;

    /// mach.defs:113, message 2063:
    /// `routine thread_resume(target_thread: thread_t);`
    fn thread_resume(&mut self, target_thread: mig::Target) -> Result<(), mig::Code>;

    /// mach.defs:116, message 2064:
    /// `routine thread_abort(target_thread: thread_t);`
    fn thread_abort(&mut self, target_thread: mig::Target) -> Result<(), mig::Code>;

    /// mach.defs:121, message 2067:
    /// `routine thread_get_special_port(thread: thread_t; which_port: int; out special_port:
    /// mach_port_t);`
    fn thread_get_special_port(
        &mut self,
        thread: mig::Target,
        which_port: i32,
    ) -> Result<Option<mig::SendRight>, mig::Code>;

    /// mach.defs:126, message 2068:
    /// `routine thread_set_special_port(thread: thread_t; which_port: int; special_port:
    /// mach_port_t);`
    fn thread_set_special_port(
        &mut self,
        thread: mig::Target,
        which_port: i32,
        special_port: Option<mig::SendRight>,
    ) -> Result<(), mig::Code>;

    /// mach.defs:134, message 2089:
    /// `routine vm_map(target_task: vm_task_t; inout address: vm_address_t; size: vm_size_t; mask:
    /// vm_address_t; anywhere: boolean_t; memory_object: memory_object_t; offset: vm_offset_t;
    /// copy: boolean_t; cur_protection: vm_prot_t; max_protection: vm_prot_t; inheritance:
    /// vm_inherit_t);`
    #[allow(clippy::too_many_arguments)]
    fn vm_map(
        &mut self,
        target_task: mig::Target,
        address: u64,
        size: u64,
        mask: u64,
        anywhere: bool,
        memory_object: Option<mig::SendRight>,
        offset: u64,
        copy: bool,
        cur_protection: i32,
        max_protection: i32,
        inheritance: i32,
    ) -> Result<u64, mig::Code>;
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
        2016 => serve_thread_terminate,
        2017 => serve_thread_get_state,
        2018 => serve_thread_set_state,
        2019 => serve_thread_info,
        2021 => serve_vm_allocate,
        2023 => serve_vm_deallocate,
        2024 => serve_vm_protect,
        2026 => serve_vm_read,
        2027 => serve_vm_write,
        2028 => serve_vm_copy,
        2056 => serve_task_suspend,
        2057 => serve_task_resume,
        2058 => serve_task_get_special_port,
        2059 => serve_task_set_special_port,
        2062 => serve_thread_suspend,
        2063 => serve_thread_resume,
        2064 => serve_thread_abort,
        2067 => serve_thread_get_special_port,
        2068 => serve_thread_set_special_port,
        2089 => serve_vm_map,
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

fn serve_thread_terminate<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    request.finish()?;
    server.thread_terminate(request.target())
}

fn serve_thread_get_state<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let flavor: i32 = request.value(mig::INTEGER_32)?;
    let old_state_room: u32 = request.value(mig::INTEGER_32)?;
    let old_state_room = old_state_room.min(1024);
    request.finish()?;
    let old_state = server.thread_get_state(request.target(), flavor, old_state_room)?;
    reply.list(mig::INTEGER_32, 1024, &old_state);
    Ok(())
}

fn serve_thread_set_state<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let flavor: i32 = request.value(mig::INTEGER_32)?;
    let new_state: Vec<u32> = request.list(mig::INTEGER_32, 1024)?;
    request.finish()?;
    server.thread_set_state(request.target(), flavor, new_state)
}

fn serve_thread_info<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let flavor: i32 = request.value(mig::INTEGER_32)?;
    let thread_info_out_room: u32 = request.value(mig::INTEGER_32)?;
    let thread_info_out_room = thread_info_out_room.min(1024);
    request.finish()?;
    let thread_info_out = server.thread_info(request.target(), flavor, thread_info_out_room)?;
    reply.list(mig::INTEGER_32, 1024, &thread_info_out);
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

fn serve_task_suspend<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    request.finish()?;
    server.task_suspend(request.target())
}

fn serve_task_resume<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    request.finish()?;
    server.task_resume(request.target())
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

fn serve_thread_suspend<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    request.finish()?;
    server.thread_suspend(request.target())
}

fn serve_thread_resume<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    request.finish()?;
    server.thread_resume(request.target())
}

fn serve_thread_abort<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    request.finish()?;
    server.thread_abort(request.target())
}

fn serve_thread_get_special_port<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let which_port: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let special_port = server.thread_get_special_port(request.target(), which_port)?;
    reply.right(mig::MOVE_SEND, special_port);
    Ok(())
}

fn serve_thread_set_special_port<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    _reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let which_port: i32 = request.value(mig::INTEGER_32)?;
    let special_port: Option<mig::SendRight> = request.right()?;
    request.finish()?;
    server.thread_set_special_port(request.target(), which_port, special_port)
}

fn serve_vm_map<S: MachServer + ?Sized>(
    server: &mut S,
    request: &mut mig::Reader,
    reply: &mut mig::Writer<'static>,
) -> Result<(), mig::Code> {
    let address: u64 = request.value(mig::INTEGER_64)?;
    let size: u64 = request.value(mig::INTEGER_64)?;
    let mask: u64 = request.value(mig::INTEGER_64)?;
    let anywhere: bool = request.value(mig::BOOLEAN)?;
    let memory_object: Option<mig::SendRight> = request.right()?;
    let offset: u64 = request.value(mig::INTEGER_64)?;
    let copy: bool = request.value(mig::BOOLEAN)?;
    let cur_protection: i32 = request.value(mig::INTEGER_32)?;
    let max_protection: i32 = request.value(mig::INTEGER_32)?;
    let inheritance: i32 = request.value(mig::INTEGER_32)?;
    request.finish()?;
    let address = server.vm_map(
        request.target(),
        address,
        size,
        mask,
        anywhere,
        memory_object,
        offset,
        copy,
        cur_protection,
        max_protection,
        inheritance,
    )?;
    reply.value(mig::INTEGER_64, &address);
    Ok(())
}
