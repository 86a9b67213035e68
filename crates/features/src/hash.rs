//! Text -> a number that is the same on every machine and in every build.

/// FNV-1a of 64 bits, with the finishing steps of SplitMix64 so that every bit depends on all of
/// the text (Fowler, Noll, Vo; Steele, Lea, Flood 2014).
///
/// ```
/// // FNV-1a of "a" is 0xaf63dc4c8601ec8c; the finish is a bijection of that.
/// assert_ne!(features::stable_hash("a"), features::stable_hash("b"));
/// ```
#[must_use]
pub fn stable_hash(text: &str) -> u64 {
    mix(text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    }))
}

/// A bijection of 64 bits after which neighbours have nothing in common.
pub(crate) fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
