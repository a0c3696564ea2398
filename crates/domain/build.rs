//! Has the host's functions found by the tasks that it loads: its own of `pthread_create`, `exit` and the like.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for symbol in SYMBOLS {
        println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic-symbol={symbol}");
    }
}

const SYMBOLS: [&str; 12] = [
    "pthread_create",
    "pthread_key_create",
    "pthread_key_delete",
    "thrd_create",
    "tss_create",
    "exit",
    "err",
    "errx",
    "verr",
    "verrx",
    "error",
    "error_at_line",
];
