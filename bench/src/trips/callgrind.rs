//! Reading what callgrind writes.

/// The total of a callgrind profile: the first figure of its line "totals:", or, in versions that write none, "summary:".
pub fn total(profile: &str) -> Option<u64> {
    let figure = |name: &str| profile.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    figure("totals:").or_else(|| figure("summary:"))
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
}
