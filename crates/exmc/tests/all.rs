//! The tests of `exmc` as one program; one file's:
//! `cargo test -p exmc --test all NAME::`.

mod adversarial;
mod choices;
mod coordinates;
mod empty_outcomes;
mod examples;
mod fit;
mod interpreter;
mod lanes;
mod leave_out;
mod loops_over_containers;
mod loops_within_loops;
mod marginal;
mod marginal_locations;
mod marginal_small_scales;
mod monitor;
mod pointwise;
mod precision;
mod predictive;
mod quantities;
mod recovered;
mod sbc;
mod short_pieces;
mod sums_at_indices;
mod threads;
