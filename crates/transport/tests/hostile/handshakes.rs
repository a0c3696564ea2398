//! Offers and connections that don't belong together, messages cut short, and crowds at the gate.

use super::{beside_a_good_client, peer::*, runtime_dir, victim::Told};
use slipway_fabric::segment::Segment;
use slipway_test_support::{Dice, until};
use slipway_transport::{
    endpoint::display_hub,
    line::{self, Heard, MOST_DESCRIPTORS, Message},
};
use std::{
    io::IoSlice,
    os::fd::{AsFd, OwnedFd},
};

/// Another process, which offers for a connection that is not its own.
struct Impostor {
    child: std::process::Child,
    /// Kept open, as the process prints when it ends.
    _said: std::io::BufReader<std::process::ChildStdout>,
}

impl Impostor {
    fn offer(name: &[u8]) -> Self {
        use std::io::{BufRead, BufReader, Read};
        let digits: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["handshakes::impostor", "--exact", "--nocapture"])
            .env("SLIPWAY_TEST_TOKEN", digits)
            .env("SLIPWAY_TEST_HUB", runtime_dir().join(display_hub(606)))
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let offered = said.by_ref().lines().map_while(Result::ok).any(|line| line.contains("offered"));
        assert!(offered, "the impostor has offered");
        Self { child, _said: said }
    }

    fn leave(mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

/// The other process's own part: nothing without a token.
#[test]
fn impostor() {
    let Ok(digits) = std::env::var("SLIPWAY_TEST_TOKEN") else { return };
    let line = connect_hub(std::env::var_os("SLIPWAY_TEST_HUB").unwrap().as_ref());
    let mut token = [0; line::TOKEN];
    for (byte, pair) in token.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    }
    line::send_message(line.as_fd(), &Message::Offer { token, ring: 64 << 10 }).unwrap();
    println!("\noffered");
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn handshakes_that_lead_nowhere() {
    beside_a_good_client(606, |stage, good| {
        let mut dice = Dice::new(6);
        // A name that nobody offered, an offer under another name, an offer that comes late.
        let stranger = connect_as(&stage.server, &token(&mut dice));
        stage.expect(Told::Came(false));
        let line = connect_hub(&stage.hub);
        line::send_message(line.as_fd(), &Message::Offer { token: token(&mut dice), ring: u64::MAX }).unwrap();
        let other = connect_as(&stage.server, &token(&mut dice));
        stage.expect(Told::Came(false));
        drop((stranger, other, line));
        stage.expect(Told::Went);
        stage.expect(Told::Went);
        // Somebody else's offer under the very name of this connection.
        let name = token(&mut dice);
        let impostor = Impostor::offer(&name);
        let x = connect_as(&stage.server, &name);
        stage.expect(Told::Came(false));
        impostor.leave();
        drop(x);
        stage.expect(Told::Went);
        // An offer of absurd sizes is granted within the limits.
        for ring in [0, 1, 3, u64::MAX, 1 << 63, (64 << 10) + 1] {
            let (line, x) = offer(&stage.hub, &stage.server, &token(&mut dice), ring);
            wait_readable(&line);
            match line::hear(line.as_fd()) {
                Heard::Message(Message::Grant { ring, segment }) => {
                    assert!((64 << 10..=16 << 20).contains(&ring));
                    assert!(Segment::open(segment.as_fd(), ring as usize).is_ok());
                }
                other => panic!("{other:?} instead of a grant"),
            }
            drop((line, x));
            stage.expect(Told::Went);
        }
        // Messages cut short, grown, of every kind, with descriptors; then people who say nothing.
        let null: OwnedFd = std::fs::File::open("/dev/null").unwrap().into();
        for kind in 0..=20 {
            for length in 0..40 {
                let line = connect_hub(&stage.hub);
                let mut bytes = vec![kind, line::VERSION];
                bytes.extend(dice.bytes(40));
                let fds = vec![null.as_fd(); [0, 0, 1, MOST_DESCRIPTORS][dice.below(4)]];
                raw_send(&line, &bytes[..length], &fds);
            }
            good.round_trip();
        }
        let mut silent = Vec::new();
        for n in 0..3000 {
            silent.push(connect_hub(&stage.hub));
            if n % 100 == 0 {
                silent.drain(..silent.len() / 2);
                good.round_trip();
            }
        }
        // The gate is crowded, and yet the next honest client comes in.
        let mut late = stage.client();
        late.round_trip();
        assert!(late.on_ring());
        drop((silent, late, null));
        stage.expect(Told::Went);
        until("the hub answers", || slipway_transport::status::query(606).is_ok());
    });
}

fn raw_send(socket: &OwnedFd, bytes: &[u8], fds: &[std::os::fd::BorrowedFd<'_>]) {
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    let mut space = [std::mem::MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(fds.is_empty() || control.push(SendAncillaryMessage::ScmRights(fds)));
    let _ = sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
}
