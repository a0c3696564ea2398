//! Random misbehaviour.

use super::*;

fn random_record(dice: &mut Dice) -> Record {
    let small = |dice: &mut Dice| dice.of(&[0u32, 1, 2, 3, 5, 7, 8, 16, 64, 2047, 2048, 1 << 20, 1 << 31, !0]);
    let multiple = |dice: &mut Dice| dice.of(&[0u32, 0, 8, 16, 24, 64, 72, 4096, 4, !7]);
    Record {
        body: multiple(dice),
        items: multiple(dice),
        kind: dice.of(&[1, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0, 255]),
        flags: dice.of(&[0, 0, 1, 1, 2, 3, 4, 16, 48, 255]),
        fds: dice.of(&[0, 0, 0, 1, 2, 3, 300]),
        target: small(dice),
        id: dice.any() as i32 | 0x4000,
        count: small(dice),
        reply: right(dice.below(13) as u32, small(dice)),
    }
}

fn misbehave(line: &mut Line, stage: &Stage, dice: &mut Dice) {
    let fds = if dice.below(2) == 0 { odd_descriptors(dice, &[&stage.open]) } else { Vec::new() };
    let mut borrowed: Vec<BorrowedFd<'_>> = fds.iter().map(AsFd::as_fd).collect();
    match dice.below(12) {
        0..4 => {
            let mut record = random_record(dice);
            if dice.below(3) > 0 {
                record.fds = borrowed.len() as u16;
            }
            let len = (record.body.wrapping_add(record.items) as usize).min(8192);
            let rest: Vec<u8> = (0..len).map(|_| if dice.below(3) == 0 { dice.any() as u8 } else { 0 }).collect();
            line.write(&record, &rest, &borrowed);
        }
        4..7 => {
            // A message that is right but for its rights.
            let codes: Vec<WireRight> =
                (0..1 + dice.below(4)).map(|_| right(dice.below(13) as u32, dice.of(&[0, 0, 1, 2, 7, !0]))).collect();
            let mut inner = luggage(dice.below(3) as u32, dice.below(3) as u32, dice.below(3) as u64);
            inner.flags = dice.below(4) as u32;
            inner.nsrequest = right(dice.below(13) as u32, dice.below(3) as u32);
            inner.pdrequest = right(dice.below(13) as u32, dice.below(3) as u32);
            let (mut record, mut rest) = rights(message(0), &codes, inner.as_bytes());
            if dice.below(2) == 0 {
                let count = dice.of(&[0, 1, 1, 2, 9]);
                rest.extend(ItemHead { kind: dice.of(&[6, 7, 8, 8, 9, 9]), at: 0, count }.as_bytes());
                (0..count).for_each(|_| rest.extend(dice.of(&[0u64, 0, 1, 7, 8, 1 << 40]).as_bytes()));
                record.items += 16 + 8 * count as u32;
            }
            borrowed.truncate(dice.below(4));
            line.write(&Record { fds: borrowed.len() as u16, ..record }, &rest, &borrowed);
        }
        7 => (0..1 + dice.below(20))
            .for_each(|_| line.scribble(dice.below(1024), dice.of(&[0, 1, 2, 3, !0, 1 << 18, dice.clone().any() as u32]))),
        8 => (0..1 + dice.below(20)).for_each(|_| line.scribble(dice.any() as usize, dice.any() as u32)),
        9 => line.lie(dice.of(&[1, 8, 31, 32, 64, RING as u64, RING as u64 + 1, u64::MAX])),
        10 => drop(objects::send(line.fd_socket.as_fd(), &[&vec![7; dice.below(3)]], &borrowed)),
        _ => {
            let junk = vec![dice.any() as u8; dice.of(&[0, 1, 7, 8, 16, 64, 500])];
            let to = if dice.below(2) == 0 { line.bell.as_fd() } else { stage.open.as_fd() };
            let _ = objects::send(to, &[&junk], &borrowed);
        }
    }
    line.ring();
}

#[test]
fn random_misbehaviour_beside_an_honest_client() {
    let test = "random::random_misbehaviour_beside_an_honest_client";
    if role().is_some() {
        return victim();
    }
    let _dog = watchdog(test, 2 * WATCHDOG + 2 * fuzz_time());
    let (mut stage, line) = Stage::new(test);
    drop(line);
    stage.round_trip();
    let before = stage.stats();
    let (first, start) = (seed(), Instant::now());
    let mut rounds = 0;
    while rounds == 0 || (std::env::var_os("SLIPWAY_FUZZ_SEED").is_none() && start.elapsed() < fuzz_time()) {
        let _named = NamedSeed(first + rounds);
        let mut dice = Dice::new(first + rounds);
        let mut line = if dice.below(4) == 0 { Stage::introduce(stage.server, stage.reply).0 } else { Line::make(&stage.open) };
        for step in 0..dice.below(40) {
            misbehave(&mut line, &stage, &mut dice);
            if step % 10 == 0 {
                stage.round_trip();
            }
        }
        stage.round_trip();
        drop(line);
        if rounds % 64 == 0 {
            stage.until_clean(Stats { names: before.names + 1, ..before });
        }
        rounds += 1;
    }
    stage.until_clean(Stats { names: before.names + 1, ..before });
    let after = stage.stats();
    assert!(after.resident < before.resident + (64 << 20), "the victim has grown: {before:?}, {after:?}");
    eprintln!("forgery: {rounds} rounds from seed {first}; {before:?}, {after:?}");
    stage.end();
}
