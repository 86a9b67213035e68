//! Big-endian numbers of events: bytes -> `u8` to `f32`, and back.

/// Type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of Rust's types")]
pub enum Kind {
    U8,
    I8,
    U16,
    U32,
    I32,
    F32,
}

impl Kind {
    /// Bytes of a value.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
        }
    }

    /// The name of the type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::F32 => "f32",
        }
    }
}

/// A column of any type.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names are those of Rust's types")]
pub enum Column<'a> {
    U8(&'a [u8]),
    I8(&'a [i8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    I32(&'a [i32]),
    F32(&'a [f32]),
}

impl Column<'_> {
    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::U8(c) => c.len(),
            Self::I8(c) => c.len(),
            Self::U16(c) => c.len(),
            Self::U32(c) => c.len(),
            Self::I32(c) => c.len(),
            Self::F32(c) => c.len(),
        }
    }

    /// Whether there are no rows: the file's version lacks the field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bits of one value, widened with zeros: two values are the same if these are, also NaN.
    ///
    /// # Panics
    /// When `row` is not below [`Self::len`], as indexing does.
    #[must_use]
    pub fn bits(&self, row: usize) -> u32 {
        match self {
            Self::U8(c) => u32::from(c[row]),
            Self::I8(c) => u32::from(c[row].cast_unsigned()),
            Self::U16(c) => u32::from(c[row]),
            Self::U32(c) => c[row],
            Self::I32(c) => c[row].cast_unsigned(),
            Self::F32(c) => c[row].to_bits(),
        }
    }
}

pub(crate) trait Scalar: Copy + Default {
    type Bytes: AsRef<[u8]>;
    const KIND: Kind;

    /// The value at a place that the compiler can check.
    fn value_at<const SIZE: usize, const OFFSET: usize>(event: &[u8; SIZE]) -> Self;
    fn to_bits_be(self) -> Self::Bytes;
    fn column(values: &[Self]) -> Column<'_>;
}

macro_rules! scalar {
    ($($ty:ident $kind:ident)*) => {$(
        impl Scalar for $ty {
            type Bytes = [u8; size_of::<$ty>()];
            const KIND: Kind = Kind::$kind;

            #[inline(always)]
            fn value_at<const SIZE: usize, const OFFSET: usize>(event: &[u8; SIZE]) -> Self {
                const { assert!(OFFSET + size_of::<$ty>() <= SIZE) };
                let mut bytes = [0; size_of::<$ty>()];
                bytes.copy_from_slice(&event[OFFSET..OFFSET + size_of::<$ty>()]);
                <$ty>::from_be_bytes(bytes)
            }

            fn to_bits_be(self) -> Self::Bytes {
                self.to_be_bytes()
            }

            fn column(values: &[Self]) -> Column<'_> {
                Column::$kind(values)
            }
        }
    )*};
}

scalar! { u8 U8 i8 I8 u16 U16 u32 U32 i32 I32 f32 F32 }
