//! Calls every routine of sampler.defs and tidy.defs in Rust and checks what comes back, as sampler_client.c does in C.

// What `mig --lang rust --trap` writes; docs/mig.md says how a project makes its own.
pub use slipway_mig_interfaces::{sampler, tidy};

use sampler::{Record, Sampler};
use slipway_mach::{
    mig::{AnyRight, Carry, Code, Lend, ReceiveRight, SendRight},
    rights::Outgoing,
};
use std::{error::Error, ffi::CString, process::ExitCode, time::Duration};
use tidy::Tidy;

/// How long an answer may take that must come.
const PATIENCE: Duration = Duration::from_secs(60);

type Checked = Result<(), Box<dyn Error>>;

/// Ends the check with an error if something is not so.
macro_rules! check {
    ($($condition:tt)*) => {
        if !($($condition)*) {
            return Err(format!("{}:{}: not so: {}", file!(), line!(), stringify!($($condition)*)).into());
        }
    };
}

fn numbers(server: &Sampler) -> Checked {
    server.null()?;
    let back = server.four(1, -2, 3, 4)?;
    check!((back.w, back.x, back.y, back.z) == (4, 3, -2, 1));
    let back = server.sizes(b'a', -2, 1 << 40, false, 1.5)?;
    check!((back.a, back.b, back.c, back.d, back.e) == (b'b', -1, (1 << 40) + 1, true, 3.0));
    let first = server.sequence()?;
    check!(server.sequence()? == first + 1);
    check!(server.timed(0, 77)? == 77);
    Ok(())
}

fn strings(server: &Sampler) -> Checked {
    let back = server.strings(c"word", c"label", c"old", c"both")?;
    check!((&*back.word_out, &*back.label_out, &*back.old_out, &*back.both) == (c"word", c"label", c"old", c"both!"));
    let back = server.strings(c"", c"", c"", c"")?;
    check!((&*back.word_out, &*back.label_out, &*back.old_out, &*back.both) == (c"", c"", c"", c"!"));
    let long = CString::new(vec![b'x'; 199])?;
    let back = server.strings(&long, &long, &long, &long)?;
    check!(back.word_out.as_bytes().len() == 63 && back.label_out.as_bytes().len() == 15);
    check!(back.old_out.as_bytes().len() == 23 && back.both.as_bytes().len() == 63);
    server.tell(c"a word")?;
    check!(*server.told()? == *c"a word");
    Ok(())
}

fn structures(server: &Sampler) -> Checked {
    let record = Record { tag: b't', big: 40, small: 2 };
    let list: Vec<_> = (0..9).map(|small| Record { tag: 0, big: 0, small }).collect();
    let back = server.structures(&[1, 2], &record, &list[..8])?;
    check!(back.pair_out == [2, 1] && back.record == Record { big: 42, ..record });
    check!(back.list_out.len() == 8 && back.list_out[0].small == 7 && back.list_out[7].small == 0);
    check!(server.structures(&[1, 2], &record, &[])?.list_out.is_empty());
    check!(server.structures(&[1, 2], &record, &list).is_err_and(|error| error.code == Code::MIG_ARRAY_TOO_LARGE));
    Ok(())
}

