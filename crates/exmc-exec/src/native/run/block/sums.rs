//! Sums: blocks of terms -> their sum, in eight lanes and one order.
#![expect(
    unsafe_code,
    reason = "operands of a block may overlap its result, which slices cannot say"
)]

use exmc_fault::{Fault, planted};
use exmc_graph::MAX_FACTORS;
use exmc_math::simd::{Simd, Twice, vector};

use super::{Block, Detail, Lanes, Span, Step, load, store};
use crate::native::program::{Code, LANES};

/// Which lanes of the block's last vector are elements, if not all.
#[inline(always)]
pub(super) fn tail<S: Simd>(s: S, len: usize) -> S::Mask {
    let wrong =
        planted(Fault::WrongTailMask) || (len > LANES && planted(Fault::WrongTailMaskInLoops));
    first_lanes(s, len % LANES + usize::from(wrong))
}

/// The first `count` lanes.
#[inline(always)]
pub(super) fn first_lanes<S: Simd>(s: S, count: usize) -> S::Mask {
    const COUNT: Lanes = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    s.lt(s.load(&COUNT), s.splat(count as f64))
}

/// The sum of all lanes.
#[inline(always)]
pub(super) fn total<S: Simd>(s: S, sum: S::Vector) -> f64 {
    if planted(Fault::LostLane) {
        return s.to_array(sum)[..LANES - 1].iter().sum();
    }
    s.total(sum)
}

/// Adds a block's sum of each lane to those of the blocks before, and after the last all lanes to
/// the result; the sums so far are in operand `$partial`.
macro_rules! finish_sum {
    ($s:ident, $block:ident, $i:ident, $sum:ident) => {
        $crate::native::run::block::sums::finish_sum!($s, $block, $i, $sum, c)
    };
    ($s:ident, $block:ident, $i:ident, $sum:ident, $partial:ident) => {{
        let mut sum = $sum;
        let partial = $i.$partial.first;
        if !$block.first() {
            sum = $s.add($crate::native::run::block::load!($s, (partial.cast_const(), 0), 0), sum);
        }
        if $block.last() {
            let total = $crate::native::run::block::sums::total($s, sum);
            $crate::native::run::block::store!($s, $i.out.first, 0, $s.splat(total));
        } else {
            $crate::native::run::block::store!($s, partial, 0, sum);
        }
    }};
}

pub(super) use finish_sum;

/// Adds up a block's terms: those of a lane one after the other, and then the block's sum to that
/// of the blocks before.
///
/// `$joined` is the sum `$sum` with the term of a whole vector, `$term` a term alone, of a vector
/// that may have a rest.
macro_rules! add_up {
    ($s:ident, $block:ident, $i:ident, |$v:ident| $term:expr) => {
        add_up!($s, $block, $i, |$v| $term, |sum| $s.add(sum, $term))
    };
    ($s:ident, $block:ident, $i:ident, |$v:ident| $term:expr, |$sum:ident| $joined:expr) => {
        if SINGLE {
            let $v = 0;
            let mut sum = $term;
            if $block.len() < LANES {
                sum = $s.select(tail($s, $block.len()), sum, $s.splat(0.0));
            }
            store!($s, $i.out.first, 0, $s.splat($s.total(sum)));
        } else {
            let zero = $s.splat(0.0);
            let full_vectors = $block.len() / LANES;
            let mut $sum = zero;
            for $v in 0..full_vectors {
                $sum = $joined;
            }
            if $block.vectors() > full_vectors {
                let $v = full_vectors;
                $sum = $s.add($sum, $s.select(tail($s, $block.len()), $term, zero));
            }
            let sum = $sum;
            finish_sum!($s, $block, $i, sum);
        }
    };
}

#[inline(always)]
pub(super) fn sum<S: Simd, const SINGLE: bool>(s: S, block: Block<'_, SINGLE>, i: &Step) {
    let a = block.read(i.a);
    add_up!(s, block, i, |v| load!(s, a, v));
}

