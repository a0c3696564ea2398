//! Receivers as streams of futures.

use crate::{
    error::SerDeError,
    ipc::{IpcMessage, IpcReceiver},
    router::RouterProxy,
};
use futures_channel::mpsc::{UnboundedReceiver, unbounded};
use futures_core::{
    Stream,
    stream::FusedStream,
    task::{Context, Poll},
};
use serde::{Deserialize, Serialize};
use std::{marker::PhantomData, pin::Pin, sync::LazyLock};

/// The router of all streams of the process: shutting down the program's own does not end them.
static STREAMS: LazyLock<RouterProxy> = LazyLock::new(RouterProxy::new);

/// The values of a channel. It ends when all senders are gone.
pub struct IpcStream<T> {
    messages: UnboundedReceiver<IpcMessage>,
    phantom: PhantomData<T>,
}

impl<T> Unpin for IpcStream<T> {}

impl<T> IpcReceiver<T>
where
    T: for<'de> Deserialize<'de> + Serialize,
{
    /// Makes it a stream, for which a thread of the process receives.
    pub fn to_stream(self) -> IpcStream<T> {
        let (sender, messages) = unbounded();
        STREAMS.add_route(self.to_opaque(), Box::new(move |message| drop(sender.unbounded_send(message))));
        IpcStream { messages, phantom: PhantomData }
    }
}

impl<T> Stream for IpcStream<T>
where
    T: for<'de> Deserialize<'de> + Serialize,
{
    type Item = Result<T, SerDeError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.messages).poll_next(context).map(|message| message.map(IpcMessage::to))
    }
}

impl<T> FusedStream for IpcStream<T>
where
    T: for<'de> Deserialize<'de> + Serialize,
{
    fn is_terminated(&self) -> bool {
        self.messages.is_terminated()
    }
}
