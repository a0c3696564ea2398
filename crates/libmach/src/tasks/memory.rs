// The subsystem mach, made by mig. Do not edit: change the .defs file.

use slipway_mach::mig;

/// A server of the subsystem mach: each of its routines is a method.
#[derive(Debug)]
pub struct Mach(pub mig::SendRight);

impl Mach {
    /// mach.defs:13, message 2008:
    /// `routine task_terminate(target_task: task_t);`
    pub fn task_terminate(&self) -> Result<(), mig::Error> {
        let request = mig::Request::new(2008, "mach.task_terminate");
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// mach.defs:19, message 2011:
    /// `routine task_threads(target_task: task_t; out thread_list: thread_array_t);`
    pub fn task_threads(&self) -> Result<Vec<Option<mig::SendRight>>, mig::Error> {
        let request = mig::Request::new(2011, "mach.task_threads");
        request.call(&self.0, 64, |reply| {
            let thread_list: Vec<Option<mig::SendRight>> = reply.far_rights(u32::MAX)?;
            Ok(thread_list)
        })
    }

    /// mach.defs:23, message 2012:
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

    /// mach.defs:30, message 2016:
    /// `routine thread_terminate(target_thread: thread_t);`
    pub fn thread_terminate(&self) -> Result<(), mig::Error> {
        let request = mig::Request::new(2016, "mach.thread_terminate");
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// mach.defs:34, message 2017:
    /// `routine thread_get_state(target_thread: thread_t; flavor: int; out old_state:
    /// thread_state_t, CountInOut);`
    pub fn thread_get_state(
        &self,
        flavor: i32,
        old_state_room: u32,
    ) -> Result<Vec<u32>, mig::Error> {
        let mut request = mig::Request::new(2017, "mach.thread_get_state");
        request.value(mig::INTEGER_32, &flavor);
        request.value(mig::INTEGER_32, &old_state_room.min(1024));
        request.call(&self.0, 4152, |reply| {
            let old_state: Vec<u32> = reply.list_within(mig::INTEGER_32, 1024, old_state_room)?;
            Ok(old_state)
        })
    }

    /// mach.defs:39, message 2018:
    /// `routine thread_set_state(target_thread: thread_t; flavor: int; new_state: thread_state_t);`
    pub fn thread_set_state(&self, flavor: i32, new_state: &[u32]) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(2018, "mach.thread_set_state");
        request.value(mig::INTEGER_32, &flavor);
        request.list(mig::INTEGER_32, 1024, new_state);
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// mach.defs:44, message 2019:
    /// `routine thread_info(target_thread: thread_t; flavor: int; out thread_info_out:
    /// thread_info_t, CountInOut);`
    pub fn thread_info(
        &self,
        flavor: i32,
        thread_info_out_room: u32,
    ) -> Result<Vec<i32>, mig::Error> {
        let mut request = mig::Request::new(2019, "mach.thread_info");
        request.value(mig::INTEGER_32, &flavor);
        request.value(mig::INTEGER_32, &thread_info_out_room.min(1024));
        request.call(&self.0, 4152, |reply| {
            let thread_info_out: Vec<i32> =
                reply.list_within(mig::INTEGER_32, 1024, thread_info_out_room)?;
            Ok(thread_info_out)
        })
    }

    /// mach.defs:51, message 2021:
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

    /// mach.defs:59, message 2023:
    /// `routine vm_deallocate(target_task: vm_task_t; address: vm_address_t; size: vm_size_t);`
    pub fn vm_deallocate(&self, address: u64, size: u64) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(2023, "mach.vm_deallocate");
        request.value(mig::INTEGER_64, &address);
        request.value(mig::INTEGER_64, &size);
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// mach.defs:64, message 2024:
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

    /// mach.defs:73, message 2026:
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

    /// mach.defs:79, message 2027:
    /// `routine vm_write(target_task: vm_task_t; address: vm_address_t; data: pointer_t);`
    pub fn vm_write(&self, address: u64, data: &[u8]) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(2027, "mach.vm_write");
        request.value(mig::INTEGER_64, &address);
        request.memory(mig::BYTE.long(), u32::MAX, data);
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// mach.defs:84, message 2028:
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

    /// mach.defs:92, message 2056:
    /// `routine task_suspend(target_task: task_t);`
    pub fn task_suspend(&self) -> Result<(), mig::Error> {
        let request = mig::Request::new(2056, "mach.task_suspend");
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// mach.defs:95, message 2057:
    /// `routine task_resume(target_task: task_t);`
    pub fn task_resume(&self) -> Result<(), mig::Error> {
        let request = mig::Request::new(2057, "mach.task_resume");
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// mach.defs:98, message 2058:
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

    /// mach.defs:103, message 2059:
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

    /// mach.defs:110, message 2062:
    /// `routine thread_suspend(target_thread: thread_t);`
    pub fn thread_suspend(&self) -> Result<(), mig::Error> {
        let request = mig::Request::new(2062, "mach.thread_suspend");
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// mach.defs:113, message 2063:
    /// `routine thread_resume(target_thread: thread_t);`
    pub fn thread_resume(&self) -> Result<(), mig::Error> {
        let request = mig::Request::new(2063, "mach.thread_resume");
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// mach.defs:116, message 2064:
    /// `routine thread_abort(target_thread: thread_t);`
    pub fn thread_abort(&self) -> Result<(), mig::Error> {
        let request = mig::Request::new(2064, "mach.thread_abort");
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// mach.defs:121, message 2067:
    /// `routine thread_get_special_port(thread: thread_t; which_port: int; out special_port:
    /// mach_port_t);`
    pub fn thread_get_special_port(
        &self,
        which_port: i32,
    ) -> Result<Option<mig::SendRight>, mig::Error> {
        let mut request = mig::Request::new(2067, "mach.thread_get_special_port");
        request.value(mig::INTEGER_32, &which_port);
        request.call(&self.0, 64, |reply| {
            let special_port: Option<mig::SendRight> = reply.right()?;
            Ok(special_port)
        })
    }

    /// mach.defs:126, message 2068:
    /// `routine thread_set_special_port(thread: thread_t; which_port: int; special_port:
    /// mach_port_t);`
    pub fn thread_set_special_port(
        &self,
        which_port: i32,
        special_port: Option<&mig::SendRight>,
    ) -> Result<(), mig::Error> {
        let mut request = mig::Request::new(2068, "mach.thread_set_special_port");
        request.value(mig::INTEGER_32, &which_port);
        request.right(mig::COPY_SEND, special_port);
        request.call(&self.0, 48, |_| Ok(()))
    }

    /// mach.defs:134, message 2089:
    /// `routine vm_map(target_task: vm_task_t; inout address: vm_address_t; size: vm_size_t; mask:
    /// vm_address_t; anywhere: boolean_t; memory_object: memory_object_t; offset: vm_offset_t;
    /// copy: boolean_t; cur_protection: vm_prot_t; max_protection: vm_prot_t; inheritance:
    /// vm_inherit_t);`
    #[allow(clippy::too_many_arguments)]
    pub fn vm_map(
        &self,
        address: u64,
        size: u64,
        mask: u64,
        anywhere: bool,
        memory_object: Option<&mig::SendRight>,
        offset: u64,
        copy: bool,
        cur_protection: i32,
        max_protection: i32,
        inheritance: i32,
    ) -> Result<u64, mig::Error> {
        let mut request = mig::Request::new(2089, "mach.vm_map");
        request.value(mig::INTEGER_64, &address);
        request.value(mig::INTEGER_64, &size);
        request.value(mig::INTEGER_64, &mask);
        request.value(mig::BOOLEAN, &anywhere);
        request.right(mig::COPY_SEND, memory_object);
        request.value(mig::INTEGER_64, &offset);
        request.value(mig::BOOLEAN, &copy);
        request.value(mig::INTEGER_32, &cur_protection);
        request.value(mig::INTEGER_32, &max_protection);
        request.value(mig::INTEGER_32, &inheritance);
        request.call(&self.0, 64, |reply| {
            let address: u64 = reply.value(mig::INTEGER_64)?;
            Ok(address)
        })
    }
}
