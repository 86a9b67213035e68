//! The JSON form: round trips, exact messages of bad input, and no panic whatever the input.
#![expect(clippy::unwrap_used, reason = "helpers of tests may")]

mod corpus;
mod data;
mod document;
mod functions;
mod no_panic;
mod random_model;
mod round_trip;
mod support;
