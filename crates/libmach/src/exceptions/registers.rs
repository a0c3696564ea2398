//! A thread's registers, as its signal frame has them, in the flavors of `thread_get_state`. Flavors have the same numbers in both dialects,
//! and each a layout of its own.
#![allow(unsafe_code, reason = "structures of words")]

use std::mem::size_of;

/// What the kernel left on the stack of a thread that handles a signal.
pub(crate) type Frame = libc::ucontext_t;

/// The words of a structure.
fn words<T: Copy>(of: &T) -> Vec<u32> {
    // SAFETY: the structures here are numbers without gaps between them.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(of).cast::<u32>(), size_of::<T>() / 4) }.to_vec()
}

/// The structure that begins with these words; None if there are too few.
fn structure<T: Copy>(of: &[u32]) -> Option<T> {
    // SAFETY: there are as many words, and any words are such a structure.
    (of.len() >= size_of::<T>() / 4).then(|| unsafe { of.as_ptr().cast::<T>().read_unaligned() })
}

#[cfg(target_arch = "x86_64")]
mod machine {
    use super::{Frame, structure, words};
    use libc::{
        REG_CR2, REG_CSGSFS, REG_EFL, REG_ERR, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RAX,
        REG_RBP, REG_RBX, REG_RCX, REG_RDI, REG_RDX, REG_RIP, REG_RSI, REG_RSP, REG_TRAPNO,
    };

    /// `i386_THREAD_STATE`, as GNU Mach has it.
    const THREAD: i32 = 1;
    /// `x86_THREAD_STATE64`.
    const THREAD_64: i32 = 4;
    /// `x86_EXCEPTION_STATE64`.
    const EXCEPTION_64: i32 = 6;
    /// `x86_THREAD_STATE`: the flavor and the length of what follows, which is an `x86_THREAD_STATE64`.
    const THREAD_ANY: i32 = 7;

    /// The registers of `i386_thread_state` between its segments, and those of `x86_thread_state64_t`.
    const GNU: [i32; 17] = [
        REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RDI, REG_RSI, REG_RBP, REG_RSP, REG_RBX,
        REG_RDX, REG_RCX, REG_RAX, REG_RIP,
    ];
    const DARWIN: [i32; 18] = [
        REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RDI, REG_RSI, REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12,
        REG_R13, REG_R14, REG_R15, REG_RIP, REG_EFL,
    ];

    /// `struct i386_thread_state`, with the words that fill it up.
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Gnu {
        /// gs, fs, es, ds.
        segments: [u32; 4],
        registers: [u64; GNU.len()],
        cs: u64,
        flags: u64,
        /// The stack pointer; the one among the registers is the same, and is not looked at.
        stack: u64,
        ss: u64,
    }

    /// `x86_thread_state64_t`.
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Darwin {
        registers: [u64; DARWIN.len()],
        /// cs, fs, gs.
        segments: [u64; 3],
    }

    /// `x86_exception_state64_t`.
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Exception {
        trap: u16,
        processor: u16,
        error: u32,
        address: u64,
    }

    fn register(frame: &Frame, number: i32) -> u64 {
        frame.uc_mcontext.gregs[number as usize] as u64
    }

    fn set_register(frame: &mut Frame, number: i32, value: u64) {
        frame.uc_mcontext.gregs[number as usize] = value as i64;
    }

    fn darwin(frame: &Frame) -> Darwin {
        let segments = register(frame, REG_CSGSFS);
        Darwin {
            registers: DARWIN.map(|number| register(frame, number)),
            segments: [segments & 0xffff, segments >> 32 & 0xffff, segments >> 16 & 0xffff],
        }
    }

    pub fn get(frame: &Frame, flavor: i32) -> Option<Vec<u32>> {
        let segments = register(frame, REG_CSGSFS);
        Some(match flavor {
            THREAD => words(&Gnu {
                segments: [segments >> 16 & 0xffff, segments >> 32 & 0xffff, 0, 0].map(|it| it as u32),
                registers: GNU.map(|number| register(frame, number)),
                cs: segments & 0xffff,
                flags: register(frame, REG_EFL),
                stack: register(frame, REG_RSP),
                ss: segments >> 48,
            }),
            THREAD_64 => words(&darwin(frame)),
            THREAD_ANY => {
                let state = words(&darwin(frame));
                [vec![THREAD_64 as u32, state.len() as u32], state].concat()
            }
            EXCEPTION_64 => words(&Exception {
                trap: register(frame, REG_TRAPNO) as u16,
                processor: 0,
                error: register(frame, REG_ERR) as u32,
                address: register(frame, REG_CR2),
            }),
            _ => return None,
        })
    }

