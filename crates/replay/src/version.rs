//! Versions of the format: three bytes <-> an ordered number that prints as `3.19.0`.

use std::fmt;

/// A version of the replay format; later ones compare greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Version {
    pub major: u8,
    pub minor: u8,
    pub build: u8,
}

impl Version {
    /// The newest version whose fields this crate knows.
    pub const NEWEST: Self = Self::new(3, 19, 0);

    /// A version from its three numbers.
    #[must_use]
    pub const fn new(major: u8, minor: u8, build: u8) -> Self {
        Self { major, minor, build }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.build)
    }
}