/// Products are rounded only where they are of a rest.
#[inline(always)]
pub(super) fn dot<S: Simd, const SINGLE: bool>(s: S, block: Block<'_, SINGLE>, i: &Step) {
    let (a, b) = (block.read(i.a), block.read(i.b));
    add_up!(s, block, i, |v| s.mul(load!(s, a, v), load!(s, b, v)), |sum| s.fma(
        load!(s, a, v),
        load!(s, b, v),
        sum
    ));
}

/// Where the factors of a logarithm's product lie: so many of them as there may be have a normal
/// product.
pub(in crate::native) const MIN_FACTOR: f64 = f64::from_bits((1023 - 62) << 52);
pub(in crate::native) const MAX_FACTOR: f64 = f64::from_bits((1023 + 62) << 52);
const _: () = assert!(62 * MAX_FACTORS < 1022);

/// A factor that is not extreme; NaN of any other.
#[inline(always)]
pub(super) fn factor<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    if planted(Fault::ExtremeFactor) {
        return x;
    }
    let [least, most] = [MIN_FACTOR, MAX_FACTOR].map(|limit| s.splat(limit));
    let extreme = s.with_bits(s.splat_bits(u64::MAX));
    s.select(s.lt(x, least), extreme, s.select(s.lt(most, x), extreme, x))
}

/// The product of a loop's factors, which are one block.
#[inline(always)]
pub(super) fn product<S: Simd, const SINGLE: bool>(s: S, block: Block<'_, SINGLE>, i: &Step) {
    let a = block.read(i.a);
    let one = s.splat(1.0);
    let mut product = one;
    for v in 0..block.vectors() {
        let mut x = load!(s, a, v);
        if v * LANES + LANES > block.len() {
            x = s.select(tail(s, block.len()), x, one);
        }
        product = if v == 0 { x } else { s.mul(product, x) };
    }
    let l = s.to_array(product);
    let product = ((l[0] * l[4]) * (l[2] * l[6])) * ((l[1] * l[5]) * (l[3] * l[7]));
    store!(s, i.out.first, 0, s.splat(product));
}

/// How many numbers a product takes before its exponent is taken off.
pub(in crate::native) const FACTORS: usize = 4;
/// A product of one and so many numbers that are not below this, 2^-255, is a normal number or
/// infinite.
const MIN_PRODUCT: f64 = f64::from_bits((1023 - 255) << 52);
/// The bits of a number's fraction.
pub(in crate::native) const FRACTION: u64 = (1 << 52) - 1;

/// Lines of partial sums behind the first one, by number: exponents that were taken off a block's
/// product, its least number, and zeros or NaN where the product was no number. The product itself
/// is where the result will be.
pub(in crate::native) const EXPONENTS: usize = 1;
pub(in crate::native) const MIN_FACTORS: usize = 2;
pub(in crate::native) const NO_NUMBER: usize = 3;

/// The product of a block's numbers: fractions are multiplied and exponents added, which
/// [`FACTORS`] numbers do together.
struct Product<S: Simd> {
    product: S::Vector,
    exponents: S::Bits,
    least: S::Vector,
    no_number: S::Vector,
}

impl<S: Simd> Product<S> {
    /// Moves the product's exponent to the sum of exponents.
    #[inline(always)]
    fn take_exponent(&mut self, s: S) {
        self.no_number = s.fma(self.product, s.splat(0.0), self.no_number);
        let bits = s.to_bits(self.product);
        self.exponents = s.add_bits(self.exponents, s.shift_right::<52>(bits));
        let fraction = s.and_bits(bits, s.splat_bits(FRACTION));
        self.product = s.with_bits(s.or_bits(fraction, s.to_bits(s.splat(1.0))));
    }
}

