//! A matrix that many small matrices are multiplied by -> products, with the widest instructions
//! of the processor.
//!
//! A device's product lays its second matrix out anew each time, which for the 32 rows of a frame
//! takes as long as half of the product. Here that is done once for all frames.

use pulp::{Arch, Simd, WithSimd};

/// Rows of the first matrix whose sums stay in registers at once.
const ROWS: usize = 6;
/// Vectors of columns that they stay in registers for.
const VECTORS: usize = 2;

/// A matrix `[inner, columns]` in strips of columns, each row by row; the last is filled with 0.
pub(super) struct Packed {
    inner: usize,
    columns: usize,
    width: usize,
    strips: Vec<f32>,
}

impl Packed {
    /// Of `element(i, j)`.
    fn new(
        arch: Arch,
        (inner, columns): (usize, usize),
        element: impl Fn(usize, usize) -> f32,
    ) -> Self {
        struct Lanes;
        impl WithSimd for Lanes {
            type Output = usize;
            #[inline(always)]
            fn with_simd<S: Simd>(self, _: S) -> usize {
                S::F32_LANES
            }
        }
        let width = VECTORS * arch.dispatch(Lanes);
        let mut strips = vec![0.0; columns.div_ceil(width) * inner * width];
        for (k, row) in strips.chunks_exact_mut(width).enumerate() {
            let (strip, i) = (k / inner, k % inner);
            for (c, place) in row.iter_mut().enumerate() {
                let j = strip * width + c;
                if j < columns {
                    *place = element(i, j);
                }
            }
        }
        Self { inner, columns, width, strips }
    }

    /// Of a matrix row by row.
    pub(super) fn of(arch: Arch, values: &[f32], columns: usize) -> Self {
        let inner = values.len() / columns;
        Self::new(arch, (inner, columns), |i, j| values[i * columns + j])
    }

    /// Of the transpose of a matrix row by row.
    pub(super) fn transposed(arch: Arch, values: &[f32], rows_of_own: usize) -> Self {
        let inner = values.len() / rows_of_own;
        Self::new(arch, (inner, rows_of_own), |i, j| values[j * inner + i])
    }

    /// `out` += `x` times the matrix; both row by row.
    pub(super) fn add_product(&self, arch: Arch, x: &[f32], out: &mut [f32]) {
        arch.dispatch(Product { matrix: self, x, out });
    }
}

struct Product<'a> {
    matrix: &'a Packed,
    x: &'a [f32],
    out: &'a mut [f32],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { matrix: Packed { inner, columns, width, strips }, x, out } = self;
        for (number, strip) in strips.chunks_exact(inner * width).enumerate() {
            let (strip, _) = S::as_simd_f32s(strip);
            let begin = number * width;
            let end = (begin + width).min(*columns);
            let rows = x.chunks(ROWS * inner).zip(out.chunks_mut(ROWS * columns));
            for (x, out) in rows {
                if x.len() == ROWS * inner {
                    block::<S, ROWS>(simd, strip, *inner, x, |r, sums| {
                        add(&mut out[r * columns..][begin..end], sums);
                    });
                } else {
                    for (x, out) in x.chunks_exact(*inner).zip(out.chunks_exact_mut(*columns)) {
                        block::<S, 1>(simd, strip, *inner, x, |_, sums| {
                            add(&mut out[begin..end], sums);
                        });
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn add(out: &mut [f32], sums: &[f32]) {
    out.iter_mut().zip(sums).for_each(|(out, sum)| *out += sum);
}

/// Products of `R` rows with one strip.
#[inline(always)]
fn block<S: Simd, const R: usize>(
    simd: S,
    strip: &[S::f32s],
    inner: usize,
    x: &[f32],
    mut done: impl FnMut(usize, &[f32]),
) {
    let zero = simd.splat_f32s(0.0);
    let mut sums = [[zero; VECTORS]; R];
    let rows: [&[f32]; R] = std::array::from_fn(|r| &x[r * inner..][..inner]);
    let (strip, _) = strip.as_chunks::<VECTORS>();
    for (k, weights) in strip[..inner].iter().enumerate() {
        for (sums, row) in sums.iter_mut().zip(&rows) {
            let value = simd.splat_f32s(row[k]);
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum = simd.mul_add_e_f32s(value, *weight, *sum);
            }
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        done(r, pulp::bytemuck::cast_slice(sums));
    }
}

#[cfg(test)]
mod tests {
    use super::Packed;

    /// Shapes that do and do not divide into blocks of rows and strips of columns.
    #[test]
    fn products_are_those_of_three_loops() {
        let arch = pulp::Arch::new();
        for (rows, inner, columns) in [(1, 1, 1), (6, 4, 32), (7, 5, 33), (13, 64, 31), (32, 9, 96)]
        {
            let number = |k: usize| ((k * 7919) % 17) as f32 - 8.0;
            let weight: Vec<f32> = (0..inner * columns).map(number).collect();
            let x: Vec<f32> = (0..rows * inner).map(|k| number(k + 3)).collect();
            let weight_at = |i: usize, j: usize| weight[i * columns + j];
            // Whole numbers, so that no sum is rounded.
            let expected: Vec<f32> = (0..rows * columns)
                .map(|k| {
                    let (row, j) = (k / columns, k % columns);
                    2.0 + (0..inner).map(|i| x[row * inner + i] * weight_at(i, j)).sum::<f32>()
                })
                .collect();
            let turned: Vec<f32> =
                (0..inner * columns).map(|k| weight_at(k % inner, k / inner)).collect();
            let ways =
                [Packed::of(arch, &weight, columns), Packed::transposed(arch, &turned, columns)];
            for matrix in ways {
                let mut out = vec![2.0; rows * columns];
                matrix.add_product(arch, &x, &mut out);
                assert_eq!(out, expected, "{rows} {inner} {columns}");
            }
        }
    }
}
