//! Numbers as the tables print them, and the averages that they are.

/// A rate with three digits: "246M", "18.2k", "940", "33.9".
pub fn rate(value: f64) -> String {
    match value {
        1e6.. => format!("{}M", three(value / 1e6)),
        1e3.. => format!("{}k", three(value / 1e3)),
        _ => three(value),
    }
}

/// Microseconds with three digits, down to thousandths.
pub fn microseconds(value: f64) -> String {
    match value {
        0.1.. => three(value),
        0.01.. => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

/// A ratio: "x1.04", "x31.2".
pub fn ratio(value: f64) -> String {
    match value {
        10.0.. => format!("x{value:.1}"),
        _ => format!("x{value:.2}"),
    }
}

fn three(value: f64) -> String {
    match value {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The median; the mean of the middle two for an even count. `None` for no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The lowest and the highest of positive values.
pub fn range(values: impl Iterator<Item = f64> + Clone) -> [f64; 2] {
    [values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max)]
}

/// Each of the values once, in their order.
pub fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    values.into_iter().fold(Vec::new(), |mut found, value| {
        if !found.contains(&value) {
            found.push(value);
        }
        found
    })
}

/// The geometric mean of positive values. `None` for no values, or when one isn't positive.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = values.into_iter().map(f64::ln).collect();
    let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    (mean.is_finite() && mean > 0.0).then_some(mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(rate(246_123_456.0), "246M");
        assert_eq!(rate(18_240.0), "18.2k");
        assert_eq!(rate(4480.0), "4.48k");
        assert_eq!(rate(33.9), "33.9");
        assert_eq!(microseconds(13.84), "13.8");
        assert_eq!(microseconds(0.0312), "0.031");
        assert_eq!(microseconds(0.0041), "0.0041");
        assert_eq!(ratio(31.24), "x31.2");
        assert_eq!(ratio(0.984), "x0.98");
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), Some(3.0));
    }

    #[test]
    fn geometric_means() {
        assert_eq!(geometric_mean([]), None);
        assert_eq!(geometric_mean([2.0, 0.0]), None);
        assert_eq!(geometric_mean([2.0, f64::NAN]), None);
        let mean = geometric_mean([0.5, 2.0, 8.0]).unwrap();
        assert!((mean - 2.0).abs() < 1e-12, "{mean}");
    }
}
