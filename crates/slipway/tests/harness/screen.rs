//! Screenshots, by `xwd`, and their comparison.

use super::build::scratch;
use super::process::{Mode, PATIENCE};
use super::server::Server;
use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

/// The pixels of a screen of 32 bits a pixel.
#[derive(PartialEq, Eq)]
pub struct Screen {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 4]>,
}

impl Screen {
    /// Takes the whole screen of `server`, by an `xwd` started in `mode`.
    pub fn shot(server: &Server, mode: Mode) -> Screen {
        let dir = scratch();
        let file = dir.path().join("screen.xwd");
        let path = file.to_str().expect("a path in UTF-8");
        server.output(mode, "xwd", &["-root", "-silent", "-out", path]);
        Screen::read(&file)
    }

    /// Takes the screen until it equals `wanted`: a program's last requests may still be on their
    /// way when it says that it is ready. Fails with the difference that stays.
    pub fn expect(server: &Server, mode: Mode, wanted: &Screen) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let shot = Screen::shot(server, mode);
            if shot == *wanted {
                return;
            }
            assert!(Instant::now() < deadline, "the screens differ: {}", shot.difference(wanted));
        }
    }

    /// Takes the screen until two in a row are equal and have at least `colours`.
    pub fn settled(server: &Server, mode: Mode, colours: usize) -> Screen {
        let deadline = Instant::now() + PATIENCE;
        let mut last = Screen::shot(server, mode);
        loop {
            let shot = Screen::shot(server, mode);
            if shot == last && shot.colours() >= colours {
                return shot;
            }
            assert!(Instant::now() < deadline, "the screen has {} colours", shot.colours());
            last = shot;
        }
    }

    /// How many colours are on it.
    pub fn colours(&self) -> usize {
        self.pixels.iter().collect::<HashSet<_>>().len()
    }

    /// What differs between two screens, in a line.
    pub fn difference(&self, other: &Screen) -> String {
        if (self.width, self.height) != (other.width, other.height) {
            let sizes = (self.width, self.height, other.width, other.height);
            return format!("{}x{} and {}x{} pixels", sizes.0, sizes.1, sizes.2, sizes.3);
        }
        let pairs = self.pixels.iter().zip(&other.pixels).enumerate();
        let differ: Vec<usize> = pairs.filter(|(_, (a, b))| a != b).map(|(at, _)| at).collect();
        let first = differ.first().map(|at| (at % self.width, at / self.width));
        format!("{} pixels of {}, the first at {first:?}", differ.len(), self.pixels.len())
    }

    /// Reads an XWD file: a header of big-endian words, the name, the colours, the pixels.
    fn read(file: &Path) -> Screen {
        let bytes = std::fs::read(file).expect("read the screenshot");
        let word = |at: usize| {
            let word: [u8; 4] = bytes[4 * at..4 * at + 4].try_into().expect("four bytes");
            u32::from_be_bytes(word) as usize
        };
        let (header, width, height) = (word(0), word(4), word(5));
        let (bits, line, colours) = (word(11), word(12), word(19));
        assert_eq!((word(1), bits, line), (7, 32, 4 * width), "an XWD file of 32 bits a pixel");
        // Each entry of the colour map takes 12 bytes.
        let (pixels, rest) = bytes[header + 12 * colours..].as_chunks::<4>();
        assert_eq!((pixels.len(), rest.len()), (width * height, 0), "the size of an XWD file");
        Screen { width, height, pixels: pixels.to_vec() }
    }
}
