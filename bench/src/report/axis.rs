//! A logarithmic axis.

/// Maps ratios to horizontal positions, evenly by factor.
#[derive(Debug, Clone, Copy)]
pub struct Axis {
    low: f64,
    high: f64,
    left: f64,
    width: f64,
}

impl Axis {
    /// An axis from `left` over `width`, that shows every one of `values` and some room around 1.
    pub fn around(values: impl IntoIterator<Item = f64>, left: f64, width: f64) -> Self {
        let mut low = 0.5_f64;
        let mut high = 2.0_f64;
        for value in values.into_iter().filter(|value| *value > 0.0 && value.is_finite()) {
            low = low.min(value);
            high = high.max(value);
        }
        let floor = steps().rev().find(|step| *step <= low).unwrap_or(low);
        let ceiling = steps().find(|step| *step >= high).unwrap_or(high);
        Self { low: floor, high: ceiling, left, width }
    }

    /// The position of `value`.
    pub fn x(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        self.left + self.width * share
    }

    /// Round values on the axis: 1, 2 and 5 times powers of ten.
    pub fn ticks(&self) -> Vec<f64> {
        let shown = self.low * 0.999..=self.high * 1.001;
        steps().filter(|step| shown.contains(step)).collect()
    }
}

fn steps() -> impl DoubleEndedIterator<Item = f64> {
    (-4..=6).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_ends_and_even_factors() {
        let axis = Axis::around([0.23, 31.0], 100.0, 600.0);
        assert_eq!(axis.ticks().first(), Some(&0.2));
        assert_eq!(axis.ticks().last(), Some(&50.0));
        assert!((axis.x(0.2) - 100.0).abs() < 1e-9);
        assert!((axis.x(50.0) - 700.0).abs() < 1e-9);
        let (small, large) = (axis.x(2.0) - axis.x(1.0), axis.x(40.0) - axis.x(20.0));
        assert!((small - large).abs() < 1e-9);
    }

    #[test]
    fn nothing_to_show_still_has_an_axis() {
        assert_eq!(Axis::around([], 0.0, 1.0).ticks(), [0.5, 1.0, 2.0]);
    }
}
