//! Sixteen lanes of `f32`: the same bits at every level, functions close to those in `f64`.

use std::f32::consts::{FRAC_1_SQRT_2, LN_2, SQRT_2};

use exmc_math::simd::single::{self, Single};
use exmc_math::simd::{self, Kernel, Level, Simd};

type Sixteen = [f32; 16];

/// One function of sixteen numbers, as a type, because a closure would lose its instructions.
trait Function {
    fn apply<S: Single>(s: S, x: S::Vector) -> S::Vector;
}

macro_rules! functions {
    ($($name:ident: |$s:ident, $x:ident| $e:expr;)*) => {$(
        struct $name;
        impl Function for $name {
            #[inline(always)]
            fn apply<S: Single>($s: S, $x: S::Vector) -> S::Vector {
                $e
            }
        }
    )*};
}

functions! {
    Exp: |s, x| single::exp(s, x);
    Log: |s, x| single::log(s, x);
    Sigmoid: |s, x| single::sigmoid(s, x);
    Softplus: |s, x| single::softplus(s, x);
    PairSigmoid: |s, x| single::sigmoid_softplus(s, x).0;
    PairSoftplus: |s, x| single::sigmoid_softplus(s, x).1;
    Sqrt: |s, x| s.sqrt(x);
    Abs: |s, x| s.abs(x);
    Neg: |s, x| s.neg(x);
    Reciprocal: |s, x| s.div(s.splat(1.0), x);
    // Every arithmetic operation, each of one argument.
    Arithmetic: |s, x| {
        let y = s.splat(1.7);
        let sum = s.fma(x, y, s.sub(s.mul(x, x), s.add(x, y)));
        let other = s.fnma(x, y, s.max(s.min(x, y), s.neg(y)));
        s.select(s.lt(x, y), sum, s.select(s.le(x, s.splat(90.0)), other, s.abs(sum)))
    };
    // There and back, which changes nothing, of what is first rounded from a product in f64.
    Widened: |s, x| {
        let wide = s.wide();
        let factor = wide.splat(1.0 / 3.0);
        s.narrow(s.widen(x).map(|half| wide.mul(half, factor)))
    };
}

struct Apply<'a, F>(&'a [Sixteen], &'a mut [Sixteen], std::marker::PhantomData<F>);

impl<F: Function> Kernel for Apply<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let s = s.single();
        for (x, out) in self.0.iter().zip(self.1) {
            s.store(F::apply(s, s.load(x)), out);
        }
    }
}

fn apply<F: Function>(level: Level, x: &[Sixteen]) -> Vec<f32> {
    let mut out = vec![[0.0; 16]; x.len()];
    level.run(Apply::<F>(x, &mut out, std::marker::PhantomData));
    out.into_iter().flatten().collect()
}

/// Every `step`-th bit pattern of an `f32`, NaN and both infinities included, and numbers about
/// which branches turn.
fn numbers(step: usize) -> Vec<Sixteen> {
    let patterns = (0..=u32::MAX).step_by(step).map(f32::from_bits);
    let turns = [0.0, 0.5, LN_2, FRAC_1_SQRT_2, 1.0, SQRT_2, 88.722_83, 103.972_08, 1e-45];
    let turns = turns
        .into_iter()
        .flat_map(|x: f32| [x, -x, x.next_up(), x.next_down(), -x.next_up(), -x.next_down()]);
    let ordinary = (0..20_000).map(|k| k as f32 * 1.3e-3 - 13.0);
    let infinities = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN_POSITIVE];
    let mut all: Vec<f32> = patterns.chain(turns).chain(ordinary).chain(infinities).collect();
    all.resize(all.len().next_multiple_of(16), 1.0);
    all.as_chunks::<16>().0.to_vec()
}

/// The bits of a number; NaN has one. Asked of the bits: which NaN an operation gives is open, so
/// that a compiler may take a number that is NaN for the NaN that is asked for.
fn bits(x: f32) -> u32 {
    let bits = x.to_bits();
    if bits << 1 > f32::INFINITY.to_bits() << 1 { f32::NAN.to_bits() } else { bits }
}

/// Distance of `y` from `exact` in units of the last place of the rounded exact value; a
/// subnormal's unit is the smallest.
fn error(y: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if rounded.is_nan() || rounded.is_infinite() || y.is_nan() || y.is_infinite() {
        return if bits(y) == bits(rounded) { 0.0 } else { f64::INFINITY };
    }
    let size = rounded.abs();
    let ulp = f64::from(size.next_up()) - f64::from(size);
    (f64::from(y) - exact).abs() / ulp
}

type Oracle = fn(Level, &[f64], &mut [f64]);

