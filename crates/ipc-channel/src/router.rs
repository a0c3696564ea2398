//! Routers: a thread that receives from many channels, and calls a function for each message or passes it to a crossbeam channel.
//! Most programs use the one of the process, [`ROUTER`].

use crate::{
    error::SerDeError,
    ipc::{self, IpcMessage, IpcReceiver, IpcReceiverSet, IpcSelectionResult, IpcSender, OpaqueIpcReceiver},
};
use crossbeam_channel::{Receiver, Sender};
use serde::{Deserialize, Serialize};
use slipway_fabric::sync::{AtomicBool, Ordering};
use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError, mpsc},
    thread::{self, JoinHandle},
};

/// The router of the process. Its thread starts with the first use.
pub static ROUTER: LazyLock<RouterProxy> = LazyLock::new(RouterProxy::new);

/// What is called for each message of a channel.
pub type RouterMultiHandler = Box<dyn FnMut(IpcMessage) + Send>;
/// What is called for the first message of a channel.
pub type RouterOneShotHandler = Box<dyn FnOnce(IpcMessage) + Send>;
/// What is called for each value of a channel.
pub type TypedRouterMultiHandler<T> = Box<dyn FnMut(Result<T, SerDeError>) + Send>;
/// What is called for the first value of a channel.
pub type TypedRouterOneShotHandler<T> = Box<dyn FnOnce(Result<T, SerDeError>) + Send>;

enum Handler {
    Multi(RouterMultiHandler),
    /// None once it was called.
    Once(Option<RouterOneShotHandler>),
}

/// What the thread is told, before it is woken by a message.
enum Order {
    Add(OpaqueIpcReceiver, Handler),
    End,
}

/// A router's thread, as long as it runs.
struct Running {
    orders: mpsc::Sender<Order>,
    /// Whether a message is on its way, for which the thread has yet to look at the orders: one at a time, so that whoever gives an
    /// order, be it a function that the thread calls, never waits for a place at the thread's port.
    waking: Arc<AtomicBool>,
    wake: IpcSender<()>,
    thread: JoinHandle<()>,
}

/// A router. Its thread ends when this value is dropped.
pub struct RouterProxy {
    running: Mutex<Option<Running>>,
}

impl RouterProxy {
    /// A router with a thread of its own.
    ///
    /// # Panics
    /// If there is no memory, or no thread.
    #[allow(clippy::new_without_default, reason = "it starts a thread; the interface has no default")]
    pub fn new() -> Self {
        let (orders, ordered) = mpsc::channel();
        let (wake, woken) = ipc::channel().expect("a channel");
        let mut receivers = IpcReceiverSet::new().expect("a set of receivers");
        let woken = receivers.add(woken).expect("a receiver in the set");
        let waking = Arc::new(AtomicBool::new(false));
        let ordered = Ordered { orders: ordered, waking: waking.clone(), woken };
        let thread = thread::Builder::new().name("router-proxy".into()).spawn(move || route(&ordered, receivers));
        let running = Running { orders, waking, wake, thread: thread.expect("a thread for the router") };
        Self { running: Mutex::new(Some(running)) }
    }

    /// Calls a function for each message, until the channel's senders are gone; then it is dropped. A router that was shut down
    /// drops both at once.
    pub(crate) fn add_route(&self, receiver: OpaqueIpcReceiver, handler: RouterMultiHandler) {
        self.order(Order::Add(receiver, Handler::Multi(handler)));
    }

