//! Precision: how many digits the arithmetic over long arrays has.

/// Elements up to which an array is computed in `f64` at any precision: so few cost next to
/// nothing, and parameters with their transforms are among them.
const MAX_SHORT_ARRAY: usize = 64;

/// How many digits the arithmetic over long arrays has, a property of a compiled program.
///
/// With [`Precision::F32`], elementwise operations over an array of more than 64 elements may take
/// `f32` and round their results to `f32` (24 bits, up to 3.4e38), with the data that they read:
/// the reference executor rounds all of them, the native one those of loops that are quicker so.
/// What has few elements stays `f64`, and so do all sums, loops with carried state, matrix
/// decompositions with what they read, and what is computed from data alone. So a log density keeps
/// about seven digits of every *term*, and of its sum all that the terms have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Precision {
    /// Everything in `f64`.
    #[default]
    F64,
    /// Elementwise operations over long arrays in `f32`.
    F32,
}

impl Precision {
    /// Both.
    pub const ALL: &'static [Self] = &[Self::F64, Self::F32];

    /// The name on the command line and in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F64 => "f64",
            Self::F32 => "f32",
        }
    }

    /// The precision of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|precision| precision.name() == name)
    }

    /// The precision of elementwise operations over so many elements.
    pub const fn of(self, elements: usize) -> Self {
        if elements > MAX_SHORT_ARRAY { self } else { Self::F64 }
    }

    /// `x` as a number of this precision: the nearest one, ties to even.
    pub const fn round(self, x: f64) -> f64 {
        match self {
            Self::F64 => x,
            Self::F32 => x as f32 as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for &precision in Precision::ALL {
            assert_eq!(Precision::from_name(precision.name()), Some(precision));
        }
        assert_eq!(Precision::from_name("f16"), None);
    }

    #[test]
    fn only_long_arrays_are_single() {
        assert_eq!(Precision::F32.of(64), Precision::F64);
        assert_eq!(Precision::F32.of(65), Precision::F32);
        assert_eq!(Precision::F64.of(1 << 20), Precision::F64);
    }

    #[test]
    fn rounding_takes_the_nearest() {
        // 2^24 + 1 lies between two numbers of f32 and goes to the even one.
        assert_eq!(Precision::F32.round(16_777_217.0), 16_777_216.0);
        assert_eq!(Precision::F64.round(16_777_217.0), 16_777_217.0);
        assert_eq!(Precision::F32.round(1e39), f64::INFINITY);
    }
}