/// The sum of the logarithms of `a`, or of `1 + a`, as the logarithm of a product: a logarithm is
/// taken once per block and lane.
///
/// A product of 64 numbers is off by 64 half ulps, that is $7\cdot10^{-15}$ in its logarithm, as a
/// sum of 64 terms of size one would be. Where a number is below 2^-255 or not finite, or
/// [`FACTORS`] numbers have no finite product, the block's logarithms are added one by one.
#[inline(always)]
pub(super) fn sum_log<S: Simd, const PLUS_ONE: bool, const SINGLE: bool>(
    s: S,
    block: Block<'_, SINGLE>,
    i: &Step,
) {
    let a = block.read(i.a);
    let (zero, one) = (s.splat(0.0), s.splat(1.0));
    let mut product =
        Product { product: one, exponents: s.splat_bits(0), least: one, no_number: zero };
    for v in 0..block.vectors() {
        let mut x = load!(s, a, v);
        if PLUS_ONE {
            x = s.add(x, one);
        }
        if v * LANES + LANES > block.len() {
            x = s.select(tail(s, block.len()), x, one);
        }
        product.least = s.min(x, product.least);
        product.product = s.mul(product.product, x);
        if v % FACTORS == FACTORS - 1 {
            product.take_exponent(s);
        }
    }
    finish_product::<S, PLUS_ONE, SINGLE>(s, block, i, product);
}

/// The logarithm of a block's product.
#[inline(always)]
fn finish_product<S: Simd, const PLUS_ONE: bool, const SINGLE: bool>(
    s: S,
    block: Block<'_, SINGLE>,
    i: &Step,
    mut product: Product<S>,
) {
    /// 2^52, to whose fraction an integer is added as bits.
    const SHIFT: f64 = 4_503_599_627_370_496.0;
    // What remains of the last numbers; one, if nothing does.
    product.take_exponent(s);
    let ordinary =
        s.both(s.le(s.splat(MIN_PRODUCT), product.least), s.eq(product.no_number, s.splat(0.0)));
    if s.all(ordinary) {
        let count = s.with_bits(s.add_bits(product.exponents, s.to_bits(s.splat(SHIFT))));
        let bias = 1023.0 * (block.vectors() / FACTORS + 1) as f64;
        let exponent = s.sub(s.sub(count, s.splat(SHIFT)), s.splat(bias));
        let log = vector::log(s, product.product);
        let sum = s.fma(exponent, s.splat(std::f64::consts::LN_2), log);
        finish_sum!(s, block, i, sum);
        return;
    }
    let a = block.read(i.a);
    if PLUS_ONE {
        add_up!(s, block, i, |v| vector::log1p(s, load!(s, a, v)));
    } else {
        add_up!(s, block, i, |v| vector::log(s, load!(s, a, v)));
    }
}

/// Ends a sum over a block whose lanes generated code has added up, or multiplied.
#[inline(always)]
pub(in crate::native) fn finish_emitted<S: Simd>(s: S, span: &Span, code: Code, i: &Step) {
    let block = Block::<false>(span);
    let line = |first: *mut f64, number: usize| {
        // SAFETY: `lower` gives sums a line for the result and as many lines of partial sums as
        // `Code::partial_lines` says.
        unsafe { s.load(&*first.add(LANES * number).cast::<Lanes>()) }
    };
    let sum = line(i.out.first, 0);
    if matches!(code, Code::Sum | Code::Dot) {
        finish_sum!(s, block, i, sum);
        return;
    }
    let product = Product {
        product: sum,
        exponents: s.to_bits(line(i.c.first, EXPONENTS)),
        least: line(i.c.first, MIN_FACTORS),
        no_number: line(i.c.first, NO_NUMBER),
    };
    if code == Code::SumLog1p {
        finish_product::<S, true, false>(s, block, i, product);
    } else {
        finish_product::<S, false, false>(s, block, i, product);
    }
}

