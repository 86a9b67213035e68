//! Loops that the sampler spends its time in: rows of eight lanes -> rows and inner products, by
//! the best vector instructions at hand.
//!
//! Every sum runs in eight logical lanes that are added up in one fixed order, and every fused
//! multiply-add is explicit, so the bits do not depend on how wide the machine's vectors are. Each
//! function is one dispatch and as few passes over memory as the algorithm allows, because from a
//! few hundred dimensions on memory is what a leapfrog step costs.

use exmc_math::simd::{Kernel, Level, Simd, vector};

use crate::linalg::aligned_vector::{LANES, Row};

/// $\sum_i a_i b_i$ over two slices of one length, in plain code: for estimates made now and then.
#[inline]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        lanes = std::array::from_fn(|i| lanes[i] + a[i] * b[i]);
    }
    let mut tail = 0.0;
    for (a, b) in a_rest.iter().zip(b_rest) {
        tail += a * b;
    }
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] += lanes[i + width];
        }
        width /= 2;
    }
    lanes[0] + tail
}

/// $y \leftarrow y + c x$, in plain code.
#[inline]
pub(crate) fn add_scaled(c: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += c * x;
    }
}

/// $\sum_i x_i^2$.
pub(crate) struct SumOfSquares<'a>(pub(crate) &'a [Row]);

impl Kernel for SumOfSquares<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let mut lanes = s.splat(0.0);
        for x in self.0 {
            let x = s.load(x);
            lanes = s.fma(x, x, lanes);
        }
        s.total(lanes)
    }
}

/// $y \leftarrow y + c x$.
pub(crate) struct AddScaled<'a> {
    pub(crate) c: f64,
    pub(crate) x: &'a [Row],
    pub(crate) y: &'a mut [Row],
}

impl Kernel for AddScaled<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let c = s.splat(self.c);
        for (x, y) in self.x.iter().zip(self.y) {
            s.store(s.fma(c, s.load(x), s.load(y)), y);
        }
    }
}

/// The first half step from one point in both directions of time, diagonal metric.
///
/// With step $\pm\epsilon$: `half` $= p \pm \tfrac\epsilon2\sigma g$ and `ahead` $= q \pm
/// \epsilon\sigma\,$`half`.
pub(crate) struct Depart<'a> {
    pub(crate) step_size: f64,
    pub(crate) sigma: &'a [Row],
    pub(crate) position: &'a [Row],
    pub(crate) gradient: &'a [Row],
    pub(crate) momentum: &'a [Row],
    /// `half` and `ahead`, backward in time.
    pub(crate) backward: (&'a mut [Row], &'a mut [Row]),
    /// The same, forward in time.
    pub(crate) forward: (&'a mut [Row], &'a mut [Row]),
}

impl Kernel for Depart<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let n = self.sigma.len();
        let (position, gradient) = (&self.position[..n], &self.gradient[..n]);
        let momentum = &self.momentum[..n];
        let (back_half, back_ahead) = (&mut self.backward.0[..n], &mut self.backward.1[..n]);
        let (fore_half, fore_ahead) = (&mut self.forward.0[..n], &mut self.forward.1[..n]);
        let (half, step) = (s.splat(0.5 * self.step_size), s.splat(self.step_size));
        for i in 0..n {
            let (sigma, q, p) =
                (s.load(&self.sigma[i]), s.load(&position[i]), s.load(&momentum[i]));
            let force = s.mul(sigma, s.load(&gradient[i]));
            let scaled = s.mul(step, sigma);
            let back = s.fnma(half, force, p);
            let fore = s.fma(half, force, p);
            s.store(back, &mut back_half[i]);
            s.store(s.fnma(scaled, back, q), &mut back_ahead[i]);
            s.store(fore, &mut fore_half[i]);
            s.store(s.fma(scaled, fore, q), &mut fore_ahead[i]);
        }
    }
}

/// All that lies between two gradients, diagonal metric: the end of one step, the beginning of the
/// next.
///
/// `momentum` $= p + h\sigma g$ from the half-step momentum $p$ in `half`, which moves on to
/// `momentum` $+ \tfrac\epsilon2\sigma g$; `ahead` $= q + \epsilon\sigma\,$`half`. Returns the
/// squared length of `momentum`.
pub(crate) struct Advance<'a> {
    pub(crate) step_size: f64,
    /// $h$, half the step size.
    pub(crate) closing: f64,
    pub(crate) sigma: &'a [Row],
    pub(crate) position: &'a [Row],
    pub(crate) gradient: &'a [Row],
    pub(crate) half: &'a mut [Row],
    pub(crate) ahead: &'a mut [Row],
    pub(crate) momentum: &'a mut [Row],
}

impl Kernel for Advance<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let n = self.sigma.len();
        let (position, gradient) = (&self.position[..n], &self.gradient[..n]);
        let (half, ahead) = (&mut self.half[..n], &mut self.ahead[..n]);
        let momentum = &mut self.momentum[..n];
        let (opening, closing) = (s.splat(0.5 * self.step_size), s.splat(self.closing));
        let step = s.splat(self.step_size);
        let mut lanes = s.splat(0.0);
        for i in 0..n {
            let sigma = s.load(&self.sigma[i]);
            let force = s.mul(sigma, s.load(&gradient[i]));
            let p = s.fma(closing, force, s.load(&half[i]));
            let next = s.fma(opening, force, p);
            lanes = s.fma(p, p, lanes);
            s.store(p, &mut momentum[i]);
            s.store(next, &mut half[i]);
            s.store(s.fma(s.mul(step, sigma), next, s.load(&position[i])), &mut ahead[i]);
        }
        s.total(lanes)
    }
}

/// [`Advance`] for any other metric, whose force is given and whose positions are moved by the
/// caller.
pub(crate) struct Kick<'a> {
    pub(crate) opening: f64,
    pub(crate) closing: f64,
    pub(crate) force: &'a [Row],
    pub(crate) half: &'a mut [Row],
    pub(crate) momentum: &'a mut [Row],
}

impl Kernel for Kick<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let n = self.force.len();
        let (half, momentum) = (&mut self.half[..n], &mut self.momentum[..n]);
        let (opening, closing) = (s.splat(self.opening), s.splat(self.closing));
        let mut lanes = s.splat(0.0);
        for i in 0..n {
            let force = s.load(&self.force[i]);
            let p = s.fma(closing, force, s.load(&half[i]));
            lanes = s.fma(p, p, lanes);
            s.store(p, &mut momentum[i]);
            s.store(s.fma(opening, force, p), &mut half[i]);
        }
        s.total(lanes)
    }
}

/// $e^x$ without a branch on x, which would be guessed wrong every other time.
pub(crate) struct Exponential(pub(crate) f64);

impl Kernel for Exponential {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        s.to_array(vector::exp(s, s.splat(self.0)))[0]
    }
}

/// $\sum_i x_i^2$ of a vector in rows.
#[inline]
pub(crate) fn sum_of_squares(level: Level, x: &[Row]) -> f64 {
    level.run(SumOfSquares(x))
}
