//! Two vectors at a time: a level -> the same level with sixteen lanes.
//!
//! A function is a chain of operations, each of which waits for the one before; a processor looks
//! ahead by less than one such chain. Two vectors whose operations alternate fill each other's
//! waits. Lanes know nothing of each other, so the results have the bits that they have alone.

use super::lanes::{Simd, sealed::Sealed};

/// The token for pairs of vectors, which are arrays of two; functions that look at single lanes
/// cannot run on it.
#[derive(Clone, Copy, Debug)]
pub struct Twice<S>(S);

impl<S: Simd> Twice<S> {
    /// Pairs of this level's vectors.
    #[inline(always)]
    pub fn new(s: S) -> Self {
        Self(s)
    }
}

impl<S: Simd> Sealed for Twice<S> {}

/// Methods that do to both what the level does to one.
macro_rules! both {
    ($($method:ident($($arg:ident: $kind:ident),+) -> $result:ident;)*) => {
        $(
            #[inline(always)]
            fn $method(self, $($arg: [S::$kind; 2]),+) -> [S::$result; 2] {
                [self.0.$method($($arg[0]),+), self.0.$method($($arg[1]),+)]
            }
        )*
    };
}

impl<S: Simd> Simd for Twice<S> {
    type Vector = [S::Vector; 2];
    type Bits = [S::Bits; 2];
    type Mask = [S::Mask; 2];
    type Single = S::Single;

    #[inline(always)]
    fn single(self) -> S::Single {
        self.0.single()
    }
    #[inline(always)]
    fn splat(self, x: f64) -> [S::Vector; 2] {
        [self.0.splat(x); 2]
    }
    #[inline(always)]
    fn splat_bits(self, x: u64) -> [S::Bits; 2] {
        [self.0.splat_bits(x); 2]
    }
    #[inline(always)]
    fn load(self, _: &[f64; 8]) -> [S::Vector; 2] {
        unreachable!("functions of pairs have no lanes that differ")
    }
    #[inline(always)]
    fn store(self, _: [S::Vector; 2], _: &mut [f64; 8]) {
        unreachable!("functions of pairs look at no single lanes")
    }

    both! {
        add(a: Vector, b: Vector) -> Vector;
        sub(a: Vector, b: Vector) -> Vector;
        mul(a: Vector, b: Vector) -> Vector;
        div(a: Vector, b: Vector) -> Vector;
        fma(a: Vector, b: Vector, c: Vector) -> Vector;
        fnma(a: Vector, b: Vector, c: Vector) -> Vector;
        sqrt(x: Vector) -> Vector;
        min(a: Vector, b: Vector) -> Vector;
        max(a: Vector, b: Vector) -> Vector;
        round(x: Vector) -> Vector;
        lt(a: Vector, b: Vector) -> Mask;
        le(a: Vector, b: Vector) -> Mask;
        eq(a: Vector, b: Vector) -> Mask;
        select(mask: Mask, a: Vector, b: Vector) -> Vector;
        both(a: Mask, b: Mask) -> Mask;
        to_bits(x: Vector) -> Bits;
        with_bits(x: Bits) -> Vector;
        add_bits(a: Bits, b: Bits) -> Bits;
        sub_bits(a: Bits, b: Bits) -> Bits;
        and_bits(a: Bits, b: Bits) -> Bits;
        or_bits(a: Bits, b: Bits) -> Bits;
        xor_bits(a: Bits, b: Bits) -> Bits;
        scale(x: Vector, shifted: Vector) -> Vector;
    }

    #[inline(always)]
    fn any(self, mask: [S::Mask; 2]) -> bool {
        self.0.any(mask[0]) || self.0.any(mask[1])
    }
    #[inline(always)]
    fn all(self, mask: [S::Mask; 2]) -> bool {
        self.0.all(self.0.both(mask[0], mask[1]))
    }
    #[inline(always)]
    fn shift_left<const N: u32>(self, a: [S::Bits; 2]) -> [S::Bits; 2] {
        [self.0.shift_left::<N>(a[0]), self.0.shift_left::<N>(a[1])]
    }
    #[inline(always)]
    fn shift_right<const N: u32>(self, a: [S::Bits; 2]) -> [S::Bits; 2] {
        [self.0.shift_right::<N>(a[0]), self.0.shift_right::<N>(a[1])]
    }
}

#[cfg(test)]
mod tests {
    use super::super::level::{Kernel, Level};
    use super::super::vector;
    use super::*;

    /// A function of pairs and of single vectors.
    macro_rules! kernel {
        ($name:ident, $function:path) => {
            struct $name([[f64; 8]; 2]);

            impl Kernel for $name {
                type Output = [[[f64; 8]; 2]; 2];
                fn run<S: Simd>(self, s: S) -> Self::Output {
                    let x = [s.load(&self.0[0]), s.load(&self.0[1])];
                    let pair = $function(Twice::new(s), x);
                    let alone = [$function(s, x[0]), $function(s, x[1])];
                    [pair.map(|y| s.to_array(y)), alone.map(|y| s.to_array(y))]
                }
            }
        };
    }

    kernel!(Exp, vector::exp);
    kernel!(Log, vector::log);
    kernel!(Log1p, vector::log1p);
    kernel!(Sigmoid, vector::sigmoid);
    kernel!(Softplus, vector::softplus);

    #[test]
    fn pairs_have_the_bits_of_vectors_alone() {
        let ordinary: [f64; 8] = std::array::from_fn(|k| 0.37 * k as f64 + 0.11);
        let mixed = [-746.5, -1.5, -0.0, 5e-324, 1e300, 709.9, f64::INFINITY, f64::NAN];
        for x in [[ordinary, mixed], [mixed, ordinary], [ordinary, ordinary.map(|x| -x)]] {
            let level = Level::detect();
            let all = [
                level.run(Exp(x)),
                level.run(Log(x)),
                level.run(Log1p(x)),
                level.run(Sigmoid(x)),
                level.run(Softplus(x)),
            ];
            for (k, [pair, alone]) in all.into_iter().enumerate() {
                let same =
                    |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
                let (a, b) = (pair.as_flattened(), alone.as_flattened());
                assert!(a.iter().zip(b).all(same), "function {k} of {x:?}: {a:?}, not {b:?}");
                assert!(
                    pair[0] != pair[1],
                    "function {k} of {x:?}: both vectors of the pair count"
                );
            }
        }
    }
}