/// Each function's name, results, oracle in `f64` (itself within 3 ulp of that type) and largest
/// error.
#[test]
fn functions_are_close_to_their_namesakes() {
    let level = Level::detect();
    let x = numbers(2_039);
    let wide: Vec<f64> = x.iter().flatten().map(|&x| f64::from(x)).collect();
    let subjects: [(&str, Vec<f32>, Oracle, f64); 6] = [
        ("exp", apply::<Exp>(level, &x), simd::exp, 1.25),
        ("log", apply::<Log>(level, &x), simd::log, 1.25),
        ("sigmoid", apply::<Sigmoid>(level, &x), simd::sigmoid, 2.5),
        ("softplus", apply::<Softplus>(level, &x), simd::softplus, 2.5),
        ("sigmoid of a pair", apply::<PairSigmoid>(level, &x), simd::sigmoid, 2.5),
        ("softplus of a pair", apply::<PairSoftplus>(level, &x), simd::softplus, 2.5),
    ];
    for (name, got, oracle, most) in subjects {
        let mut exact = vec![0.0; wide.len()];
        oracle(level, &wide, &mut exact);
        let mut worst = (0.0, 0.0);
        for ((&x, &y), &exact) in wide.iter().zip(&got).zip(&exact) {
            let error = error(y, exact);
            if error > worst.0 {
                worst = (error, x);
            }
        }
        println!("{name}: {:.3} ulp at {:e}", worst.0, worst.1);
        assert!(worst.0 <= most, "{name} is {} ulp off at {:e}", worst.0, worst.1);
    }
}

#[test]
fn every_level_has_the_same_bits() {
    let x = numbers(40_009);
    fn check<F: Function>(name: &str, x: &[Sixteen]) {
        let expected = apply::<F>(Level::portable(), x);
        for level in Level::available() {
            for ((e, g), x) in expected.iter().zip(apply::<F>(level, x)).zip(x.iter().flatten()) {
                let place = level.name();
                assert_eq!(
                    bits(*e),
                    bits(g),
                    "{name} of {x:e} is {e:e} portably, {g:e} at {place}"
                );
            }
        }
    }
    check::<Exp>("exp", &x);
    check::<Log>("log", &x);
    check::<Sigmoid>("sigmoid", &x);
    check::<Softplus>("softplus", &x);
    check::<PairSigmoid>("sigmoid of a pair", &x);
    check::<PairSoftplus>("softplus of a pair", &x);
    check::<Sqrt>("sqrt", &x);
    check::<Abs>("abs", &x);
    check::<Neg>("neg", &x);
    check::<Reciprocal>("reciprocal", &x);
    check::<Arithmetic>("arithmetic", &x);
    check::<Widened>("widened", &x);
}

/// Fingerprints of all results, the same on x86-64 and on ARM. Whoever changes a function on
/// purpose writes the printed one here, after the accuracy tests.
#[test]
fn every_platform_has_the_same_bits() {
    let x = numbers(400_009);
    fn hash<F: Function>(x: &[Sixteen]) -> u64 {
        let results = apply::<F>(Level::detect(), x);
        // FNV-1a on whole words.
        results.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &y| {
            (hash ^ u64::from(bits(y))).wrapping_mul(0x100_0000_01b3)
        })
    }
    let got = [
        ("exp", hash::<Exp>(&x)),
        ("log", hash::<Log>(&x)),
        ("sigmoid", hash::<Sigmoid>(&x)),
        ("softplus", hash::<Softplus>(&x)),
        ("arithmetic", hash::<Arithmetic>(&x)),
        ("widened", hash::<Widened>(&x)),
    ];
    for (name, hash) in &got {
        println!("        (\"{name}\", {hash:#018x}),");
    }
    let expected = [
        ("exp", 0x0e9b1dd1166f1edb),
        ("log", 0xeb83a0cc2d1e7592),
        ("sigmoid", 0x5934a6004f349e76),
        ("softplus", 0x624615411bae15dc),
        ("arithmetic", 0x54d8d2bdf4f9abd1),
        ("widened", 0x600361bc240370fc),
    ];
    assert_eq!(got, expected, "a fingerprint has changed");
}

/// Arithmetic is that of the language's own `f32`, lane by lane.
#[test]
fn arithmetic_is_rounded_once() {
    let x = numbers(400_009);
    let numbers: Vec<f32> = x.iter().flatten().copied().collect();
    for level in Level::available() {
        let (roots, inverses) = (apply::<Sqrt>(level, &x), apply::<Reciprocal>(level, &x));
        let thirds = apply::<Widened>(level, &x);
        for (k, &x) in numbers.iter().enumerate() {
            assert_eq!(bits(roots[k]), bits(x.sqrt()), "root of {x:e}");
            assert_eq!(bits(inverses[k]), bits(1.0 / x), "inverse of {x:e}");
            let third = (f64::from(x) * (1.0 / 3.0)) as f32;
            assert_eq!(bits(thirds[k]), bits(third), "third of {x:e}");
        }
    }
}

#[test]
fn folding_adds_lanes_eight_apart() {
    struct Fold(Sixteen);
    impl Kernel for Fold {
        type Output = [f64; 8];
        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> [f64; 8] {
            let single = s.single();
            let sum = single.fold(single.load(&self.0));
            single.wide().to_array(sum)
        }
    }
    // 2^24 + 1 is no f32, so a sum that was rounded to one would lose the second term.
    let mut x = [16_777_216.0; 16];
    x[8..].copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    for level in Level::available() {
        let expected: [f64; 8] = std::array::from_fn(|k| 16_777_217.0 + k as f64);
        assert_eq!(level.run(Fold(x)), expected, "{}", level.name());
    }
}
