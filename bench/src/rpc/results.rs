//! What a run found.

use super::cases::{Case, Method, Test};
use super::stubs::TIMES;
use crate::trips::results::Unit;
use crate::trips::{self, Placement};

/// A whole run.
pub type Results = trips::results::Results<Case>;
/// One value.
pub type Row = trips::results::Row<Case>;

impl Results {
    /// How calls in that way relate to the bare messages beside them.
    pub fn to_bare(&self, test: Test, method: Method, placement: Placement) -> Option<f64> {
        Some(self.us(test, method, placement)? / self.us(test, method.bare()?, placement)?)
    }

    /// Nanoseconds of the stubs' work in a call, without any message.
    pub fn work_ns(&self, test: Test) -> Option<f64> {
        let us = |method| self.us(test, method, Placement::OneCore);
        // Microseconds of a thousand.
        Some((us(Method::ClientStub)? - us(Method::Ready)? + us(Method::ServerStub)?) / f64::from(TIMES) * 1e3)
    }

    /// Instructions of a call of which nothing is polled, or of one of its parts.
    pub fn instructions(&self, test: Test, part: Option<&str>) -> Option<f64> {
        let case = Case { test, method: Method::StubsSleep, placement: Placement::OneCore };
        let row = match part {
            None => self.of(case, Unit::Instructions),
            Some(part) => self.part(case, part, Unit::Instructions),
        };
        row.map(|row| row.value)
    }
}
