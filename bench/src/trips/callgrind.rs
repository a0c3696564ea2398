//! Reading what callgrind writes.

use std::collections::HashMap;
use std::rc::Rc;

/// The total of a callgrind profile: the first figure of its line "totals:", or, in versions that write none, "summary:".
pub fn total(profile: &str) -> Option<u64> {
    let figure = |name: &str| profile.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    figure("totals:").or_else(|| figure("summary:"))
}

/// One line of costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// The file that the code was loaded from.
    pub object: Rc<str>,
    /// The function, as the profile names it.
    pub function: Rc<str>,
    /// The instruction's address in its file; 0 in a profile without addresses.
    pub address: u64,
    /// What it calls, whose instructions these are; None for its own.
    pub called: Option<Rc<str>>,
    /// How many instructions.
    pub count: u64,
}

/// The lines of a profile that counts instructions and nothing else.
pub fn costs(profile: &str) -> Vec<Cost> {
    let positions = profile.lines().find_map(|line| line.strip_prefix("positions:")).unwrap_or("line");
    let columns = positions.split_whitespace().count();
    let has_addresses = positions.contains("instr");
    let mut names = Names::default();
    let (mut objects, mut costs) = (Names::default(), Vec::new());
    let (mut object, mut function, mut called): (Rc<str>, Rc<str>, _) = (Rc::from(""), Rc::from(""), None);
    // After "calls=" comes a line with what the calls took.
    let (mut of_calls, mut address) = (false, 0_u64);
    for line in profile.lines() {
        if let Some(name) = line.strip_prefix("ob=") {
            object = objects.resolve(name);
        } else if let Some(name) = line.strip_prefix("cob=") {
            objects.resolve(name);
        } else if let Some(name) = line.strip_prefix("fn=") {
            function = names.resolve(name);
        } else if let Some(name) = line.strip_prefix("cfn=") {
            called = Some(names.resolve(name));
        } else if line.starts_with("calls=") {
            of_calls = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let mut words = line.split_whitespace();
            if has_addresses && let Some(at) = words.clone().next().and_then(|word| moved(address, word)) {
                address = at;
            }
            let Some(count) = words.nth(columns).and_then(|count| count.parse::<u64>().ok()) else { continue };
            let called = called.take().filter(|_| of_calls);
            costs.push(Cost { object: Rc::clone(&object), function: Rc::clone(&function), address, called, count });
            of_calls = false;
        }
    }
    costs
}

/// The address that a line begins with: "0x1f", or one beside the last: "+3", "-8", "*".
fn moved(last: u64, word: &str) -> Option<u64> {
    match word.split_at_checked(1)? {
        ("*", _) => Some(last),
        ("+", by) => Some(last.wrapping_add(by.parse().ok()?)),
        ("-", by) => Some(last.wrapping_sub(by.parse().ok()?)),
        _ => u64::from_str_radix(word.strip_prefix("0x")?, 16).ok(),
    }
}

/// The instructions of a function.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Its own.
    pub own: u64,
    /// Those of what it calls, by name, and of what that calls.
    pub calls: HashMap<String, u64>,
}

/// The functions of a profile, by name.
pub fn functions(profile: &str) -> HashMap<String, Function> {
    let mut functions: HashMap<String, Function> = HashMap::new();
    for Cost { function, called, count, .. } in costs(profile) {
        let function = functions.entry(function.to_string()).or_default();
        match called {
            Some(name) => *function.calls.entry(name.to_string()).or_default() += count,
            None => function.own += count,
        }
    }
    functions
}

/// "(7) name" gives a name a number, "(7)" uses it.
#[derive(Default)]
struct Names<'a>(HashMap<&'a str, Rc<str>>);

impl<'a> Names<'a> {
    fn resolve(&mut self, text: &'a str) -> Rc<str> {
        let (number, name) = text.split_once(' ').unwrap_or((text, ""));
        let known = self.0.entry(number);
        match name {
            "" => Rc::clone(known.or_insert_with(|| Rc::from(number))),
            name => {
                let name: Rc<str> = Rc::from(name);
                known.insert_entry(Rc::clone(&name));
                name
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_a_profile() {
        assert_eq!(total("version: 1\nevents: Ir\nsummary: 12\nfn=(1) main\n1 5\ntotals: 34\n"), Some(34));
        assert_eq!(total("summary: 12\n"), Some(12));
        assert_eq!(total("events: Ir\ntotals:\n"), None);
    }

    #[test]
    fn functions_and_their_calls() {
        let profile = "events: Ir\n\nob=(1) /x\nfl=(1) a.c\nfn=(1) main\n16 400\n+2 3\ncfi=(2) b.c\ncfn=(2) f\ncalls=3 50\n* 70\n-1 1\n\n\
                       fl=(2)\nfn=(2)\n50 40\nfi=(3) c.h\n9 10\nfe=(2)\ncfn=(3) g h\ncalls=1 1\n51 20\n\nfn=(3)\n1 20\n\ntotals: 494\n";
        let found = functions(profile);
        let main = &found["main"];
        assert_eq!((main.own, main.calls["f"]), (404, 70));
        assert_eq!((found["f"].own, found["f"].calls["g h"]), (50, 20));
        assert_eq!(found["g h"], Function { own: 20, calls: HashMap::new() });
        assert_eq!(functions("no profile\n+"), HashMap::new());
    }

    #[test]
    fn addresses_are_told_from_lines() {
        let profile = "positions: instr line\nevents: Ir\nob=(1) /x\nfn=(1) main\n0x1f 7 10\n+3 +1 2\ncob=(2) /libc\ncfn=(2) f\n\
                       calls=3 0x99 0\n* * 30\nob=(2)\nfn=(2)\n0x99 0 30\n-9 0 4\n";
        let found = costs(profile);
        let short: Vec<_> = found.iter().map(|it| (&*it.object, &*it.function, it.address, it.count)).collect();
        let expected = [("/x", "main", 31, 10), ("/x", "main", 34, 2), ("/x", "main", 34, 30), ("/libc", "f", 153, 30)];
        assert_eq!(short[..4], expected);
        assert_eq!((found[2].called.as_deref(), found[4].address), (Some("f"), 144));
    }
}
