//! The tests of `exmc-model` as one program; one file's:
//! `cargo test -p exmc-model --test all NAME::`.

mod adversarial;
mod builder;
mod continuous;
mod discrete_multivariate;
mod json;
mod rewrite;
mod scans;
mod transforms;
mod wrappers;
