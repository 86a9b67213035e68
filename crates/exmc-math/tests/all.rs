//! The tests of `exmc-math` as one program; one file's:
//! `cargo test -p exmc-math --test all NAME::`.

mod complex;
mod dae;
mod ode;
mod random_draws;
mod random_streams;
mod root;
mod simd_accuracy;
mod simd_levels;
mod simd_reductions;
mod simd_special_values;
mod simd_subjects;
mod single_functions;
mod special_tables;
mod stiff;
mod wide_grid;
