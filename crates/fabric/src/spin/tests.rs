use super::*;
use std::cell::Cell;

#[test]
fn a_wanted_processor_ends_the_spinning_at_once() {
    let history = SpinHistory::hopeful();
    (0..MOST).for_each(|_| history.learn(Outcome::Won));
    history.learn(Outcome::Wanted);
    assert_eq!((0..RETRY).filter(|_| history.spins()).count(), 1);
}

#[test]
fn lost_waits_end_the_spinning_and_tries_go_on() {
    let history = SpinHistory::hopeful();
    for _ in 0..MOST {
        history.learn(Outcome::Lost);
    }
    assert_eq!((0..RETRY * 4).filter(|_| history.spins()).count(), 4);
    history.learn(Outcome::Won);
    assert!(history.spins());
}

#[test]
fn a_long_turn_of_many_that_were_waited_for_was_theirs() {
    let mut spinner = Spinner::new(SpinStrategy::Yield, 50_000, None);
    spinner.time = spinner.start + 1_200_000;
    let judge = |stirring| spinner.judge(Outcome::Burnt, || stirring);
    assert_eq!([0, 1, 43].map(judge), [(Outcome::Burnt, false), (Outcome::Burnt, true), (Outcome::Won, true)]);
    assert_eq!(spinner.judge(Outcome::Lost, || 9), (Outcome::Lost, false));
    assert_eq!(spinner.judge(Outcome::Won, || 0), (Outcome::Won, true));
}

/// A waiter that has lost its trust, and what its process has in common.
fn hopeless() -> (SpinHistory, Tries) {
    (SpinHistory::default(), Tries { until: AtomicU64::new(0) })
}

#[test]
fn tries_that_come_to_nothing_take_a_hundredth_of_the_time() {
    let (_, tries) = hopeless();
    let threads: Vec<_> = (0..50).map(|_| SpinHistory::default()).collect();
    let (mut time, mut spent, mut tried) = (1, 0, 0);
    // Six seconds, in which each thread waits once in 100 us.
    while time < 6_000_000_000 {
        for history in &threads {
            time += 2000;
            if history.tries_far(time, &tries) {
                (time, spent, tried) = (time + 200_000, spent + 200_000, tried + 1);
                history.learn_far(false, false, (200_000, 50_000), time, &tries);
            }
        }
    }
    assert!(spent <= time / 100, "{spent} of {time}");
    assert!(tried > 250, "{tried}: one is always made in time");
}

#[test]
fn a_try_that_goes_far_is_followed_by_an_expedition() {
    let (history, tries) = hopeless();
    let usual = 50_000;
    // The wait that is tried is won beyond what is usual.
    let waits = (0..RETRY).filter(|_| history.tries_far(1, &tries)).count();
    assert_eq!((waits, history.longest(usual)), (1, None));
    history.learn(Outcome::Won);
    history.learn_far(true, false, (2 * usual, usual), 1, &tries);
    // So are those that follow; that is given up in the end, and not tried again soon.
    let mut far = 0;
    while history.longest(usual) == Some(FAR * usual) {
        history.learn(Outcome::Won);
        history.learn_far(true, true, (2 * usual, usual), 1, &tries);
        far += 1;
    }
    assert_eq!((far, history.longest(usual)), (EXPEDITION, Some(usual)));
    let spent = u64::from(EXPEDITION + 1) * 2 * usual;
    assert_eq!(tries.until.load(Ordering::Relaxed), 1 + FRUGAL * spent);
    for _ in 0..MOST {
        history.learn(Outcome::Lost);
    }
    assert!(!(0..2 * RETRY).any(|_| history.tries_far(FRUGAL * spent, &tries)));
    assert!(history.tries_far(1 + FRUGAL * spent, &tries));
    // One that is won in the usual time goes no further.
    history.learn(Outcome::Won);
    history.learn_far(true, false, (usual, usual), 1, &tries);
    assert_eq!(history.longest(usual), Some(usual));
}

