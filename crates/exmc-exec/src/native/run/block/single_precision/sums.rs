//! Sums of `f32`: blocks of terms -> their sum in `f64`, in eight lanes and one order.
#![expect(
    unsafe_code,
    reason = "operands of a block may overlap its result, which slices cannot say"
)]

use exmc_fault::{Fault, planted};
use exmc_math::simd::single::{self, Single};
use exmc_math::simd::{Simd, vector};

use super::{Lanes, SINGLES, Source, load, store};
use crate::native::program::LANES;
use crate::native::run::block::sums::{finish_sum, first_lanes};
use crate::native::run::block::{Block, Step};

/// Padding lanes that a planted fault lets through.
#[inline(always)]
fn too_many() -> usize {
    usize::from(planted(Fault::WrongTailMask) || planted(Fault::WrongTailMaskSingle))
}

/// Which lanes of the block's last vector are elements, if not all.
#[inline(always)]
pub(super) fn tail<T: Single>(t: T, len: usize) -> T::Mask {
    const COUNT: Lanes =
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0];
    let rest = len % SINGLES + too_many();
    t.lt(t.load(&COUNT), t.splat(rest as f32))
}

/// The sum of each lane, as it is but for a planted fault.
#[inline(always)]
pub(super) fn lanes<S: Simd>(s: S, sum: S::Vector) -> S::Vector {
    if planted(Fault::LostLaneSingle) {
        return s.select(first_lanes(s, LANES - 1), sum, s.splat(0.0));
    }
    sum
}

/// Adds up a block's terms, each widened first, eight at a time as those of `f64`.
macro_rules! add_up {
    ($t:ident, $block:ident, $i:ident, |$v:ident| $term:expr) => {{
        let s = $t.wide();
        let mut sum = s.splat(0.0);
        let full_vectors = $block.len() / SINGLES;
        for $v in 0..full_vectors {
            let [first, second] = $t.widen($term);
            sum = s.add(s.add(sum, first), second);
        }
        if $block.single_vectors() > full_vectors {
            let $v = full_vectors;
            let [first, second] = $t.widen($term);
            let mask = first_lanes(s, $block.len() % LANES + too_many());
            match $block.len() % SINGLES {
                LANES => sum = s.add(sum, first),
                1..LANES => sum = s.add(sum, s.select(mask, first, s.splat(0.0))),
                _ => sum = s.add(s.add(sum, first), s.select(mask, second, s.splat(0.0))),
            }
        }
        let sum = lanes(s, sum);
        finish_sum!(s, $block, $i, sum);
    }};
}

#[inline(always)]
pub(super) fn sum<T: Single, const SINGLE: bool>(t: T, block: Block<'_, SINGLE>, i: &Step) {
    let a = block.read_single(i.a);
    add_up!(t, block, i, |v| load!(t, a, v));
}

/// Products are rounded to `f32` as any other result.
#[inline(always)]
pub(super) fn dot<T: Single, const SINGLE: bool>(t: T, block: Block<'_, SINGLE>, i: &Step) {
    let (a, b) = (block.read_single(i.a), block.read_single(i.b));
    add_up!(t, block, i, |v| t.mul(load!(t, a, v), load!(t, b, v)));
}

/// The sum of softplus of `a`, and the logistic function of each, as in `f64`; `1 + e^-|x|` and the
/// product of a lane's are of that type, so that small exponentials count.
#[inline(always)]
pub(super) fn sum_softplus<T: Single, const SINGLE: bool>(
    t: T,
    block: Block<'_, SINGLE>,
    i: &Step,
) {
    let s = t.wide();
    let (a, second) = (block.read_single(i.a), block.write_single(i.b));
    let (zero, one) = (t.splat(0.0), s.splat(1.0));
    let (mut low, mut high, mut sum) = (one, one, s.splat(0.0));
    for v in 0..block.single_vectors() {
        let x = load!(t, a, v);
        let (logistic, mut e) = single::sigmoid_exp(t, x);
        store!(t, second, v, logistic);
        // The maximum passes NaN, being the second operand.
        let mut positive = t.max(zero, x);
        if v * SINGLES + SINGLES > block.len() {
            let mask = tail(t, block.len());
            (e, positive) = (t.select(mask, e, zero), t.select(mask, positive, zero));
        }
        let [first, other] = t.widen(e);
        low = s.mul(low, s.add(one, first));
        high = s.mul(high, s.add(one, other));
        sum = s.add(sum, t.fold(positive));
    }
    // At most thirty-two numbers between 1 and 2.
    let sum = lanes(s, s.add(sum, vector::log(s, s.mul(low, high))));
    finish_sum!(s, block, i, sum);
}
