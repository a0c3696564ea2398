//! Numbers as the tables print them.

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
}
