//! Partial centring: a log density in which an input has a location and a scale -> the same density in another coordinate of
//! that input.
//!
//! An input $\theta$ with location $\mu$ and scale $\sigma$, expressions of other inputs, is replaced by
//! $z = \lambda\mu + \sigma^{\lambda-1}(\theta-\mu)$, element by element, with $0\le\lambda\le1$. At $\lambda=1$ that is $\theta$ itself
//! (*centred*), at $\lambda=0$ it is $(\theta-\mu)/\sigma$ (*non-centred*). With little data about $\theta$ the second has no funnel, with
//! many data the first has independent coordinates, and between the ends the best is between the ends.
//!
//! This is a change of variables whatever $\mu$ and $\sigma$ are, so long as they do not depend on $\theta$: the density of z is that of
//! $\theta(z)$ times $\sigma^{1-\lambda}$. How they are [found](location_scales) decides whether it pays, never whether it is right.
//!
//! **Reference**: Papaspiliopoulos, Roberts and Sköld 2007; Gorinova, Moore and Hoffman 2020, Automatic reparameterisation of
//! probabilistic programs.

mod find;
mod substitute;
mod view;

pub use find::{LocationScale, Written, location_scales};
pub use substitute::{Recentred, recentre, recentre_value};
