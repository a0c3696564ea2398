//! The two averages that the tables use.

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

/// The geometric mean of positive values. `None` for no values, or when one isn't positive.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut count = 0_u32;
    let mut logs = 0.0;
    for value in values {
        if value.is_nan() || value <= 0.0 {
            return None;
        }
        logs += value.ln();
        count += 1;
    }
    (count > 0).then(|| (logs / f64::from(count)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

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
