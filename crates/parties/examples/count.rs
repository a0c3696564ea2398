//! Calls of Rust to Rust within a process, for a count of their instructions:
//!
//! ```text
//! valgrind --tool=callgrind --toggle-collect='*calls*' target/release/examples/count words exclusive 1000
//! ```

use slipway_ports::{
    mig::{self, Code, ReceiveRight, SendRight, Target},
    task::Task,
};

#[allow(dead_code)]
mod colocate {
    include!(concat!(env!("OUT_DIR"), "/colocate.rs"));
}

#[derive(Clone, Copy)]
struct Near;

impl colocate::ColocateServer for Near {
    fn nothing(&mut self, _server: Target) -> Result<(), Code> {
        Ok(())
    }

    fn in_small(&mut self, _server: Target, data: [u8; 64]) -> Result<(), Code> {
        std::hint::black_box(&data);
        Ok(())
    }

    fn in_block(&mut self, _server: Target, data: [u8; 1024]) -> Result<(), Code> {
        std::hint::black_box(&data);
        Ok(())
    }

    fn in_const(&mut self, _server: Target, data: [u8; 1024]) -> Result<(), Code> {
        std::hint::black_box(&data);
        Ok(())
    }

    fn out_block(&mut self, _server: Target) -> Result<[u8; 1024], Code> {
        Ok([1; 1024])
    }

    fn words(&mut self, _server: Target, mut data: [i32; 32]) -> Result<[i32; 32], Code> {
        std::hint::black_box(&mut data);
        Ok(data)
    }

    fn own_calls(&mut self, _server: Target, _to_library: i32, _count: i32) -> Result<(), Code> {
        Ok(())
    }
}

/// So many calls.
#[inline(never)]
fn calls<T>(count: usize, mut call: impl FnMut() -> Result<T, mig::Error>) -> Result<(), mig::Error> {
    for _ in 0..count {
        call()?;
    }
    Ok(())
}

fn run(server: &colocate::Colocate, test: &str, count: usize) -> Result<(), mig::Error> {
    let (small, block) = ([1; 64], [1; 1024]);
    let mut words = [1; 32];
    match test {
        "in_small" => calls(count, || server.in_small(&small)),
        "in_block" => calls(count, || server.in_block(&block)),
        "out_block" => calls(count, || server.out_block()),
        "words" => calls(count, || {
            words = server.words(&words)?;
            Ok(())
        }),
        _ => calls(count, || server.nothing()),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [test, way, count] = words.as_slice() else { return Err("usage: count TEST exclusive|shared COUNT".into()) };
    let count = count.parse()?;
    let port = ReceiveRight::new()?;
    let server = colocate::Colocate(port.make_send()?);
    let made = || Task::current().trap_calls(port.name()).unwrap_or(0);
    if way == "shared" {
        mig::with_shared_traps(&port, Near, colocate::traps(), || run(&server, test, count).map(|()| made()))
    } else {
        mig::with_traps(&port, &mut Near, colocate::traps(), |near| {
            std::thread::scope(|scope| {
                let right = &port;
                let server_thread = scope.spawn(move || {
                    while right.receive(None).is_ok_and(|request| {
                        let end = request.id() == 1;
                        let _ = near.serve(request, colocate::demux).unwrap_or_else(|request| mig::refuse(*request)).send();
                        !end
                    }) {}
                });
                // Calls are made once the server waits.
                while made() == 0 {
                    server.nothing()?;
                }
                let result = run(&server, test, count).map(|()| made());
                let right: &SendRight = &server.0;
                right.send(slipway_ports::rights::Outgoing::new(1), None)?;
                drop(server_thread.join());
                result
            })
        })
    }
    .map(|made| made.map(|made| println!("{made} calls")))??;
    Ok(())
}
