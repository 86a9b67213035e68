//! Loops over slices that the sampler spends its time in: plain code that compiles to SIMD.
//!
//! Every sum runs in a fixed number of logical lanes that are added up in one fixed order, without
//! fused multiply-add, so the bits do not depend on how wide the machine's vectors are.

/// Logical lanes of one sum.
const LANES: usize = 8;
/// Logical lanes when six sums run at once (more would spill 128-bit registers).
const SEAM_LANES: usize = 4;

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

/// $\sum_i a_i b_i$ over two slices of one length.
#[inline]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for i in 0..LANES {
            lanes[i] += a[i] * b[i];
        }
    }
    for (lane, (a, b)) in lanes.iter_mut().zip(a_rest.iter().zip(b_rest)) {
        *lane += a * b;
    }
    add_lanes(lanes)
}

/// $y \leftarrow y + c x$.
#[inline]
pub(crate) fn add_scaled(c: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += c * x;
    }
}

/// First half step of the momentum and the full step of the position, diagonal metric:
/// $p \leftarrow p + \tfrac\epsilon2 f$, then $q \leftarrow q + \epsilon\sigma p$.
#[inline]
pub(crate) fn kick_and_drift(
    step: f64,
    sigma: &[f64],
    force: &[f64],
    momentum: &mut [f64],
    position: &mut [f64],
) {
    let half = 0.5 * step;
    let n = position.len();
    let (sigma, force, momentum) = (&sigma[..n], &force[..n], &mut momentum[..n]);
    for i in 0..n {
        momentum[i] += half * force[i];
        position[i] += (step * sigma[i]) * momentum[i];
    }
}

/// Second half step of the momentum: $f \leftarrow \sigma g$, $p \leftarrow p + h f$; writes $p$ to
/// `copy` too and returns $|p|^2$.
#[inline]
pub(crate) fn kick(
    half: f64,
    sigma: &[f64],
    gradient: &[f64],
    force: &mut [f64],
    momentum: &mut [f64],
    copy: &mut [f64],
) -> f64 {
    let (sigma, sigma_rest) = sigma.as_chunks::<LANES>();
    let (gradient, gradient_rest) = gradient.as_chunks::<LANES>();
    let (force, force_rest) = force.as_chunks_mut::<LANES>();
    let (momentum, momentum_rest) = momentum.as_chunks_mut::<LANES>();
    let (copy, copy_rest) = copy.as_chunks_mut::<LANES>();
    let mut lanes = [0.0; LANES];
    for ((((s, g), f), p), c) in sigma.iter().zip(gradient).zip(force).zip(momentum).zip(copy) {
        for i in 0..LANES {
            f[i] = s[i] * g[i];
            p[i] += half * f[i];
            c[i] = p[i];
            lanes[i] += p[i] * p[i];
        }
    }
    let rest = sigma_rest.iter().zip(gradient_rest).zip(force_rest).zip(momentum_rest);
    for (lane, ((((s, g), f), p), c)) in lanes.iter_mut().zip(rest.zip(copy_rest)) {
        *f = s * g;
        *p += half * *f;
        *c = *p;
        *lane += *p * *p;
    }
    add_lanes(lanes)
}

/// Sum of two momenta and their inner product: `total` $= a + b$, returns $a\cdot b$.
#[inline]
pub(crate) fn add_and_dot(a: &[f64], b: &[f64], total: &mut [f64]) -> f64 {
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    let (t_chunks, t_rest) = total.as_chunks_mut::<LANES>();
    let mut lanes = [0.0; LANES];
    for ((a, b), t) in a_chunks.iter().zip(b_chunks).zip(t_chunks) {
        for i in 0..LANES {
            t[i] = a[i] + b[i];
            lanes[i] += a[i] * b[i];
        }
    }
    for (lane, ((a, b), t)) in lanes.iter_mut().zip(a_rest.iter().zip(b_rest).zip(t_rest)) {
        *t = a + b;
        *lane += a * b;
    }
    add_lanes(lanes)
}

/// The six inner products of the U-turn criterion at the seam of two neighbouring pieces of a
/// trajectory, `left` the earlier built one. See [`seam`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seam {
    /// $(\rho_L+\rho_R)\cdot p$ at the outer end of the left and of the right piece.
    pub(crate) whole: [f64; 2],
    /// $(\rho_L+p_{R,\mathrm{first}})\cdot p$ at the left piece's outer end and at the right piece's first leaf.
    pub(crate) left_and_first: [f64; 2],
    /// $(p_{L,\mathrm{last}}+\rho_R)\cdot p$ at the left piece's last leaf and at the right piece's outer end.
    pub(crate) last_and_right: [f64; 2],
}

