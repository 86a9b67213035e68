//! Special functions, small dense kernels and random streams (internal, unstable; users go through `exmc`).
//!
//! Everything here is a pure function of its arguments and gives the same bits on every platform:
//! elementary functions come from one vendored source (`libm`), sums have one fixed order, and the
//! samplers in [`random`] are frozen code over a counter-based generator.
#![forbid(unsafe_code)]

pub mod random;
