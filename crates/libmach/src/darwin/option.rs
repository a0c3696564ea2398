//! Darwin's options of `mach_msg` in the library's own numbers.

use slipway_ports::{
    abi::{Code, option},
    dialect::Trailer,
};

/// `MACH_RCV_INVALID_TRAILER`.
pub(super) const INVALID_TRAILER: Code = Code(0x1000_400f);

/// Options with the same number and meaning. Those that are not here say something of vouchers, importance, or of how urgent a message is, of which
/// there is nothing here, and of scattered memory and notifications as older systems had them.
const SAME: u32 = option::SEND_MSG
    | option::RCV_MSG
    | option::SEND_TIMEOUT
    | option::SEND_INTERRUPT
    | option::RCV_TIMEOUT
    | option::RCV_INTERRUPT;
/// `MACH_RCV_LARGE` and `MACH_RCV_LARGE_IDENTITY`, which lie as far from each other as the library's own.
const LARGE: u32 = 0x4 | 0x8;
const FARTHER: u32 = 9;

const _: () = assert!(LARGE << FARTHER == option::RCV_LARGE | option::RCV_LARGE_IDENTITY);

/// # Errors
/// [`INVALID_TRAILER`] for a type that there is not, or for elements beyond the port's context.
#[inline]
pub(super) fn of(options: u32) -> Result<u32, Code> {
    let trailer = options & Trailer::MASK;
    if trailer > 4 << Trailer::SHIFT {
        return Err(INVALID_TRAILER);
    }
    Ok(options & SAME | (options & LARGE) << FARTHER | trailer)
}
