//! What a run found.

use super::cases::{Case, Method, Test};
use crate::trips::results::Unit;
use crate::trips::{self, Placement};

/// A whole run.
pub type Results = trips::results::Results<Case>;
/// One value.
pub type Row = trips::results::Row<Case>;

impl Results {
    /// The row of that case in that unit.
    pub fn row(&self, test: Test, method: Method, placement: Placement, unit: Unit) -> Option<&Row> {
        self.of(Case { test, method, placement }, unit)
    }

    /// Microseconds of one right, there and deallocated, among as many as `test` sends: half of what the
    /// round trip takes above a null message. None for tests without rights, or when one was not measured.
    pub fn right_us(&self, test: Test, method: Method, placement: Placement) -> Option<f64> {
        let (Test::Ports(count) | Test::PassedOn(count)) = test else { return None };
        let null = self.us(Test::Longwords(0), method, placement)?;
        Some((self.us(test, method, placement)? - null) / 2.0 / f64::from(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ipc::report::sample::results;
    use crate::trips::exchange::Timing;

    #[test]
    fn a_row_is_the_median_of_its_repetitions() {
        let case = Case { test: Test::Longwords(0), method: Method::Pipe, placement: Placement::Different };
        let timing = |mean_us| Timing { mean_us, p50_us: mean_us / 2.0, p99_us: mean_us * 2.0 };
        let row = Row::timed(case, &[timing(3.0), timing(1.0), timing(8.0)]).unwrap();
        assert_eq!((row.value, row.p50, row.p99, row.range), (3.0, Some(1.5), Some(6.0), [1.0, 8.0]));
        assert!(Row::timed(case, &[]).is_none());
    }

    #[test]
    fn a_right_costs_half_of_what_the_round_trip_takes_above_a_null_message() {
        let results = results();
        let us = |test| results.us(test, Method::Socket, Placement::OneCore).unwrap();
        let expected = (us(Test::Ports(256)) - us(Test::Longwords(0))) / 512.0;
        assert_eq!(results.right_us(Test::Ports(256), Method::Socket, Placement::OneCore), Some(expected));
        assert_eq!(results.right_us(Test::Longwords(16), Method::Socket, Placement::OneCore), None);
        assert_eq!(results.right_us(Test::Ports(256), Method::Fabric, Placement::OneCore), None);
    }
}
