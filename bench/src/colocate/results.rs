//! What a run found.

use super::cases::{Case, Method, OWN_CALLS, Test};
use crate::trips::results::Unit;
use crate::trips::{self, Placement};

/// A whole run.
pub type Results = trips::results::Results<Case>;
/// One value.
pub type Row = trips::results::Row<Case>;

impl Results {
    /// Has calls that a server makes counted one by one: they were timed by the hundred.
    pub fn divide_own_calls(&mut self) {
        let by = |value: f64| value / f64::from(OWN_CALLS);
        for row in self.rows.iter_mut().filter(|row| row.case.test.is_servers() && row.unit == Unit::Microseconds) {
            row.value = by(row.value);
            row.p50 = row.p50.map(by);
            row.p99 = row.p99.map(by);
            row.range = row.range.map(by);
        }
    }

    /// The microseconds of a call: of what is one thread on its core, of all else between cores, or on the one that there is.
    pub fn call_us(&self, test: Test, method: Method) -> Option<f64> {
        self.us(test, method, Placement::Different).or_else(|| self.us(test, method, Placement::OneCore))
    }

    /// How many times as long a call in that way takes as one by trap.
    pub fn to_trap(&self, test: Test, method: Method) -> Option<f64> {
        Some(self.call_us(test, method)? / self.call_us(test, Method::Trap)?)
    }

    /// Instructions of a call, or of one of its stages.
    pub fn instructions(&self, test: Test, method: Method, stage: Option<&str>) -> Option<f64> {
        let case = Case { test, method, placement: Placement::OneCore };
        let row = match stage {
            None => self.of(case, Unit::Instructions),
            Some(stage) => self.part(case, stage, Unit::Instructions),
        };
        row.map(|row| row.value)
    }

    /// The time of a part of a call, nanoseconds: of what is one thread on its core, of all else between cores.
    pub fn ns(&self, test: Test, method: Method, part: &str) -> Option<&Row> {
        let placement = if method.is_one_thread() { Placement::OneCore } else { Placement::Different };
        self.part(Case { test, method, placement }, part, Unit::Nanoseconds)
    }
}
