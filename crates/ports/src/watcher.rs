//! The [watcher](crate::io::watcher)'s thread.

use crate::{io::watcher::Events, lock::Process, signals};
use std::{io, thread::Builder};

/// Starts the thread. No signal of the program's is delivered to it.
pub(crate) fn start(events: Events) -> io::Result<()> {
    let thread = Builder::new().name("slipway-watcher".into()).stack_size(256 << 10);
    signals::without(|| thread.spawn(move || run(events)).map(drop))
}

fn run(mut events: Events) {
    let mut rest = None;
    while events.wait(rest.as_ref()) {
        let Some(process) = Process::made() else { return };
        for news in events.news() {
            process.lock().hear_news(*news);
            process.let_others_in();
        }
        let mut guard = process.lock();
        guard.go_on();
        guard.settle();
        rest = guard.io.put_off.rest();
        drop(guard);
        process.let_others_in();
        events.answer(&|| process.lock().snapshot());
    }
}
