//! Has the host's functions found by the tasks that it loads: its own `pthread_create` and `exit`, and the one by which a copy of
//! `slipway-ports` in a task's file learns of the process's Mach.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for symbol in ["pthread_create", "exit", "slipway_domain_guest"] {
        println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={symbol}");
    }
}
