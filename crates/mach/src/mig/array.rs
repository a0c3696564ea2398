//! Arrays that may have come out of line.

use super::plain::{Plain, load_all, store_all};
use crate::rights::Region;
use std::{fmt, ops::Deref};

/// An array without a limit: memory of its own, or pages that came with a message.
pub struct Array<T: Plain>(Held<T>);

enum Held<T> {
    Own(Vec<T>),
    Region(Region),
}

impl<T: Plain> Array<T> {
    /// What is in a region of this process.
    pub(super) fn from_region(region: Region) -> Self {
        match T::view(&region) {
            Some(_) => Self(Held::Region(region)),
            None => Self(Held::Own(load_all(&region))),
        }
    }

    /// Whether it came out of line and is still where it was put.
    pub fn is_region(&self) -> bool {
        matches!(self.0, Held::Region(_))
    }

    /// The elements in memory of their own, to be changed.
    pub fn into_vec(self) -> Vec<T> {
        match self.0 {
            Held::Own(values) => values,
            Held::Region(region) => load_all(&region),
        }
    }
}

impl<T: Plain> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Held::Own(values) => values,
            Held::Region(region) => T::view(region).unwrap_or_default(),
        }
    }
}

impl<T: Plain> Default for Array<T> {
    fn default() -> Self {
        Self(Held::Own(Vec::new()))
    }
}

impl<T: Plain> From<Vec<T>> for Array<T> {
    fn from(values: Vec<T>) -> Self {
        Self(Held::Own(values))
    }
}

impl<T: Plain + fmt::Debug> fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Elements to send: lent for the time of the call, or given away.
#[derive(Debug)]
pub enum Lend<'a, T: Plain> {
    /// The caller keeps them.
    Lent(&'a [T]),
    /// They go with the message.
    Given(Array<T>),
}

impl<T: Plain> Deref for Lend<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::Lent(values) => values,
            Self::Given(values) => values,
        }
    }
}

impl<'a, T: Plain> From<&'a [T]> for Lend<'a, T> {
    fn from(values: &'a [T]) -> Self {
        Self::Lent(values)
    }
}

impl<'a, T: Plain, const N: usize> From<&'a [T; N]> for Lend<'a, T> {
    fn from(values: &'a [T; N]) -> Self {
        Self::Lent(values)
    }
}

impl<'a, T: Plain> From<&'a Vec<T>> for Lend<'a, T> {
    fn from(values: &'a Vec<T>) -> Self {
        Self::Lent(values)
    }
}

impl<T: Plain> From<Vec<T>> for Lend<'_, T> {
    fn from(values: Vec<T>) -> Self {
        Self::Given(values.into())
    }
}

impl<T: Plain> From<Array<T>> for Lend<'_, T> {
    fn from(values: Array<T>) -> Self {
        Self::Given(values)
    }
}

/// The elements' bytes, if they don't lie in memory as in messages.
pub(super) fn packed<T: Plain>(values: &[T]) -> Option<Vec<u8>> {
    if T::bytes(values).is_some() {
        return None;
    }
    let mut bytes = Vec::with_capacity(values.len() * T::SIZE);
    store_all(values, &mut bytes);
    Some(bytes)
}