/// Momenta of one piece of a trajectory: at its first and last leaf and their sum over all leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) first: &'a [f64],
    pub(crate) last: &'a [f64],
}

/// Computes [`Seam`] in one pass and leaves $\rho_L+\rho_R$ in `right_sum`.
#[inline]
pub(crate) fn seam(
    left: Piece<'_>,
    left_sum: &[f64],
    right: Piece<'_>,
    right_sum: &mut [f64],
) -> Seam {
    const N: usize = SEAM_LANES;
    let (lf, lf_rest) = left.first.as_chunks::<N>();
    let (ll, ll_rest) = left.last.as_chunks::<N>();
    let (rf, rf_rest) = right.first.as_chunks::<N>();
    let (rl, rl_rest) = right.last.as_chunks::<N>();
    let (ls, ls_rest) = left_sum.as_chunks::<N>();
    let (rs, rs_rest) = right_sum.as_chunks_mut::<N>();
    let mut lanes = [[0.0; N]; 6];
    for (((((lf, ll), rf), rl), ls), rs) in lf.iter().zip(ll).zip(rf).zip(rl).zip(ls).zip(rs) {
        for i in 0..N {
            let sum = ls[i] + rs[i];
            let left_and_first = ls[i] + rf[i];
            let last_and_right = ll[i] + rs[i];
            lanes[0][i] += sum * lf[i];
            lanes[1][i] += sum * rl[i];
            lanes[2][i] += left_and_first * lf[i];
            lanes[3][i] += left_and_first * rf[i];
            lanes[4][i] += last_and_right * ll[i];
            lanes[5][i] += last_and_right * rl[i];
            rs[i] = sum;
        }
    }
    for i in 0..rs_rest.len() {
        let sum = ls_rest[i] + rs_rest[i];
        let left_and_first = ls_rest[i] + rf_rest[i];
        let last_and_right = ll_rest[i] + rs_rest[i];
        lanes[0][i] += sum * lf_rest[i];
        lanes[1][i] += sum * rl_rest[i];
        lanes[2][i] += left_and_first * lf_rest[i];
        lanes[3][i] += left_and_first * rf_rest[i];
        lanes[4][i] += last_and_right * ll_rest[i];
        lanes[5][i] += last_and_right * rl_rest[i];
        rs_rest[i] = sum;
    }
    Seam {
        whole: [add_lanes(lanes[0]), add_lanes(lanes[1])],
        left_and_first: [add_lanes(lanes[2]), add_lanes(lanes[3])],
        last_and_right: [add_lanes(lanes[4]), add_lanes(lanes[5])],
    }
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
            let (a, b, c, d, e) =
                (ramp(n, 1.0), ramp(n, -0.5), ramp(n, 2.0), ramp(n, 0.3), ramp(n, 0.7));
            let naive = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
            let close = |x: f64, y: f64| assert!((x - y).abs() <= 1e-13 * (1.0 + y.abs()));
            close(dot(&a, &b), naive(&a, &b));

            let mut total = vec![0.0; n];
            close(add_and_dot(&a, &b, &mut total), naive(&a, &b));
            assert!((0..n).all(|i| total[i] == a[i] + b[i]));

            let mut sum = e.clone();
            let left = Piece { first: &a, last: &b };
            let right = Piece { first: &c, last: &d };
            let seam = seam(left, &b, right, &mut sum);
            let plus = |x: &[f64], y: &[f64]| (0..n).map(|i| x[i] + y[i]).collect::<Vec<_>>();
            close(seam.whole[0], naive(&plus(&b, &e), &a));
            close(seam.whole[1], naive(&plus(&b, &e), &d));
            close(seam.left_and_first[0], naive(&plus(&b, &c), &a));
            close(seam.left_and_first[1], naive(&plus(&b, &c), &c));
            close(seam.last_and_right[0], naive(&plus(&b, &e), &b));
            close(seam.last_and_right[1], naive(&plus(&b, &e), &d));
            assert_eq!(sum, plus(&b, &e));

            let (mut force, mut momentum, mut copy) = (vec![0.0; n], b.clone(), vec![0.0; n]);
            let norm2 = kick(0.1, &a, &c, &mut force, &mut momentum, &mut copy);
            for i in 0..n {
                assert_eq!(force[i], a[i] * c[i]);
                assert_eq!(momentum[i], b[i] + 0.1 * (a[i] * c[i]));
            }
            assert_eq!(copy, momentum);
            close(norm2, naive(&momentum, &momentum));
        }
    }
}
