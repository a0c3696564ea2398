//! Times on the command line, and sizes for people.

use std::time::Duration;

/// Reads a time between two looks in seconds, which may be a fraction.
///
/// # Errors
/// Not a number, less than 0.05, or more than a day.
pub fn parse_interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.05..=86_400.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "expected seconds from 0.05 to 86400, such as 0.5".to_owned())
}

/// `bytes` with the largest suffix that divides it: what [`parse_size`](slipway_transport::settings::parse_size) reads back.
pub fn exact(bytes: u64) -> String {
    match bytes.trailing_zeros() {
        _ if bytes == 0 => "0".to_owned(),
        30.. => format!("{}G", bytes >> 30),
        20.. => format!("{}M", bytes >> 20),
        10.. => format!("{}K", bytes >> 10),
        _ => bytes.to_string(),
    }
}

/// `count` bytes for people, such as "1.5 MiB".
pub fn bytes(count: u64) -> String {
    let unit = count.checked_ilog2().unwrap_or(0) / 10;
    match ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"].get((unit as usize).wrapping_sub(1)) {
        Some(name) => format!("{:.1} {name}", count as f64 / (1_u64 << (10 * unit)) as f64),
        None => format!("{count} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slipway_transport::settings::parse_size;

    #[test]
    fn bytes_have_the_largest_unit() {
        for (count, text) in [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (3 << 19, "1.5 MiB"), (u64::MAX, "16.0 EiB")] {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn exact_reads_back() {
        for bytes in [1, 1023, 1024, 1536, 65_536, 1 << 20, 5 << 30, u64::MAX] {
            assert_eq!(parse_size(&exact(bytes)), Ok(bytes));
        }
        assert_eq!(exact(65_536), "64K");
    }
}
