//! Values as messages have them.

use zerocopy::{FromBytes, IntoBytes};

/// A value that a message can carry as it is: a number, an array, or a structure that stubs define.
pub trait Plain: Sized + 'static {
    /// Its size in a message in bytes.
    const SIZE: usize;

    /// The value in `from`, which has that size.
    fn load(from: &[u8]) -> Self;

    /// Writes the value to `to`, which has that size and is zero.
    fn store(&self, to: &mut [u8]);

    /// The same bytes as values, for types whose values lie in memory as in messages.
    fn view(_bytes: &[u8]) -> Option<&[Self]> {
        None
    }

    /// The same values as bytes, for types whose values lie in memory as in messages.
    fn bytes(_values: &[Self]) -> Option<&[u8]> {
        None
    }

    /// The same values as bytes that may be changed to any, for types whose values lie in memory as in messages.
    fn bytes_mut(_values: &mut [Self]) -> Option<&mut [u8]> {
        None
    }

    /// So many values whose bytes are zero, for types that have [`Self::bytes_mut`].
    fn zeros(_count: usize) -> Option<Vec<Self>> {
        None
    }
}

macro_rules! numbers {
    ($($type:ty)*) => {
        $(impl Plain for $type {
            const SIZE: usize = size_of::<Self>();

            #[inline]
            fn load(from: &[u8]) -> Self {
                from.try_into().map_or(Self::default(), Self::from_le_bytes)
            }

            #[inline]
            fn store(&self, to: &mut [u8]) {
                to.copy_from_slice(&self.to_le_bytes());
            }

            fn view(bytes: &[u8]) -> Option<&[Self]> {
                <[Self]>::ref_from_bytes(bytes).ok()
            }

            fn bytes(values: &[Self]) -> Option<&[u8]> {
                Some(values.as_bytes())
            }

            fn bytes_mut(values: &mut [Self]) -> Option<&mut [u8]> {
                Some(values.as_mut_bytes())
            }

            fn zeros(count: usize) -> Option<Vec<Self>> {
                Some(vec![Self::default(); count])
            }
        })*
    };
}

numbers! { i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 }

/// `boolean_t`: 32 bits, of which any may be set for true.
impl Plain for bool {
    const SIZE: usize = 4;

    fn load(from: &[u8]) -> Self {
        u32::load(from) != 0
    }

    fn store(&self, to: &mut [u8]) {
        u32::from(*self).store(to);
    }
}

impl<T: Plain, const N: usize> Plain for [T; N] {
    const SIZE: usize = N * T::SIZE;

    fn load(from: &[u8]) -> Self {
        std::array::from_fn(|i| field(from, i * T::SIZE))
    }

    fn store(&self, to: &mut [u8]) {
        self.iter().enumerate().for_each(|(i, value)| set_field(to, i * T::SIZE, value));
    }

    fn bytes(values: &[Self]) -> Option<&[u8]> {
        T::bytes(values.as_flattened())
    }
}

impl<T: Plain, const N: usize> Plain for Box<[T; N]> {
    const SIZE: usize = N * T::SIZE;

    fn load(from: &[u8]) -> Self {
        let values: Box<[T]> = (0..N).map(|i| field(from, i * T::SIZE)).collect();
        values.try_into().unwrap_or_else(|_| unreachable!("there are N of them"))
    }

    fn store(&self, to: &mut [u8]) {
        (**self).store(to);
    }
}

/// The field of a structure at an offset in bytes.
pub fn field<T: Plain>(from: &[u8], at: usize) -> T {
    T::load(&from[at..at + T::SIZE])
}

/// Sets the field of a structure at an offset in bytes.
pub fn set_field<T: Plain>(to: &mut [u8], at: usize, value: &T) {
    value.store(&mut to[at..at + T::SIZE]);
}

/// The values in `from`, as many as there are whole ones.
pub(super) fn load_all<T: Plain>(from: &[u8]) -> Vec<T> {
    from.chunks_exact(T::SIZE.max(1)).map(T::load).collect()
}

/// Appends values to `to`, one by one.
pub(super) fn store_all<T: Plain>(values: &[T], to: &mut Vec<u8>) {
    let at = to.len();
    to.resize(at + values.len() * T::SIZE, 0);
    to[at..].chunks_exact_mut(T::SIZE.max(1)).zip(values).for_each(|(to, value)| value.store(to));
}
