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
/// Columns of a strip: so many sums stay in registers from the first row to the last.
const STRIP: usize = 32;

/// A weight as it lies in memory for products with vectors: strip after strip of columns, each row
/// by row, so that a product reads it from one end to the other.
///
/// A network of a million parameters does not fit into a core's own cache. So products take the
/// strips forwards and backwards in turn: what the last product read at its end is still there when
/// the next begins. The order of strips changes no sum.
#[derive(Clone, Debug)]
pub(super) struct Weight<R> {
    columns: usize,
    packed: Vec<R>,
    is_backward: bool,
    /// Elements of the last vector that are not 0, and their rows, up to whole blocks.
    values: Vec<R>,
    rows: Vec<usize>,
}

impl<R: Real> Weight<R> {
    /// Of a matrix `[rows, columns]`, row by row.
    pub(super) fn new(matrix: &[R], columns: usize) -> Self {
        let rows = matrix.len().checked_div(columns).unwrap_or_default();
        let mut packed = Vec::with_capacity(matrix.len());
        for begin in (0..columns).step_by(STRIP) {
            let end = (begin + STRIP).min(columns);
            for row in matrix.chunks_exact(columns) {
                packed.extend_from_slice(&row[begin..end]);
            }
        }
        let places = rows.next_multiple_of(BLOCK);
        let (values, rows) = (vec![R::default(); places], vec![0; places]);
        Self { columns, packed, is_backward: false, values, rows }
    }

    /// $y \leftarrow y + xW$. Elements of `x` that are 0 cost nothing.
    pub(super) fn add_product(&mut self, instructions: Instructions, x: &[R], y: &mut [R]) {
        instructions.run(
            #[inline(always)]
            || self.loops(x, y),
        );
        self.is_backward = !self.is_backward;
    }

    #[inline(always)]
    fn loops(&mut self, x: &[R], y: &mut [R]) {
        let zero = R::default();
        let mut filled = 0;
        for (row, value) in x.iter().enumerate() {
            (self.values[filled], self.rows[filled]) = (*value, row);
            filled += usize::from(*value != zero);
            if filled == self.values.len() {
                break;
            }
        }
        // The places that are left of the last block add 0 times a row.
        let used = filled.next_multiple_of(BLOCK);
        self.values[filled..used].fill(zero);
        self.rows[filled..used].fill(0);
        let (values, _) = self.values[..used].as_chunks::<BLOCK>();
        let (rows, _) = self.rows[..used].as_chunks::<BLOCK>();
        let (columns, count) = (self.columns, x.len());
        let strips = columns.div_ceil(STRIP);
        for number in 0..strips {
            let strip = if self.is_backward { strips - 1 - number } else { number };
            let begin = strip * STRIP;
            let width = STRIP.min(columns - begin);
            let weight = &self.packed[begin * count..][..width * count];
            let y = &mut y[begin..begin + width];
            match y.first_chunk_mut::<STRIP>() {
                Some(y) => add_blocks(values, rows, weight, y),
                None => {
                    for (values, rows) in values.iter().zip(rows) {
                        add_rows(*values, rows.map(|row| &weight[row * width..][..width]), y);
                    }
                }
            }
        }
    }
}

/// All blocks of rows of a whole strip.
#[inline(always)]
fn add_blocks<R: Real>(
    values: &[[R; BLOCK]],
    rows: &[[usize; BLOCK]],
    weight: &[R],
    y: &mut [R; STRIP],
) {
    let (weight, _) = weight.as_chunks::<STRIP>();
    let mut sums = *y;
    for (v, rows) in values.iter().zip(rows) {
        let w = rows.map(|row| &weight[row]);
        for j in 0..STRIP {
            let first = (v[0] * w[0][j] + v[1] * w[1][j]) + (v[2] * w[2][j] + v[3] * w[3][j]);
            let last = (v[4] * w[4][j] + v[5] * w[5][j]) + (v[6] * w[6][j] + v[7] * w[7][j]);
            sums[j] += first + last;
        }
    }
    *y = sums;
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