    /// Sets all but the segments.
    pub fn set(frame: &mut Frame, flavor: i32, state: &[u32]) -> Option<()> {
        match flavor {
            THREAD => {
                let new: Gnu = structure(state)?;
                GNU.into_iter().zip(new.registers).for_each(|(number, value)| set_register(frame, number, value));
                set_register(frame, REG_RSP, new.stack);
                set_register(frame, REG_EFL, new.flags);
            }
            THREAD_64 => {
                let new: Darwin = structure(state)?;
                DARWIN.into_iter().zip(new.registers).for_each(|(number, value)| set_register(frame, number, value));
            }
            THREAD_ANY => {
                let [inner, _, state @ ..] = state else { return None };
                return if *inner == THREAD_64 as u32 { set(frame, THREAD_64, state) } else { None };
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(target_arch = "aarch64")]
mod machine {
    use super::{Frame, structure, words};

    /// `AARCH64_THREAD_STATE`, as GNU Mach has it.
    const THREAD: i32 = 1;
    /// `ARM_THREAD_STATE64`.
    const THREAD_64: i32 = 6;
    /// `ARM_EXCEPTION_STATE64`.
    const EXCEPTION_64: i32 = 7;

    /// `struct aarch64_thread_state`.
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Gnu {
        registers: [u64; 31],
        stack: u64,
        counter: u64,
        /// tpidr_el0, which signal frames have not: 0, and not looked at.
        thread: u64,
        status: u64,
    }

    /// `arm_thread_state64_t`.
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Darwin {
        registers: [u64; 31],
        stack: u64,
        counter: u64,
        status: u32,
        flags: u32,
    }

    /// `arm_exception_state64_t`.
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Exception {
        address: u64,
        syndrome: u32,
        exception: u32,
    }

    pub fn get(frame: &Frame, flavor: i32) -> Option<Vec<u32>> {
        let it = &frame.uc_mcontext;
        let (registers, stack, counter) = (it.regs, it.sp, it.pc);
        Some(match flavor {
            THREAD => words(&Gnu { registers, stack, counter, thread: 0, status: it.pstate }),
            THREAD_64 => words(&Darwin { registers, stack, counter, status: it.pstate as u32, flags: 0 }),
            EXCEPTION_64 => words(&Exception { address: it.fault_address, syndrome: 0, exception: 0 }),
            _ => return None,
        })
    }

    pub fn set(frame: &mut Frame, flavor: i32, state: &[u32]) -> Option<()> {
        let (registers, stack, counter, status) = match flavor {
            THREAD => structure::<Gnu>(state).map(|new| (new.registers, new.stack, new.counter, new.status))?,
            THREAD_64 => structure::<Darwin>(state).map(|new| (new.registers, new.stack, new.counter, new.status.into()))?,
            _ => return None,
        };
        let it = &mut frame.uc_mcontext;
        (it.regs, it.sp, it.pc, it.pstate) = (registers, stack, counter, status);
        Some(())
    }
}

/// The state of a flavor; None if there is no such flavor.
pub(crate) fn get(frame: &Frame, flavor: i32) -> Option<Vec<u32>> {
    machine::get(frame, flavor)
}

/// Sets the registers of a flavor; None, and nothing has changed, if there is no such flavor, it can't be set, or the state is too short.
pub(crate) fn set(frame: &mut Frame, flavor: i32, state: &[u32]) -> Option<()> {
    machine::set(frame, flavor, state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_set_is_there() {
        // SAFETY: any bytes are such a structure.
        let mut frame: Frame = unsafe { std::mem::zeroed() };
        let flavors: Vec<i32> = (0..9).filter(|flavor| get(&frame, *flavor).is_some()).collect();
        assert_eq!(flavors.len(), if cfg!(target_arch = "x86_64") { 4 } else { 3 });
        let mut settable = 0;
        for flavor in flavors {
            let mut state = get(&frame, flavor).expect("a flavor");
            let short = state.len() - 1;
            assert_eq!(set(&mut frame, flavor, &state[..short]), None);
            state[10.min(short)] = 0x1234 * (flavor as u32 + 1);
            if set(&mut frame, flavor, &state).is_some() {
                settable += 1;
                assert_eq!(get(&frame, flavor), Some(state));
            }
        }
        assert!(settable >= 2);
    }
}