fn arrays(server: &Sampler) -> Checked {
    let bytes: Vec<u8> = (0..100).collect();
    let zeros = vec![0; 4096];
    for length in [0, 1, 2, 3, 7, 8, 99, 100] {
        let back = server.arrays(&[1, 2, 3, 4], &bytes[..length], 5, &zeros[..length], &zeros[..length])?;
        check!(back.four_out == [4, 3, 2, 1] && back.sum == 5 && back.last == 5);
        check!(back.bytes_out.iter().rev().eq(&bytes[..length]));
        check!(back.both.len() == length + 1 && back.both[length] == 5);
    }
    let back = server.arrays(&[1, 2, 3, 4], &bytes[..3], 6, &zeros[..4095], &zeros[..4095])?;
    check!(back.both.len() == 4095 && back.sum == 6);
    let long = server.arrays(&[1, 2, 3, 4], &bytes[..3], 6, &zeros[..1], &zeros);
    check!(long.is_err_and(|error| error.code == Code::MIG_ARRAY_TOO_LARGE));
    let back = server.room(10)?;
    check!(back.told == 10 && back.list == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    Ok(())
}

fn memory(server: &Sampler) -> Checked {
    let block = [1; 1024];
    for length in [0, 1, 511, 512, 513, 100_000] {
        let list = vec![1; length];
        let given: Lend<'_, i32> = if length % 2 == 0 { Lend::from(&list) } else { Lend::from(list.clone()) };
        let back = server.unlimited(&list, &list, given, length as u32)?;
        check!((back.r#where == 1) == (length <= 512));
        check!(back.list_out.len() == length && back.list_out.iter().all(|number| *number == 3 * length as i32));
        let back = server.out_of_line(&list, list.clone(), &block)?;
        check!(back.sum == 2 * length as i64 + 1024 && *back.list_out == *list);
    }
    Ok(())
}

fn both_ways(server: &Sampler) -> Checked {
    let port = ReceiveRight::new()?;
    for length in [1, 512, 513, 5000] {
        for how in 0..3 {
            let result = server.both_ways(vec![1; length], how, Some(&port));
            if how == 2 {
                check!(result.is_err_and(|error| error.code == Code::MIG_ARRAY_TOO_LARGE));
                continue;
            }
            let back = result?;
            check!(back.words == b"www" && *back.list == *vec![1; length * (how as usize + 1)]);
        }
    }
    Ok(())
}

/// Three ports with a send right to each.
fn three_ports() -> Result<([ReceiveRight; 3], [SendRight; 3]), Box<dyn Error>> {
    let ports = [ReceiveRight::new()?, ReceiveRight::new()?, ReceiveRight::new()?];
    let rights = [ports[0].make_send()?, ports[1].make_send()?, ports[2].make_send()?];
    Ok((ports, rights))
}

fn names(rights: &[Option<SendRight>]) -> Vec<u32> {
    rights.iter().map(|right| right.as_ref().map_or(0, SendRight::name)).collect()
}

fn ports(server: &Sampler) -> Checked {
    let (ports, rights) = three_ports()?;
    let [a, b, c] = &rights;
    let back = server.ports(Some(a), Some(&ports[1]), Carry::Make(&ports[2]))?;
    check!(names(&[back.copy_out, back.made_out]) == [ports[0].name(), ports[1].name()]);
    check!(matches!(back.any_out, AnyRight::Send(Some(right)) if right.name() == ports[2].name()));
    let back = server.ports(None, None, Carry::MakeOnce(&ports[2]))?;
    check!(back.copy_out.is_none() && back.made_out.is_none());
    check!(matches!(back.any_out, AnyRight::SendOnce(Some(_))));
    let moved = ReceiveRight::new()?;
    let to_moved = moved.make_send()?;
    let back = server.ports(None, None, moved)?;
    let AnyRight::Receive(Some(moved)) = back.any_out else { return Err("the receive right did not come back".into()) };
    check!(moved.name() == to_moved.name());

    let back = server.port_arrays(
        &[Some(a), Some(b), Some(c)],
        &[Some(a), Some(b)],
        &[Some(a), None, Some(c)],
        &[Some(a), Some(b), Some(c)],
    )?;
    check!(names(&back.some_out) == [b.name(), a.name()]);
    check!(names(&back.far_out) == [a.name(), 0, c.name()]);
    check!(names(&back.either_out) == [a.name(), b.name(), c.name()]);
    let many = vec![Some(b); 300];
    let back = server.port_arrays(&[Some(a), None, None], &[], &[], &many)?;
    check!(back.some_out.is_empty() && back.far_out.is_empty() && names(&back.either_out) == [b.name(); 300]);
    Ok(())
}

fn more_numbers(server: &Sampler) -> Checked {
    let mut big = [0; 2000];
    big[0] = 7;
    let back = server.numbers(1.5, -5, 200, 60_000, 4_000_000_000, 1 << 63, &[true, false, true], &big)?;
    check!((back.real, back.tiny, back.byte, back.half) == (3.0, -6, 201, 60_001));
    check!((back.word, back.wide) == (4_000_000_001, (1 << 63) + 1));
    big.reverse();
    check!(back.flags_out == [false, true, false] && *back.big == big);
    Ok(())
}

fn moves(server: &Sampler) -> Checked {
    let (ports, rights) = three_ports()?;
    let names = ports.each_ref().map(ReceiveRight::name);
    let [first, second, third] = ports;
    let [a, b, _c] = rights;
    let said = first.make_send()?;
    let back = server.moves(Some(a), None, Some(&first), Some(third), Some(b), Some(said), Some(&second), Some(&second))?;
    let sends = [&back.send_out, &back.both, &back.said_out].map(|right| right.as_ref().map(SendRight::name));
    check!(sends == [Some(names[0]), Some(names[1]), Some(names[0])] && back.watches);
    check!(back.receive_out.is_some_and(|port| port.name() == names[2]));
    // The send-once right goes and comes back as another, and works.
    let back = server.moves(None, back.once_out, None, None, None, None, None, None)?;
    check!(back.send_out.is_none() && back.receive_out.is_none() && back.both.is_none() && back.watches);
    back.once_out.ok_or("no send-once right")?.send(Outgoing::new(77))?;
    check!(first.receive(Some(PATIENCE))?.id() == 77);
    Ok(())
}

fn far_things(server: &Sampler) -> Checked {
    let port = ReceiveRight::new()?;
    let right = port.make_send()?;
    for length in [0, 1, 85, 86, 5000] {
        let list: Vec<_> = (0..=length).map(|small| Record { tag: 1, big: 2, small }).collect();
        let (last, list) = (list[length as usize], &list[..length as usize]);
        let back = server.far_things(&last, list, list, &[Some(&right), None, Some(&right)])?;
        check!(back.there == 2 && back.record_out == last && *back.list_out == *list && *back.any_out == *list);
    }
    Ok(())
}

fn replies(server: &Sampler) -> Checked {
    let port = ReceiveRight::new()?;
    check!(server.reply_to(&port, 55)? == 55);
    server.ask(Some(&port), 1234)?;
    let mut reply = port.receive(Some(PATIENCE))?;
    check!((reply.id(), reply.next_int()) == (7025 + 100, Some(1234)));
    Ok(())
}

fn errors(server: &Sampler) -> Checked {
    let back = server.accounts(4, 3)?;
    check!((back.other, back.third) == (4, 7));
    let (port, list) = (ReceiveRight::new()?, vec![1; 600]);
    let right = port.make_send()?;
    let refused = server.refuse(1234, Some(&port), &list, &list, &[Some(&right), Some(&right)]);
    check!(refused.is_err_and(|error| error.code == Code(1234)));
    let refused = server.refuse(1234, Some(&port), &list[..2], &[], &[]);
    check!(refused.is_err_and(|error| error.code == Code(1234)));
    // Nobody releases this one: the time runs out.
    let late = server.later(Duration::from_millis(10), 21);
    check!(late.is_err_and(|error| error.code == Code::RCV_TIMED_OUT));
    server.release()?;
    server.null()?;
    // Of two that wait the server forgets the one that came first, which is told.
    let other = Sampler(server.0.try_clone()?);
    let forgotten = std::thread::spawn(move || other.later(PATIENCE, 1));
    while !forgotten.is_finished() {
        let late = server.later(Duration::from_millis(10), 2);
        check!(late.is_err_and(|error| matches!(error.code, Code::RCV_TIMED_OUT | Code::MIG_SERVER_DIED)));
    }
    let forgotten = forgotten.join().map_err(|_| "the other thread failed")?;
    check!(forgotten.is_err_and(|error| error.code == Code::MIG_SERVER_DIED));
    // The last one has a name there, or none if it came too late for that.
    server.release()?;
    server.null()?;
    Ok(())
}

fn tidy_check(server: &Tidy) -> Checked {
    let back = server.pairs(&[1, 2, 3], &[4, 5, 6])?;
    check!(back.keys_out == [4, 5, 6] && back.values_out == [1, 2, 3]);
    check!(server.pairs(&[1], &[4, 5]).is_err_and(|error| error.code == Code::INVALID_ARGUMENT));
    for length in [0, 1, 5000] {
        let list: Vec<_> = (0..length).collect();
        check!(*server.tidy(&list)? == *list);
    }
    check!(server.hurry(2.5, PATIENCE)? == 2.5);
    server.hint(&[1, 2], PATIENCE)?;
    check!(server.hurry_on(PATIENCE, 41)? == 42);
    Ok(())
}

/// An error says what is not as it should be.
pub fn sampler_check(server: &Sampler) -> Checked {
    for part in [numbers, strings, structures, arrays, memory, both_ways, ports, more_numbers, moves, far_things, replies, errors]
    {
        part(server)?;
    }
    tidy_check(&Tidy(server.0.try_clone()?))
}

/// The program.
pub fn main() -> ExitCode {
    let checked = SendRight::look_up("sampler").map_err(Into::into).and_then(|right| sampler_check(&Sampler(right)));
    match checked {
        Ok(()) => {
            println!("every routine answered as it should");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("sampler: {error}");
            ExitCode::FAILURE
        }
    }
}
