//! Comparing what the two sides saw.

/// The first line that differs, as the whole is long. Both are the client's transcript, and the server's.
pub fn assert_same(a: &[String; 2], b: &[String; 2], what: &str) {
    for (side, (a, b)) in ["client", "server"].into_iter().zip(a.iter().zip(b)) {
        let differs = a.lines().zip(b.lines()).enumerate().find(|(_, (a, b))| a != b);
        assert!(differs.is_none(), "{what}: the {side} sees something else: {differs:?}");
        assert_eq!(a.lines().count(), b.lines().count(), "{what}: the {side} sees more or less");
    }
}