/// The sum of softplus of `a`, and the logistic function of each. Softplus is $\max(x, 0) +
/// \log(1 + e^{-|x|})$; the logarithms of a block are one of a product of numbers between 1 and 2,
/// of at most 64 a lane.
#[inline(always)]
pub(super) fn sum_softplus<S: Simd, const SINGLE: bool>(s: S, block: Block<'_, SINGLE>, i: &Step) {
    let (a, second) = (block.read(i.a), block.write(i.b));
    let (zero, one) = (s.splat(0.0), s.splat(1.0));
    let (mut product, mut sum) = (one, zero);
    // Pairs of vectors all of whose lanes are elements.
    let pairs = block.len() / (2 * LANES);
    for v in 0..pairs {
        let x = [load!(s, a, 2 * v), load!(s, a, 2 * v + 1)];
        let (logistic, e) = vector::sigmoid_exp(Twice::new(s), x);
        for half in 0..2 {
            store!(s, second, 2 * v + half, logistic[half]);
            product = s.mul(product, s.add(one, e[half]));
            // The maximum passes NaN, being the second operand.
            sum = s.add(sum, s.max(zero, x[half]));
        }
    }
    for v in 2 * pairs..block.vectors() {
        let x = load!(s, a, v);
        let (logistic, e) = vector::sigmoid_exp(s, x);
        store!(s, second, v, logistic);
        let (mut factor, mut positive) = (s.add(one, e), s.max(zero, x));
        if v * LANES + LANES > block.len() {
            let mask = tail(s, block.len());
            (factor, positive) = (s.select(mask, factor, one), s.select(mask, positive, zero));
        }
        product = s.mul(product, factor);
        sum = s.add(sum, positive);
    }
    let sum = s.add(sum, vector::log(s, product));
    finish_sum!(s, block, i, sum);
}

/// The sum of `log_add_exp(a, c)`, and the shares of both. A logarithm of a sum is the larger one
/// and $\log(1 + e)$ with $e = e^{-|a-c|}$; the logarithms of a block are one of a product, as in
/// [`sum_softplus`].
#[inline(always)]
pub(super) fn sum_log_add_exp<S: Simd, const SINGLE: bool>(
    s: S,
    block: Block<'_, SINGLE>,
    i: &Step,
) {
    let (a, c) = (block.read(i.a), block.read(i.c));
    let (second, third) = (block.write(i.b), block.write(i.d));
    let (zero, one) = (s.splat(0.0), s.splat(1.0));
    let (mut product, mut sum) = (one, zero);
    // Adds vector `v`, of which only elements count, given the larger numbers, the excess and the
    // shares.
    macro_rules! add_vector {
        ($v:expr, $larger:expr, $excess:expr, $share:expr, $other:expr) => {{
            let (mut larger, mut factor) = ($larger, s.add(one, $excess));
            store!(s, second, $v, $share);
            store!(s, third, $v, $other);
            if $v * LANES + LANES > block.len() {
                let mask = tail(s, block.len());
                (factor, larger) = (s.select(mask, factor, one), s.select(mask, larger, zero));
            }
            product = s.mul(product, factor);
            sum = s.add(sum, larger);
        }};
    }
    let pairs = block.vectors() / 2;
    for v in 0..pairs {
        let x = [load!(s, a, 2 * v), load!(s, a, 2 * v + 1)];
        let y = [load!(s, c, 2 * v), load!(s, c, 2 * v + 1)];
        let vector::Addends { larger, excess, shares: [share, other] } =
            vector::addends(Twice::new(s), x, y);
        add_vector!(2 * v, larger[0], excess[0], share[0], other[0]);
        add_vector!(2 * v + 1, larger[1], excess[1], share[1], other[1]);
    }
    for v in 2 * pairs..block.vectors() {
        let vector::Addends { larger, excess, shares: [share, other] } =
            vector::addends(s, load!(s, a, v), load!(s, c, v));
        add_vector!(v, larger, excess, share, other);
    }
    let sum = s.add(sum, vector::log(s, product));
    finish_sum!(s, block, i, sum, out);
}

/// The sum of products of three scalars each.
#[inline(always)]
pub(super) fn terms<S: Simd>(s: S, i: &Step) {
    let Some(Detail::Terms(terms)) = i.detail.as_deref() else {
        unreachable!("lowered with its terms")
    };
    let mut sum = s.splat(0.0);
    for &[a, b, c] in terms {
        // SAFETY: every factor is a scalar's line.
        let [a, b, c] = unsafe { [s.load(&*a), s.load(&*b), s.load(&*c)] };
        sum = s.fma(s.mul(a, b), c, sum);
    }
    store!(s, i.out.first, 0, sum);
}
