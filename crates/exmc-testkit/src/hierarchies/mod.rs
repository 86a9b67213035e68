//! Seed -> a random hierarchical model -> whether its transformations leave density and draws what
//! they were.
//!
//! Integrating out, non-centring, collapsing, joining logarithms, merging rows and lanes are judged
//! by code that has none of them: the model's plain data (`spec`) become a Stan program or a built
//! model on one side, and rows of a dense linear system on the other (`exact`). Compared are
//! - the log density of what is left, with its constants where the model keeps them, and its
//!   gradient by directions;
//! - the joint distribution of all recorded latents given the position: recorded values are an
//!   affine function of standard normal numbers, so that zero and unit numbers show their mean and
//!   the whole of their covariance matrix;
//! - the density with everything integrated out against the one with all coordinates at a recorded
//!   draw, which differ by the density of that draw;
//! - four positions side by side, and another executor or one without an optimisation.
//!
//! **False alarms**: none by chance but for the sum of squares in [`Seen`]. **Power**: an error of
//! 1e-8 of a standard deviation, of a variance or of the density, in any single element.

mod build;
mod chains;
mod coordinates;
mod differences;
mod exact;
mod judge;
mod places;
mod seen;
mod spec;
mod stan;

pub use judge::check;
pub use seen::Seen;
