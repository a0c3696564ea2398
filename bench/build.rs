//! Makes the stubs of `stubs/*.defs` with mig, in C and in Rust, and compiles those in C with the programs that use them.

#[cfg(feature = "mach")]
#[path = "stubs.rs"]
mod stubs;

fn main() -> Result<(), String> {
    #[cfg(feature = "mach")]
    stubs::make()?;
    println!("cargo:rerun-if-changed=build.rs");
    Ok(())
}
