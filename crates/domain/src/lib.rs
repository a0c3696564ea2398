//! Tasks as shared objects: what is known of one before it is loaded, and what the process is told that loads it.
//!
//! * [`note`]: what a file says of itself. * [`spec`]: which tasks a host runs, and what the two say to each other.
//! * [`task_main!`]: a task written in Rust.
//!
//! The host is the program `slipway-domain` of this package: it loads libmach once and the tasks beside it, each with
//! a space of its own. It is linked with no Mach of its own, so that there is one in the process. A task in Rust uses it by the crate
//! `slipway-mach`, whose calls find that libmach when the task is loaded.

pub mod note;
pub mod spec;

/// Makes a function the entry of a task: `task_main!(run)` with `fn run(arguments: Vec<std::ffi::OsString>) -> i32`, in
/// a crate of the type `cdylib`. A panic ends the task with code 101.
#[macro_export]
macro_rules! task_main {
    ($run:path) => {
        /// What the file says of itself to its loader.
        #[used]
        #[unsafe(link_section = ".note.slipway.task")]
        static MACH_TASK_NOTE: $crate::note::Note = $crate::note::NOTE;

        /// The entry of the task.
        ///
        /// # Safety
        /// `arguments` are `count` strings.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn mach_task_main(
            count: ::std::ffi::c_int,
            arguments: *const *const ::std::ffi::c_char,
        ) -> ::std::ffi::c_int {
            let run: fn(Vec<::std::ffi::OsString>) -> i32 = $run;
            let given = (0..count as usize).map(|i| {
                // SAFETY: the caller's promise.
                let text = unsafe { ::std::ffi::CStr::from_ptr(*arguments.add(i)) };
                <::std::ffi::OsStr as ::std::os::unix::ffi::OsStrExt>::from_bytes(text.to_bytes()).to_owned()
            });
            let given = given.collect();
            ::std::panic::catch_unwind(|| run(given)).unwrap_or(101)
        }
    };
}
