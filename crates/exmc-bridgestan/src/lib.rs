//! A Stan program -> a C library of its log density (internal, unstable): the interface of
//! BridgeStan, for its clients in Python, R, Julia and Rust.
//!
//! | part | in -> out |
//! |---|---|
//! | [`model`] | a program and its data -> names, densities, transforms |
//! | [`density`] | a position -> log density, gradient, Hessian, or what is wrong there |
//! | [`columns`] | a program's variables -> names and order of constrained values |
//! | [`abi`] | calls from C -> calls of the above; all `unsafe` code is there |
//!
//! A model library is a copy of this library with a program behind it
//! ([`exmc_cmdstan::program`]). It reads the program while it is loaded, because clients may delete
//! the file afterwards. Positions are in Stan's order and over all parameters: nothing is
//! integrated out, and no parameter is moved to other coordinates.
#![deny(unsafe_code)]

#[expect(unsafe_code, reason = "functions that C calls take addresses")]
pub mod abi;
pub mod columns;
pub mod density;
pub mod model;
pub mod stream;
