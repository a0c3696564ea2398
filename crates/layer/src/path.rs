//! Names in the tree.

use std::{
    ffi::OsStr,
    fmt,
    ops::{Bound, RangeBounds},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// A name in the tree: components from its root, without `.`, `..`, links and doubled slashes. The root's is empty.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct TreePath(Vec<u8>);

impl TreePath {
    /// The root's.
    pub fn root() -> Self {
        Self::default()
    }

    /// Of a file that is not in the tree, but beside its root.
    pub(crate) fn beside_root(name: &str) -> Self {
        Self(format!("../{name}").into_bytes())
    }

    /// Whether it is such a one.
    pub(crate) fn is_beside_root(&self) -> bool {
        self.0.starts_with(b"../")
    }

    /// Of a path whose `..` are taken literally: they remove the component before them.
    pub fn literal(path: impl AsRef<[u8]>) -> Self {
        let mut made: Vec<u8> = Vec::new();
        for component in path.as_ref().split(|byte| *byte == b'/') {
            match component {
                b"" | b"." => {}
                b".." => made.truncate(made.iter().rposition(|byte| *byte == b'/').unwrap_or(0)),
                name => {
                    if !made.is_empty() {
                        made.push(b'/');
                    }
                    made.extend_from_slice(name);
                }
            }
        }
        Self(made)
    }

    /// The name in this directory.
    #[must_use]
    pub fn join(&self, name: &[u8]) -> Self {
        self.join_all(std::iter::once(name))
    }

    /// The name that these components lead to from this directory, one after the other.
    #[must_use]
    pub fn join_all<'a>(&self, names: impl Iterator<Item = &'a [u8]> + Clone) -> Self {
        let mut bytes = Vec::with_capacity(self.0.len() + names.clone().map(|name| 1 + name.len()).sum::<usize>());
        bytes.extend_from_slice(&self.0);
        for name in names {
            if !bytes.is_empty() && !name.is_empty() {
                bytes.push(b'/');
            }
            bytes.extend_from_slice(name);
        }
        Self(bytes)
    }

    /// The directory that the name is in; the root's is the root.
    #[must_use]
    pub fn parent(&self) -> Self {
        let end = self.0.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        Self(self.0[..end].to_vec())
    }

    /// The last component; the root has an empty one.
    pub fn name(&self) -> &[u8] {
        let start = self.0.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
        &self.0[start..]
    }

    /// From the root on.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b'/').filter(|component| !component.is_empty())
    }

    /// Whether it is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is `other` or in the tree below it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.below(other).is_some()
    }

    /// All that is below it, in the order of names.
    pub(crate) fn range_below(&self) -> impl RangeBounds<Self> {
        const AFTER_SLASH: u8 = b'/' + 1;
        if self.is_root() {
            return (Bound::Excluded(Self::root()), Bound::Unbounded);
        }
        let with = |last: u8| Self([self.0.as_slice(), &[last]].concat());
        (Bound::Included(with(b'/')), Bound::Excluded(with(AFTER_SLASH)))
    }

    /// The components after those of `other`; empty if it is `other`.
    pub fn below(&self, other: &Self) -> Option<&[u8]> {
        if other.0.is_empty() {
            return Some(&self.0);
        }
        match self.0.strip_prefix(other.0.as_slice())? {
            [] => Some(&[]),
            [b'/', rest @ ..] => Some(rest),
            _ => None,
        }
    }

    /// For calls relative to a descriptor of the root: `.` for the root itself.
    pub fn relative(&self) -> &[u8] {
        if self.0.is_empty() { b"." } else { &self.0 }
    }

    /// With a slash in front.
    pub fn absolute(&self) -> Vec<u8> {
        [b"/", self.0.as_slice()].concat()
    }

    /// With a slash in front.
    pub fn to_path(&self) -> PathBuf {
        Path::new(OsStr::from_bytes(&self.absolute())).to_owned()
    }
}

impl fmt::Display for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for TreePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.absolute()))
    }
}

/// A path in a line of text: what could end a field, and what is not printable, as %XX.
pub(crate) fn escape(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_graphic() && *byte != b'%' {
            text.push(char::from(*byte))
        } else {
            text.push_str(&format!("%{byte:02x}"))
        }
    }
    text
}

/// The bytes of what [`escape`] made; none if nothing such did.
pub(crate) fn unescape(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, tail @ ..] = rest {
        if *first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    Some(bytes)
}

/// Paths in JSON are escaped text.
impl serde::Serialize for TreePath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&escape(&self.0))
    }
}

impl<'de> serde::Deserialize<'de> for TreePath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let path = unescape(&text).map(|bytes| match bytes.strip_prefix(b"../") {
            // See [`Self::beside_root`].
            Some(name) => Self([b"../", Self::literal(name).0.as_slice()].concat()),
            None => Self::literal(bytes),
        });
        path.ok_or_else(|| serde::de::Error::custom("a path with a wrong escape"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let path = TreePath::literal("/usr//lib/./x/../y");
        assert_eq!(path.absolute(), b"/usr/lib/y");
        assert_eq!((path.parent(), path.name()), (TreePath::literal("usr/lib"), b"y".as_slice()));
        assert_eq!(TreePath::literal("a").parent(), TreePath::root());
        assert!(path.is_within(&TreePath::literal("usr")) && !path.is_within(&TreePath::literal("us")));
        assert_eq!(TreePath::root().relative(), b".");
        assert_eq!(TreePath::literal("a").below(&TreePath::root()), Some(b"a".as_slice()));
    }

    #[test]
    fn what_is_below_in_the_order_of_names() {
        let all = ["a", "a-b", "a/b", "a/b/c", "a0", "b", "b/a"].map(TreePath::literal);
        for dir in all.iter().chain([&TreePath::root()]) {
            let (range, below) = (dir.range_below(), |path: &&TreePath| path.is_within(dir) && *path != dir);
            assert!(all.iter().filter(|path| range.contains(*path)).eq(all.iter().filter(below)), "{dir}");
        }
    }

    #[test]
    fn escapes() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(unescape(&escape(&bytes)), Some(bytes));
        assert_eq!(unescape("%zz"), None);
    }
}
