//! Lines: memory for eight lanes on a boundary of its own size -> slices of rows and of numbers.
#![expect(unsafe_code, reason = "lines of eight aligned numbers are also plain rows of numbers")]

/// Lanes of a line.
pub const LANES: usize = 8;

/// Eight numbers on a boundary of their size, so that a vector never straddles two cache lines.
///
/// ```
/// use exmc_math::simd::Line;
///
/// let mut lines = vec![Line::ZERO; 2];
/// Line::rows_mut(&mut lines)[1][3] = 5.0;
/// assert_eq!(Line::rows(&lines).as_flattened()[11], 5.0);
/// assert_eq!(lines.as_ptr().addr() % 64, 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Line(pub [f64; LANES]);

impl Line {
    /// Eight zeros.
    pub const ZERO: Line = Line([0.0; LANES]);

    /// The lines as rows of eight numbers.
    #[inline(always)]
    pub fn rows(lines: &[Line]) -> &[[f64; LANES]] {
        // SAFETY: a line is a row and nothing else (`repr(C)`, and its size is its alignment), so
        // the lines are so many rows one after the other; the borrow is that of `lines`.
        unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), lines.len()) }
    }

    /// The same, to be written.
    #[inline(always)]
    pub fn rows_mut(lines: &mut [Line]) -> &mut [[f64; LANES]] {
        // SAFETY: as in `rows`; the borrow is the only one, as that of `lines` is.
        unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), lines.len()) }
    }
}
