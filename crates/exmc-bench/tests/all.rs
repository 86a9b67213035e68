//! The tests of `exmc-bench` as one program; one file's:
//! `cargo test -p exmc-bench --test all NAME::`.

mod by_hand;
mod densities;
mod lanes;