#[test]
fn an_expedition_ends_with_its_trust() {
    let (history, tries) = hopeless();
    assert!((0..RETRY).any(|_| history.tries_far(1, &tries)));
    history.learn(Outcome::Won);
    history.learn_far(true, false, (2, 1), 1, &tries);
    for _ in 0..2 {
        assert_eq!(history.longest(1), Some(FAR));
        history.learn(Outcome::Lost);
        history.learn_far(false, true, (4, 1), 1, &tries);
    }
    assert_eq!((history.far.load(Ordering::Relaxed), tries.until.load(Ordering::Relaxed)), (0, 1 + FRUGAL * 10));
}

#[test]
fn burnt_tries_become_rare() {
    let history = SpinHistory::default();
    let mut tries = 0;
    // An hour of a wait each 100 us.
    for now in (0..3_600_000_000_000).step_by(100_000) {
        if history.tries_again(now) {
            history.burn(now);
            tries += 1;
        }
    }
    assert!((60..90).contains(&tries), "{tries} tries");
}

#[test]
fn looking_ends_when_something_stirs_or_the_time_is_over() {
    for strategy in [SpinStrategy::Yield, SpinStrategy::Spin] {
        // A yield is burnt instead when another program has the processor for long.
        assert_ne!(look(strategy, u64::MAX, Some(0), || false), Outcome::Won);
        let looks = Cell::new(0);
        let outcome = look(strategy, u64::MAX, None, || looks.replace(looks.get() + 1) == 2);
        assert!(outcome == Outcome::Won || strategy == SpinStrategy::Yield, "{outcome:?}");
    }
    assert_eq!(look(SpinStrategy::Sleep, u64::MAX, None, || true), Outcome::Lost);
}

#[test]
fn a_peer_on_this_processor_is_let_run() {
    assert_eq!(SpinStrategy::between(3, 3), SpinStrategy::Yield);
    assert_eq!(SpinStrategy::between(3, 0), SpinStrategy::Yield);
    assert_eq!([SpinStrategy::Yield, SpinStrategy::between(3, 4)].into_iter().max(), Some(SpinStrategy::Spin));
}

#[test]
fn a_turn_of_others_is_no_time_of_the_spinner() {
    let courtesies = Courtesies { dear: AtomicU32::new(0), until: AtomicU64::new(0) };
    let spinner = |deadline| Spinner::new(SpinStrategy::Spin, 50_000, deadline);
    let mut short = spinner(None);
    let (start, end) = (short.time, short.end);
    short.gave(start + 100_000, &courtesies);
    assert_eq!((short.end, short.spent(), short.courtesy), (end + 100_000, 0, start + 100_000 + COURTESY));
    // Another spinner's turn is not one in which the processor was wanted.
    let after = |turns: &[u64]| {
        let mut spinner = spinner(None);
        turns.iter().for_each(|turn| spinner.gave(spinner.time + turn, &courtesies));
        spinner.wanted
    };
    assert_eq!([&[100_000; 2][..], &[100_000, COURTESY, 100_000], &[COURTESY; 9]].map(after), [WANTED, 1, 0]);
    // Nor is it beyond the caller's deadline.
    let mut hurried = spinner(Some(u64::MAX - 1));
    hurried.deadline = hurried.end + 10;
    hurried.gave(hurried.time + 100_000, &courtesies);
    assert_eq!(hurried.end, hurried.deadline);
    // A dear one ends the wait's looking.
    let mut dear = spinner(None);
    let end = dear.end;
    dear.gave(dear.time + DEAR + 1, &courtesies);
    assert!(dear.time > end && dear.end == end && dear.courtesy == u64::MAX);
    assert_ne!(courtesies.until.load(Ordering::Relaxed), 0);
}

#[test]
fn dear_turns_become_rare_and_are_forgotten() {
    let courtesies = Courtesies { dear: AtomicU32::new(0), until: AtomicU64::new(0) };
    let mut dear = 0;
    let mut time = 0;
    // An hour beside a third party, a wait each 100 us.
    while time < 3_600_000_000_000 {
        time = courtesies.next(time + 100_000);
        courtesies.burn(time);
        dear += 1;
    }
    assert!((1700..2000).contains(&dear), "{dear} turns");
    let later = time + 100_000_000_000;
    courtesies.burn(later);
    assert_eq!(courtesies.next(later), later + PAUSE_OF_COURTESY + COURTESY);
    assert_eq!(courtesies.next(later + PAUSE_OF_COURTESY), later + PAUSE_OF_COURTESY + COURTESY);
}
