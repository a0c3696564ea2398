//! libmach as C programs have it: each test compiles its program with the system's compilers and links it with the library of this
//! build.

mod calls;
mod conformance;
mod cthreads;
mod darwin;
mod edges;
mod headers;
mod linking;
mod services;
mod store;
mod stubs;
mod support;
mod tasks;
mod traps;
