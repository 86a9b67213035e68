//! Sixteen lanes as an array, for processors without a level of their own; also the reference of
//! the others.

use super::lanes::Single;
use crate::simd::lanes::sealed::Sealed;
use crate::simd::portable::Portable;

/// The token of the portable level.
#[derive(Clone, Copy, Debug)]
pub(in crate::simd) struct PortableSingle(Portable);

impl PortableSingle {
    pub(in crate::simd) fn new(wide: Portable) -> Self {
        PortableSingle(wide)
    }
}

impl Sealed for PortableSingle {}

/// Two arguments to one result, lane by lane.
macro_rules! binary {
    ($($name:ident($a:ident, $b:ident) -> $e:expr;)*) => {$(
        #[inline(always)]
        fn $name(self, x: [f32; 16], y: [f32; 16]) -> [f32; 16] {
            std::array::from_fn(|k| { let ($a, $b) = (x[k], y[k]); $e })
        }
    )*};
}

macro_rules! compare {
    ($($name:ident $operator:tt;)*) => {$(
        #[inline(always)]
        fn $name(self, x: [f32; 16], y: [f32; 16]) -> [bool; 16] {
            std::array::from_fn(|k| x[k] $operator y[k])
        }
    )*};
}

macro_rules! bitwise {
    ($($name:ident($a:ident, $b:ident) -> $e:expr;)*) => {$(
        #[inline(always)]
        fn $name(self, x: [u32; 16], y: [u32; 16]) -> [u32; 16] {
            std::array::from_fn(|k| { let ($a, $b) = (x[k], y[k]); $e })
        }
    )*};
}

impl Single for PortableSingle {
    type Wide = Portable;
    type Vector = [f32; 16];
    type Bits = [u32; 16];
    type Mask = [bool; 16];

    #[inline(always)]
    fn wide(self) -> Portable {
        self.0
    }
    #[inline(always)]
    fn splat(self, x: f32) -> [f32; 16] {
        [x; 16]
    }
    #[inline(always)]
    fn load(self, x: &[f32; 16]) -> [f32; 16] {
        *x
    }
    #[inline(always)]
    fn store(self, x: [f32; 16], out: &mut [f32; 16]) {
        *out = x;
    }
    #[inline(always)]
    fn widen(self, x: [f32; 16]) -> [[f64; 8]; 2] {
        [std::array::from_fn(|k| f64::from(x[k])), std::array::from_fn(|k| f64::from(x[k + 8]))]
    }
    #[inline(always)]
    fn narrow(self, x: [[f64; 8]; 2]) -> [f32; 16] {
        std::array::from_fn(|k| x[k / 8][k % 8] as f32)
    }
    binary! {
        add(a, b) -> a + b;
        sub(a, b) -> a - b;
        mul(a, b) -> a * b;
        div(a, b) -> a / b;
        min(a, b) -> if a < b { a } else { b };
        max(a, b) -> if a > b { a } else { b };
    }
    compare! {
        lt <;
        le <=;
        eq ==;
    }
    bitwise! {
        add_bits(a, b) -> a.wrapping_add(b);
        sub_bits(a, b) -> a.wrapping_sub(b);
        and_bits(a, b) -> a & b;
        or_bits(a, b) -> a | b;
        xor_bits(a, b) -> a ^ b;
    }
    #[inline(always)]
    fn fma(self, a: [f32; 16], b: [f32; 16], c: [f32; 16]) -> [f32; 16] {
        std::array::from_fn(|k| a[k].mul_add(b[k], c[k]))
    }
    #[inline(always)]
    fn fnma(self, a: [f32; 16], b: [f32; 16], c: [f32; 16]) -> [f32; 16] {
        std::array::from_fn(|k| (-a[k]).mul_add(b[k], c[k]))
    }
    #[inline(always)]
    fn sqrt(self, x: [f32; 16]) -> [f32; 16] {
        x.map(f32::sqrt)
    }
    #[inline(always)]
    fn select(self, mask: [bool; 16], a: [f32; 16], b: [f32; 16]) -> [f32; 16] {
        std::array::from_fn(|k| if mask[k] { a[k] } else { b[k] })
    }
    #[inline(always)]
    fn all(self, mask: [bool; 16]) -> bool {
        mask == [true; 16]
    }
    #[inline(always)]
    fn to_bits(self, x: [f32; 16]) -> [u32; 16] {
        x.map(f32::to_bits)
    }
    #[inline(always)]
    fn with_bits(self, x: [u32; 16]) -> [f32; 16] {
        x.map(f32::from_bits)
    }
    #[inline(always)]
    fn splat_bits(self, x: u32) -> [u32; 16] {
        [x; 16]
    }
    #[inline(always)]
    fn shift_left<const N: u32>(self, a: [u32; 16]) -> [u32; 16] {
        a.map(|a| a << N)
    }
    #[inline(always)]
    fn shift_right<const N: u32>(self, a: [u32; 16]) -> [u32; 16] {
        a.map(|a| a >> N)
    }
}
