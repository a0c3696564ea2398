//! The mapping as loom sees it: heap objects whose every access the model checks for races.
#![allow(unsafe_code, clippy::disallowed_types, reason = "loom's cells are how it finds data races")]

use loom::cell::UnsafeCell;
use std::sync::Arc;

/// A shared object; the model's stand-in for a typed view into a mapping.
#[derive(Debug)]
pub struct Shared<T>(Arc<T>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Default> Shared<T> {
    /// A fresh object, as zeroed memory would be.
    pub fn fresh() -> Self {
        Self(Arc::new(T::default()))
    }
}

impl<T> std::ops::Deref for Shared<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

/// A ring's area in which loom reports any read that races with a write.
#[derive(Debug, Clone)]
pub struct Bytes(Arc<Vec<UnsafeCell<u8>>>);

impl Bytes {
    /// As the native one.
    pub fn load<const N: usize>(&self, at: u64) -> [u64; N] {
        let mut bytes = [[0; 8]; N];
        self.copy_out(at, bytes.as_flattened_mut());
        bytes.map(u64::from_ne_bytes)
    }

    /// As the native one.
    pub fn store<const N: usize>(&self, at: u64, words: [u64; N]) {
        self.copy_in(at, words.map(u64::to_ne_bytes).as_flattened());
    }

    /// `size` zeroed bytes, a power of two.
    #[allow(clippy::arc_with_non_send_sync, reason = "loom gives it to its own threads, and finds the races")]
    pub fn fresh(size: usize) -> Self {
        Self(Arc::new((0..size).map(|_| UnsafeCell::new(0)).collect()))
    }

    /// The size in bytes.
    pub fn size(&self) -> usize {
        self.0.len()
    }

    /// As the native one: there is memory.
    pub fn populate(&self, _len: usize) -> bool {
        true
    }

    /// As the native `copy_in`.
    pub fn copy_in(&self, at: u64, from: &[u8]) {
        for (i, byte) in from.iter().enumerate() {
            // SAFETY: loom checks that nobody else touches this byte now.
            self.0[(at as usize + i) % self.0.len()].with_mut(|p| unsafe { *p = *byte });
        }
    }

    /// As the native one: there are no cache lines.
    pub fn touch(&self, _at: u64) {}

    /// As the native `copy_out`.
    pub fn copy_out(&self, at: u64, to: &mut [u8]) {
        for (i, byte) in to.iter_mut().enumerate() {
            // SAFETY: as above.
            *byte = self.0[(at as usize + i) % self.0.len()].with(|p| unsafe { *p });
        }
    }
}
