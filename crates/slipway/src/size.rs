//! Sizes, counts and times on the command line and in the environment.

use std::time::Duration;

/// What to do instead of a limit of 0.
const ZERO: &str = "0 would leave no shared memory; to run without it, use --off or SLIPWAY_X11=off";

/// Reads a number of bytes with an optional suffix K, M or G (powers of 1024).
///
/// # Errors
/// Not a number, an unknown suffix, more than 64 bits, or 0.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, suffix) = text.split_at(digits);
    let shift = match suffix.to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return Err(bad_size()),
    };
    if number.is_empty() {
        return Err(bad_size());
    }
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift)).ok_or("larger than any memory")?;
    if bytes == 0 {
        return Err(ZERO.to_owned());
    }
    Ok(bytes)
}

/// Reads a count of clients, at least 1.
///
/// # Errors
/// Not a number, 0, or more than 32 bits.
pub fn parse_count(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(0) => Err(ZERO.to_owned()),
        Ok(count) => Ok(count),
        Err(_) => Err("expected a whole number from 1 to 4294967295".to_owned()),
    }
}

/// Reads a spinning time in microseconds, at most a second; 0 is fine.
///
/// # Errors
/// Not a number, or more than a second.
pub fn parse_spin(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|&number| number <= 1_000_000);
    number.ok_or_else(|| "expected microseconds as a whole number from 0 to 1000000".to_owned())
}

/// Reads a time between two looks in seconds, which may be a fraction.
///
/// # Errors
/// Not a number, less than 0.05, or more than a day.
pub fn parse_interval(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.05..=86_400.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "expected seconds from 0.05 to 86400, such as 0.5".to_owned())
}

fn bad_size() -> String {
    "expected bytes as a whole number with an optional suffix K, M or G, such as 64K".to_owned()
}

/// `bytes` with the largest suffix that divides it: what [`parse_size`] reads back.
pub fn exact(bytes: u64) -> String {
    match bytes.trailing_zeros() {
        _ if bytes == 0 => "0".to_owned(),
        30.. => format!("{}G", bytes >> 30),
        20.. => format!("{}M", bytes >> 20),
        10.. => format!("{}K", bytes >> 10),
        _ => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_powers_of_1024() {
        for (text, bytes) in [("1", 1), ("64K", 65_536), ("64k", 65_536), ("3M", 3 << 20), ("2g", 2 << 30)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "K", "-1", "1.5M", "1T", "1KiB", "1 K", "0x10", "K1", "+1", "99999999999999999999", "18014398509481985K"]
        {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn zero_says_what_to_do_instead() {
        for text in ["0", "0K", "000"] {
            assert!(parse_size(text).is_err_and(|why| why.contains("--off")), "{text}");
        }
        assert!(parse_count("0").is_err_and(|why| why.contains("--off")));
    }

    #[test]
    fn spinning_may_be_zero_but_not_for_ever() {
        assert_eq!(parse_spin("0"), Ok(0));
        assert_eq!(parse_spin("1000000"), Ok(1_000_000));
        assert!(parse_spin("1000001").is_err() && parse_spin("50us").is_err());
    }

    #[test]
    fn exact_reads_back() {
        for bytes in [1, 1023, 1024, 1536, 65_536, 1 << 20, 5 << 30, u64::MAX] {
            assert_eq!(parse_size(&exact(bytes)), Ok(bytes));
        }
        assert_eq!(exact(65_536), "64K");
    }
}