    fn order(&self, order: Order) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Running { orders, waking, wake, .. }) = &*running
            && orders.send(order).is_ok()
            && !waking.swap(true, Ordering::AcqRel)
        {
            // Whether the thread still runs was just asked; it may end now.
            let _ = wake.send(());
        }
    }

    /// Calls a function for each value, until the channel's senders are gone; then it is dropped.
    pub fn add_typed_route<T>(&self, receiver: IpcReceiver<T>, mut callback: TypedRouterMultiHandler<T>)
    where
        T: Serialize + for<'de> Deserialize<'de> + 'static,
    {
        self.add_route(receiver.to_opaque(), Box::new(move |message| callback(message.to())));
    }

    /// Calls a function for the first value; what comes after it is dropped.
    pub fn add_typed_one_shot_route<T>(&self, receiver: IpcReceiver<T>, callback: TypedRouterOneShotHandler<T>)
    where
        T: Serialize + for<'de> Deserialize<'de> + 'static,
    {
        let handler: RouterOneShotHandler = Box::new(move |message| callback(message.to()));
        self.order(Order::Add(receiver.to_opaque(), Handler::Once(Some(handler))));
    }

    /// Passes each value on to a crossbeam channel.
    ///
    /// # Panics
    /// The router's thread does if a message is no such value.
    pub fn route_ipc_receiver_to_crossbeam_sender<T>(&self, ipc_receiver: IpcReceiver<T>, crossbeam_sender: Sender<T>)
    where
        T: for<'de> Deserialize<'de> + Serialize + Send + 'static,
    {
        // A receiver that is gone wants no values.
        let pass_on = move |value: Result<T, _>| drop(crossbeam_sender.send(value.expect("a value of the channel's type")));
        self.add_typed_route(ipc_receiver, Box::new(pass_on));
    }

    /// Passes each value on to a new crossbeam channel: its receiver.
    ///
    /// # Panics
    /// As [`Self::route_ipc_receiver_to_crossbeam_sender`].
    pub fn route_ipc_receiver_to_new_crossbeam_receiver<T>(&self, ipc_receiver: IpcReceiver<T>) -> Receiver<T>
    where
        T: for<'de> Deserialize<'de> + Serialize + Send + 'static,
    {
        let (sender, receiver) = crossbeam_channel::unbounded();
        self.route_ipc_receiver_to_crossbeam_sender(ipc_receiver, sender);
        receiver
    }

    /// Ends the thread: all functions are dropped, and the receivers. Done again, it does nothing.
    pub fn shutdown(&self) {
        self.order(Order::End);
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Running { thread, .. }) = running
            && thread.thread().id() != thread::current().id()
        {
            // A function that panicked has said so.
            let _ = thread.join();
        }
    }
}

impl Drop for RouterProxy {
    fn drop(&mut self) {
        self.shutdown();
    }
}

/// The thread's end of the orders.
struct Ordered {
    orders: mpsc::Receiver<Order>,
    waking: Arc<AtomicBool>,
    /// The number of the channel that tells of them.
    woken: u64,
}

/// What a router's thread does.
fn route(Ordered { orders, waking, woken }: &Ordered, mut receivers: IpcReceiverSet) {
    let woken = *woken;
    let mut handlers = HashMap::new();
    while let Ok(results) = receivers.select() {
        for result in results {
            match result {
                IpcSelectionResult::MessageReceived(id, _) if id == woken => {
                    // First: an order that is given from here on sends a message again.
                    waking.swap(false, Ordering::AcqRel);
                    for order in orders.try_iter() {
                        match order {
                            Order::Add(receiver, handler) => {
                                if let Ok(id) = receivers.add_opaque(receiver) {
                                    handlers.insert(id, handler);
                                }
                            }
                            Order::End => return,
                        }
                    }
                }
                IpcSelectionResult::MessageReceived(id, message) => match handlers.get_mut(&id) {
                    Some(Handler::Multi(handler)) => handler(message),
                    Some(Handler::Once(handler)) => {
                        if let Some(handler) = handler.take() {
                            handler(message);
                        }
                    }
                    None => {}
                },
                IpcSelectionResult::ChannelClosed(id) if id == woken => return,
                IpcSelectionResult::ChannelClosed(id) => drop(handlers.remove(&id)),
            }
        }
    }
}
