//! The C face of Mach IPC.
