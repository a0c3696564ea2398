//! Damaged replies: what a caller makes of them, whatever language it is in.

use crate::client::{sampler::Sampler, tidy::Tidy};
use crate::damage::{Random, damage, receive, samples, send, word};
use crate::server::Server;
use slipway_mach::{
    abi::{HEADER, types},
    mig::{self, Error, ReceiveRight, SendRight},
    task::Task,
};
use std::{collections::HashMap, io::Write, time::Duration};

/// How often each routine is called.
pub const ROUNDS: usize = 150;

/// Serves as "sampler", with replies that are damaged in the same way in every run.
pub fn serve() -> ! {
    let (answering, port) = (ReceiveRight::new().expect("a port"), ReceiveRight::new().expect("a port"));
    let real = answering.make_send().expect("a send right");
    let mut server = Server::default();
    std::thread::spawn(move || {
        let both = |request| server.serve(request);
        mig::serve(&answering, both).map(|_| ()).expect("the port lives")
    });
    let replies = ReceiveRight::new().expect("a port");
    let whole: HashMap<i32, Vec<u8>> = samples()
        .into_iter()
        .map(|sample| {
            let (dest, reply) = ((real.name(), types::COPY_SEND), (replies.name(), types::MAKE_SEND_ONCE));
            assert!(send(sample.id, dest, reply, &sample.body, false).is_none(), "a good request");
            (sample.id, receive(replies.name())[HEADER..].to_vec())
        })
        .collect();
    port.make_send().expect("a send right").register("sampler").expect("registered");
    println!("ready");
    std::io::stdout().flush().expect("told");
    let mut random = Random(2);
    loop {
        let request = receive(port.name());
        let (id, to) = (word(&request, 28).cast_signed(), word(&request, 8));
        let mut body = whole.get(&id).expect("a routine that is known").clone();
        let complex = damage(&mut random, &mut body);
        let id = id + if random.below(30) == 0 { 101 } else { 100 };
        if send(id, (to, types::MOVE_SEND_ONCE), (0, 0), &body, complex).is_some() {
            // Unsent, it is dropped, of which the caller is told; where it went with the message that was it.
            let _ = Task::current().deallocate(to);
        }
    }
}

/// The code of a call, and what `values` tells of it if there was no error.
fn say<T>(name: &str, result: Result<T, Error>, values: impl FnOnce(T) -> String) {
    match result {
        Ok(back) => println!("said {name} 0{}", values(back)),
        Err(error) => println!("said {name} {}", error.code.0),
    }
}

/// Calls the server, as replies.c does.
pub fn call() {
    let right = SendRight::look_up("sampler").expect("the server");
    let tidy = Tidy(right.try_clone().expect("a right"));
    let server = Sampler(right);
    for _ in 0..ROUNDS {
        say("null", server.null(), |()| String::new());
        say("four", server.four(1, 2, 3, 4), |r| format!(" {} {} {} {}", r.w, r.x, r.y, r.z));
        say("sizes", server.sizes(b'a', 2, 3, true, 4.5), |r| format!(" {} {} {} {}", r.a, r.b, r.c, u8::from(r.d)));
        say("strings", server.strings(c"word", c"label", c"old", c"both"), |r| {
            let all = [r.word_out, r.label_out, r.old_out, r.both];
            all.iter().map(|text| format!(" {}", text.as_bytes().len())).collect()
        });
        say("arrays", server.arrays(&[0; 4], b"bytes", 6, &[0; 33], &[0; 2]), |r| {
            format!(" {} {} {} {} {}", r.four_out[3], r.bytes_out.len(), r.sum, r.both.len(), r.last)
        });
        say("room", server.room(5), |r| format!(" {} {}", r.list.len(), r.told));
        say("unlimited", server.unlimited(&[0; 2], &[0], &[], 4), |r| {
            format!(" {} {} {}", r.r#where, r.list_out.len(), r.list_out.last().unwrap_or(&0))
        });
        say("accounts", server.accounts(4, 3), |r| format!(" {} {}", r.other, r.third));
        say("timed", server.timed(0, 77), |same| format!(" {same}"));
        say("numbers", server.numbers(1.5, 1, 2, 3, 4, 5, &[true, false], &[0; 2000]), |r| {
            let numbers = format!(" {} {} {} {} {}", r.tiny, r.byte, r.half, r.word, r.wide);
            format!("{numbers} {} {}", r.flags_out.len(), r.big[1999])
        });
        say("pairs", tidy.pairs(&[0; 3], &[0; 3]), |r| format!(" {}", r.keys_out.len()));
        say("hurry_on", tidy.hurry_on(Duration::from_secs(60), 41), |value| format!(" {value}"));
    }
}
