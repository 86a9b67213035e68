//! The JSON form: round trips, exact messages of bad input, and no panic whatever the input.

mod corpus;
mod data;
mod document;
mod functions;
mod no_panic;
mod random_model;
mod round_trip;
mod support;
