//! Slices -> products and elementwise functions, with the widest instructions of the processor.
//!
//! Loops are plain; `dispatch` compiles them once for each set of instructions and picks one at run
//! time. No instruction fuses a product with a sum, so the sets differ in time and not in bits.

use super::real::Real;

/// The processor's instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instructions(pulp::Arch);

impl Instructions {
    pub(super) fn new() -> Self {
        Self(pulp::Arch::new())
    }

    /// Runs loops with them; `work` must be inlined.
    #[inline(always)]
    pub(super) fn run<T>(self, work: impl FnOnce() -> T) -> T {
        self.0.dispatch(work)
    }
}

/// Rows of the weight that are added at once.
const BLOCK: usize = 8;

/// $xW + b$ into `y`, or $xW + y$ when there is no bias. Elements of `x` that are 0 cost nothing.
pub(super) fn affine<R: Real>(
    instructions: Instructions,
    x: &[R],
    weight: &[R],
    bias: Option<&[R]>,
    y: &mut [R],
) {
    instructions.run(
        #[inline(always)]
        || affine_loops(x, weight, bias, y),
    );
}

#[inline(always)]
fn affine_loops<R: Real>(x: &[R], weight: &[R], bias: Option<&[R]>, y: &mut [R]) {
    if let Some(bias) = bias {
        y.copy_from_slice(bias);
    }
    let columns = y.len();
    let zero = R::default();
    let (mut values, mut rows, mut filled) = ([zero; BLOCK], [0; BLOCK], 0);
    for (i, value) in x.iter().enumerate() {
        values[filled] = *value;
        rows[filled] = i;
        filled += usize::from(*value != zero);
        if filled == BLOCK {
            add_rows(values, rows.map(|row| &weight[row * columns..][..columns]), y);
            filled = 0;
        }
    }
    if filled > 0 {
        // The places that are left add 0 times a row.
        values[filled..].fill(zero);
        rows[filled..].fill(0);
        add_rows(values, rows.map(|row| &weight[row * columns..][..columns]), y);
    }
}

/// $y \leftarrow y + \sum_i v_i w_i$, the sum as a tree, which rounds less than a chain.
#[inline(always)]
fn add_rows<R: Real>(v: [R; BLOCK], w: [&[R]; BLOCK], y: &mut [R]) {
    let columns = y.len();
    let w = w.map(|row| &row[..columns]);
    for (j, y) in y.iter_mut().enumerate() {
        let first = (v[0] * w[0][j] + v[1] * w[1][j]) + (v[2] * w[2][j] + v[3] * w[3][j]);
        let last = (v[4] * w[4][j] + v[5] * w[5][j]) + (v[6] * w[6][j] + v[7] * w[7][j]);
        *y += first + last;
    }
}

/// The sum of products, in eight parts.
#[inline(always)]
pub(super) fn dot<R: Real>(a: &[R], b: &[R]) -> R {
    let mut parts = [R::default(); BLOCK];
    let (blocks, rest) = a.as_chunks::<BLOCK>();
    let (others, other_rest) = b.as_chunks::<BLOCK>();
    for (a, b) in blocks.iter().zip(others) {
        for k in 0..BLOCK {
            parts[k] += a[k] * b[k];
        }
    }
    for (k, (a, b)) in rest.iter().zip(other_rest).enumerate() {
        parts[k] += *a * *b;
    }
    let [a, b, c, d, e, f, g, h] = parts;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// Layer normalisation of `x` into `y`.
pub(super) fn norm<R: Real>(x: &[R], scale: &[R], shift: &[R], y: &mut [R]) {
    let count = R::rounded(x.len() as f64);
    let total = x.iter().map(|x| x.wide()).sum::<f64>();
    let mean = R::rounded(total) / count;
    for (y, x) in y.iter_mut().zip(x) {
        *y = *x - mean;
    }
    let variance = dot(y, y) / count;
    let factor = R::ONE / (variance + R::rounded(super::super::oracle::NORM_EPSILON)).root();
    for ((y, scale), shift) in y.iter_mut().zip(scale).zip(shift) {
        *y = *y * factor * *scale + *shift;
    }
}

/// $x \leftarrow x + y$.
pub(super) fn add_to<R: Real>(x: &mut [R], y: &[R]) {
    for (x, y) in x.iter_mut().zip(y) {
        *x += *y;
    }
}

/// Negative elements become 0.
pub(super) fn rectify<R: Real>(x: &mut [R]) {
    for x in x {
        *x = x.relu();
    }
}
