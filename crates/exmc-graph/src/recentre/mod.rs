//! Partial centring: a log density in which an input has a location and a scale -> the same density
//! in another coordinate of that input.
//!
//! An input $\theta$ with location $\mu$ and scale $\sigma$, expressions of other inputs, is
//! replaced by $z = \lambda\mu + \sigma^{\lambda-1}(\theta-\mu)$, element by element, with
//! $0\le\lambda\le1$. At $\lambda=1$ that is $\theta$ itself (*centred*), at $\lambda=0$ it is
//! $(\theta-\mu)/\sigma$ (*non-centred*). With little data about $\theta$ the second has no funnel,
//! with many data the first has independent coordinates, and between the ends the best is between
//! the ends.
//!
//! Elements may hold each other in their locations, each those that come before: vectors with a
//! triangular [factor] and random [walks](walk). Then it is the same of each given those before,
//! and all slopes together are a triangular matrix.
//!
//! This is a change of variables whatever $\mu$ and $\sigma$ are, so long as they do not depend on
//! $\theta$ itself: the density of z is that of $\theta(z)$ times $\sigma^{1-\lambda}$. How they
//! are [found](location_scales) decides whether it pays, never whether it is right.
//!
//! **Reference**: Papaspiliopoulos, Roberts and Sköld 2007; Gorinova, Moore and Hoffman 2020,
//! Automatic reparameterisation of probabilistic programs.

mod affine;
mod coordinate;
mod factor;
mod find;
mod scanned;
mod substitute;
mod triangle;
mod view;
mod walk;

pub use coordinate::recentre_value;
pub use find::{LocationScale, Written, location_scales};
pub use substitute::{Recentred, recentre};
