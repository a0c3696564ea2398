//! X display names.

/// The number of a local display, from `:99`, `99`, `:99.0` or `unix:99`.
///
/// # Errors
/// A display of another host, or no display name.
pub fn parse(text: &str) -> Result<u32, String> {
    let (host, rest) = text.rsplit_once(':').unwrap_or(("", text));
    if !matches!(host, "" | "unix") {
        return Err("it is reached over the network, where no memory is shared".to_owned());
    }
    let (number, screen) = rest.split_once('.').unwrap_or((rest, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(number) || !is_number(screen) {
        return Err("expected a display such as :99".to_owned());
    }
    number.parse().map_err(|_| "expected a display such as :99".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_names() {
        for text in ["99", ":99", ":99.0", "unix:99", "99.1"] {
            assert_eq!(parse(text), Ok(99), "{text}");
        }
    }

    #[test]
    fn others() {
        for text in ["", ":", ":x", ":1.", ":-1", ":+1", "localhost:10.0", "host::1", ":99999999999"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("localhost:10.0").is_err_and(|why| why.contains("network")));
    }
}
