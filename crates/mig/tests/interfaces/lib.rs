//! The interfaces that tests and examples have in Rust, as mig makes them of their .defs at every build.

/// sampler.defs of examples/mig.
pub mod sampler {
    include!(concat!(env!("OUT_DIR"), "/sampler.rs"));
}
/// tidy.defs of examples/mig, in the grammar of Apple and OSF.
pub mod tidy {
    include!(concat!(env!("OUT_DIR"), "/tidy.rs"));
}
/// trap.defs of mig's tests.
pub mod traps {
    include!(concat!(env!("OUT_DIR"), "/traps.rs"));
}
/// The same, made without `--trap`.
pub mod traps_by_message {
    include!(concat!(env!("OUT_DIR"), "/traps_by_message.rs"));
}
/// targets.defs beside this.
pub mod targets {
    include!(concat!(env!("OUT_DIR"), "/targets.rs"));
}
/// rust_names.defs of mig's golden files.
pub mod names {
    include!(concat!(env!("OUT_DIR"), "/names.rs"));
}
