//! The size of a private server's screen.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::str::FromStr;

use crate::failure::Failure;

/// Bits a pixel when only a size is given.
const DEPTH: u32 = 24;
/// Largest X screen, in pixels.
const MAX_SIDE: u32 = 32_767;

/// Width and height in pixels, depth in bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    width: u32,
    height: u32,
    depth: u32,
}

impl FromStr for Screen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "expected WIDTHxHEIGHT or WIDTHxHEIGHTxDEPTH, such as 1280x1024x24; at most {MAX_SIDE} pixels a side and 32 bits"
            )
        };
        let numbers: Vec<u32> = text.split('x').map(|part| part.parse().map_err(|_| expected())).collect::<Result<_, _>>()?;
        let (width, height, depth) = match numbers[..] {
            [width, height] => (width, height, DEPTH),
            [width, height, depth] => (width, height, depth),
            _ => return Err(expected()),
        };
        let fits = (1..=MAX_SIDE).contains(&width) && (1..=MAX_SIDE).contains(&height) && (1..=32).contains(&depth);
        if fits { Ok(Self { width, height, depth }) } else { Err(expected()) }
    }
}

impl Screen {
    /// The arguments by which `server` is told.
    ///
    /// # Errors
    /// A server whose option for it is not known.
    pub fn arguments(self, server: &OsStr) -> Result<Vec<OsString>, Failure> {
        let Self { width, height, depth } = self;
        let size = format!("{width}x{height}x{depth}");
        match Path::new(server).file_name().and_then(OsStr::to_str) {
            Some("Xvfb") => Ok(["-screen".into(), "0".into(), size.into()].into()),
            Some("Xephyr") => Ok(["-screen".into(), size.into()].into()),
            _ => Err(Failure::usage(format!(
                "--screen is for Xvfb and Xephyr; give {} its own option with --server-arg",
                server.display()
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!("640x480".parse(), Ok(Screen { width: 640, height: 480, depth: 24 }));
        assert_eq!("1x2x8".parse(), Ok(Screen { width: 1, height: 2, depth: 8 }));
        for text in ["", "640", "640x", "0x480", "640x480x0", "640x480x24x1", "-1x1", "640x480x64", "99999x1"] {
            assert!(text.parse::<Screen>().is_err(), "{text}");
        }
    }

    #[test]
    fn each_server_has_its_own_option() {
        let screen: Screen = "640x480".parse().expect("good");
        assert_eq!(screen.arguments(OsStr::new("/usr/bin/Xvfb")).expect("known"), ["-screen", "0", "640x480x24"]);
        assert_eq!(screen.arguments(OsStr::new("Xephyr")).expect("known"), ["-screen", "640x480x24"]);
        assert!(screen.arguments(OsStr::new("Xorg")).is_err());
    }
}
