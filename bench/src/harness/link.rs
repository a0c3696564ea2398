//! The socket between the two processes of a measurement: set-up, the beginning of each run, its end.

use anyhow::{Context, ensure};
use rustix::io::retry_on_intr;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    SocketFlags, SocketType, recv, recvmsg, send, sendmsg, socketpair,
};
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Most descriptors in one message: the kernel's SCM_MAX_FD.
pub const MOST_DESCRIPTORS: usize = 253;

/// Room for the control message with that many.
const CONTROL: usize = rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS));

/// One end of a socket that keeps messages apart.
pub struct Link {
    socket: OwnedFd,
    control: Box<[MaybeUninit<u8>]>,
}

/// A connected pair of sockets that keep messages apart; both are closed on exec.
pub fn pair() -> anyhow::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).context("socketpair")
}

impl Link {
    pub fn new(socket: OwnedFd) -> Self {
        Self { socket, control: vec![MaybeUninit::uninit(); CONTROL].into_boxed_slice() }
    }

    /// Sends one message; `descriptors` go with it as duplicates, at most [`MOST_DESCRIPTORS`].
    pub fn send(&mut self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> anyhow::Result<()> {
        let mut control = SendAncillaryBuffer::new(&mut self.control);
        let rights = SendAncillaryMessage::ScmRights(descriptors);
        ensure!(descriptors.is_empty() || control.push(rights), "too many descriptors for one message");
        let sent = retry_on_intr(|| sendmsg(&self.socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL));
        sent.map(drop).context("sendmsg")
    }

    /// Receives one message into `bytes` and hands each of its descriptors to `take`. The length; 0 when
    /// the other end is gone.
    pub fn receive(&mut self, bytes: &mut [u8], mut take: impl FnMut(OwnedFd)) -> anyhow::Result<usize> {
        let mut control = RecvAncillaryBuffer::new(&mut self.control);
        let mut into = [IoSliceMut::new(bytes)];
        let message = retry_on_intr(|| recvmsg(&self.socket, &mut into, &mut control, RecvFlags::CMSG_CLOEXEC));
        let message = message.context("recvmsg")?;
        let cut = rustix::net::ReturnFlags::TRUNC | rustix::net::ReturnFlags::CTRUNC;
        ensure!(!message.flags.intersects(cut), "a message was cut off: no descriptors left, or it is too long");
        for part in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = part {
                descriptors.for_each(&mut take);
            }
        }
        Ok(message.bytes)
    }

    /// Sends one message without descriptors, by the shortest way.
    pub fn send_bytes(&self, bytes: &[u8]) -> anyhow::Result<()> {
        retry_on_intr(|| send(&self.socket, bytes, SendFlags::NOSIGNAL)).map(drop).context("send")
    }

    /// Receives one message without descriptors, by the shortest way. The length, of which `bytes` holds
    /// as much as it can; 0 when the other end is gone.
    pub fn receive_bytes(&self, bytes: &mut [u8]) -> anyhow::Result<usize> {
        retry_on_intr(|| recv(&self.socket, &mut *bytes, RecvFlags::TRUNC)).map(|(_, length)| length).context("recv")
    }

    pub fn give(&mut self, descriptor: impl AsFd) -> anyhow::Result<()> {
        self.send(b"d", &[descriptor.as_fd()])
    }

    pub fn take(&mut self) -> anyhow::Result<OwnedFd> {
        let mut taken = None;
        self.receive(&mut [0; 8], |descriptor| taken = Some(descriptor))?;
        taken.context("the other process ended or sent no descriptor")
    }

    /// Tells the other end to answer `count` round trips.
    pub fn announce(&mut self, count: u64) -> anyhow::Result<()> {
        self.tell(&count.to_string())
    }

    /// Waits to be told how many round trips to answer; None when the other end is done.
    pub fn announced(&mut self) -> anyhow::Result<Option<u64>> {
        self.heard()?.map(|count| count.parse().with_context(|| format!("'{count}' where a count was due"))).transpose()
    }

    pub fn tell(&mut self, text: &str) -> anyhow::Result<()> {
        self.send(text.as_bytes(), &[])
    }

    pub fn hear(&mut self) -> anyhow::Result<String> {
        self.heard()?.context("the other process ended")
    }

    fn heard(&mut self) -> anyhow::Result<Option<String>> {
        let mut text = [0; 4096];
        let length = self.receive(&mut text, drop)?;
        Ok((length > 0).then(|| String::from_utf8_lossy(&text[..length]).into_owned()))
    }
}
