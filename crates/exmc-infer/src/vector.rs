//! Loops over slices that the sampler spends its time in: plain code that compiles to SIMD.
//!
//! Every sum runs in a fixed number of logical lanes that are added up in one fixed order, without
//! fused multiply-add, so the bits do not depend on how wide the machine's vectors are.

/// Logical lanes of one sum.
const LANES: usize = 8;

/// Adds the lanes up as a balanced tree.
#[inline(always)]
fn add_lanes<const N: usize>(mut lanes: [f64; N]) -> f64 {
    let mut width = N / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] += lanes[i + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// Combines two rows of lanes elementwise.
///
/// Kernels load whole rows, compute on values and store whole rows: interleaved stores through several
/// slices would keep the compiler from using vector registers.
#[inline(always)]
fn each<const N: usize>(a: &[f64; N], b: &[f64; N], f: impl Fn(f64, f64) -> f64) -> [f64; N] {
    std::array::from_fn(|i| f(a[i], b[i]))
}

/// Adds the products of two rows to the lanes of a sum.
#[inline(always)]
fn accumulate<const N: usize>(lanes: &mut [f64; N], a: &[f64; N], b: &[f64; N]) {
    *lanes = std::array::from_fn(|i| lanes[i] + a[i] * b[i]);
}

/// $\sum_i a_i b_i$ over two slices of one length.
#[inline]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        accumulate(&mut lanes, a, b);
    }
    let mut tail = 0.0;
    for (a, b) in a_rest.iter().zip(b_rest) {
        tail += a * b;
    }
    add_lanes(lanes) + tail
}

/// $y \leftarrow y + c x$.
#[inline]
pub(crate) fn add_scaled(c: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += c * x;
    }
}

/// First half step of the momentum and the full step of the position, diagonal metric:
/// $p \leftarrow p + \tfrac\epsilon2 \sigma g$, then $q \leftarrow q + \epsilon\sigma p$.
#[inline]
pub(crate) fn kick_and_drift(
    step: f64,
    sigma: &[f64],
    gradient: &[f64],
    momentum: &mut [f64],
    position: &mut [f64],
) {
    let half = 0.5 * step;
    let n = position.len();
    let (sigma, gradient, momentum) = (&sigma[..n], &gradient[..n], &mut momentum[..n]);
    for i in 0..n {
        momentum[i] += half * (sigma[i] * gradient[i]);
        position[i] += (step * sigma[i]) * momentum[i];
    }
}

/// Second half step of the momentum, $p \leftarrow p + h \sigma g$; writes $p$ to `copy` too and
/// returns $|p|^2$.
#[inline]
pub(crate) fn kick(
    half: f64,
    sigma: &[f64],
    gradient: &[f64],
    momentum: &mut [f64],
    copy: &mut [f64],
) -> f64 {
    let (sigma, sigma_rest) = sigma.as_chunks::<LANES>();
    let (gradient, gradient_rest) = gradient.as_chunks::<LANES>();
    let (momentum, momentum_rest) = momentum.as_chunks_mut::<LANES>();
    let (copy, copy_rest) = copy.as_chunks_mut::<LANES>();
    let mut lanes = [0.0; LANES];
    for (((s, g), p), c) in sigma.iter().zip(gradient).zip(momentum).zip(copy) {
        let force = each(s, g, |s, g| s * g);
        let new = each(p, &force, |p, f| p + half * f);
        *p = new;
        *c = new;
        accumulate(&mut lanes, &new, &new);
    }
    let mut tail = 0.0;
    let rest = sigma_rest.iter().zip(gradient_rest).zip(momentum_rest).zip(copy_rest);
    for (((s, g), p), c) in rest {
        *p += half * (s * g);
        *c = *p;
        tail += *p * *p;
    }
    add_lanes(lanes) + tail
}

/// Sum of two momenta and their inner product: `total` $= a + b$, returns $a\cdot b$.
#[inline]
pub(crate) fn add_and_dot(a: &[f64], b: &[f64], total: &mut [f64]) -> f64 {
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    let (t_chunks, t_rest) = total.as_chunks_mut::<LANES>();
    let mut lanes = [0.0; LANES];
    for ((a, b), t) in a_chunks.iter().zip(b_chunks).zip(t_chunks) {
        *t = each(a, b, |a, b| a + b);
        accumulate(&mut lanes, a, b);
    }
    let mut tail = 0.0;
    for ((a, b), t) in a_rest.iter().zip(b_rest).zip(t_rest) {
        *t = a + b;
        tail += a * b;
    }
    add_lanes(lanes) + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(n: usize, scale: f64) -> Vec<f64> {
        (0..n).map(|i| scale * (1.0 + (i as f64 * 0.37).sin())).collect()
    }

    /// Every length around the lane width, so that both the chunks and the rest are exercised.
    #[test]
    fn kernels_equal_the_naive_loops() {
        for n in 0..20 {
            let (a, b, c) = (ramp(n, 1.0), ramp(n, -0.5), ramp(n, 2.0));
            let naive = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
            let close = |x: f64, y: f64| assert!((x - y).abs() <= 1e-13 * (1.0 + y.abs()));
            close(dot(&a, &b), naive(&a, &b));

            let mut total = vec![0.0; n];
            close(add_and_dot(&a, &b, &mut total), naive(&a, &b));
            assert!((0..n).all(|i| total[i] == a[i] + b[i]));

            let (mut momentum, mut copy) = (b.clone(), vec![0.0; n]);
            let norm2 = kick(0.1, &a, &c, &mut momentum, &mut copy);
            for i in 0..n {
                assert_eq!(momentum[i], b[i] + 0.1 * (a[i] * c[i]));
            }
            assert_eq!(copy, momentum);
            close(norm2, naive(&momentum, &momentum));
        }
    }
}
