//! Reading what callgrind writes.

use std::collections::HashMap;

/// The total of a callgrind profile: the first figure of its line "totals:", or, in versions that write none, "summary:".
pub fn total(profile: &str) -> Option<u64> {
    let figure = |name: &str| profile.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    figure("totals:").or_else(|| figure("summary:"))
}

/// The instructions of a function.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Its own.
    pub own: u64,
    /// Those of what it calls, by name, and of what that calls.
    pub calls: HashMap<String, u64>,
}

/// The functions of a profile that has one figure a line, by name.
pub fn functions(profile: &str) -> HashMap<String, Function> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut functions: HashMap<String, Function> = HashMap::new();
    let (mut current, mut called) = (String::new(), None);
    // After "calls=" comes a line with what the calls took.
    let mut of_calls = false;
    for line in profile.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            current = resolve(name, &mut names);
        } else if let Some(name) = line.strip_prefix("cfn=") {
            called = Some(resolve(name, &mut names));
        } else if line.starts_with("calls=") {
            of_calls = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let Some(cost) = line.split_whitespace().nth(1).and_then(|cost| cost.parse::<u64>().ok()) else { continue };
            let function = functions.entry(current.clone()).or_default();
            match called.take().filter(|_| of_calls) {
                Some(name) => *function.calls.entry(name).or_default() += cost,
                None => function.own += cost,
            }
            of_calls = false;
        }
    }
    functions
}

/// "(7) name" gives a name a number, "(7)" uses it.
fn resolve<'a>(text: &'a str, names: &mut HashMap<&'a str, &'a str>) -> String {
    let (number, name) = text.split_once(' ').unwrap_or((text, ""));
    let name = match name {
        "" => names.get(number).copied().unwrap_or(number),
        name => {
            names.insert(number, name);
            name
        }
    };
    name.to_owned()
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
}
