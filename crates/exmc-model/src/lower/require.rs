//! What must hold of arguments and values -> a proof, an error now, a check of data, or a guard in
//! the density.

use exmc_graph::{Dependence, NodeId};

use super::{DataCheck, Lowering};
use crate::build::{CODES_MUST, codes_hold, holds, observed_inside};
use crate::diagnostic::{Code, Diagnostic, Origin};
use crate::dist::{Dist, Requirement};
use crate::model::{Censoring, Model, Obs, Rv};
use crate::support::Support;
use crate::transform::Transform;

impl Lowering<'_> {
    /// Checks a distribution's arguments: constants now, data when bound, parameters in the density
    /// (minus infinity) unless their support is proven.
    pub(super) fn require_all(
        &mut self,
        dist: &Dist,
        name: &str,
        origin: &Origin,
        density: NodeId,
    ) -> Result<NodeId, Diagnostic> {
        let mut density = density;
        let before = self.graph.len();
        let requirements = dist.requirements(&mut self.graph);
        debug_assert!(self.graph.len() >= before, "graphs only grow");
        for requirement in requirements {
            let Requirement { subject, support, predicate, message } = requirement;
            let code = match support {
                Some(Support::PositiveDefinite) => Code::SingularMatrix,
                _ => Code::OutsideSupport,
            };
            if support == Some(Support::Real)
                && self.graph.dependence(predicate) != Dependence::Data
            {
                continue; // NaN makes the density NaN by itself.
            }
            let proven = support.is_some_and(|wanted| {
                self.known.of(&self.graph, subject).is_some_and(|known| known.implies(wanted))
            });
            if !proven {
                let diagnostic = Diagnostic::new(code, message).at(name, origin);
                density = self.require(predicate, diagnostic, density)?;
            }
        }
        Ok(density)
    }

    /// Checks the scale of a non-centred variable, which its standardised distribution no longer
    /// has.
    pub(super) fn require_scale(
        &mut self,
        dist: &Dist,
        scale: NodeId,
        name: &str,
        origin: &Origin,
        density: NodeId,
    ) -> Result<NodeId, Diagnostic> {
        let scale = self.import(scale);
        if self.known.of(&self.graph, scale).is_some_and(|s| s.implies(Support::Positive)) {
            return Ok(density);
        }
        let predicate = Support::Positive.predicate(&mut self.graph, scale, &[]);
        let message = format!("the scale of {} must be positive", dist.name());
        let diagnostic = Diagnostic::new(Code::OutsideSupport, message).at(name, origin);
        self.require(predicate, diagnostic, density)
    }

    pub(super) fn require_inside(
        &mut self,
        dist: &Dist,
        obs: &Obs,
        value: NodeId,
        origin: &Origin,
        density: NodeId,
    ) -> Result<NodeId, Diagnostic> {
        let censoring = obs.censoring.map(|c| Censoring {
            code: self.import(c.code),
            upper: c.upper.map(|u| self.import(u)),
        });
        // Masked vectors have been replaced by possible ones.
        let mask = obs.mask.filter(|_| dist.event_rank() == 0).map(|m| self.import(m));
        let imported = Obs { value, mask, censoring, ..obs.clone() };
        let mut density = density;
        if let Some(censoring) = censoring {
            let predicate = codes_hold(&mut self.graph, dist, &imported, censoring);
            let diagnostic =
                Diagnostic::new(Code::BadObservation, CODES_MUST).at(&obs.target, origin);
            density = self.require(predicate, diagnostic, density)?;
        }
        let predicate = observed_inside(&mut self.graph, dist, &imported, value);
        let what = dist.support().describe();
        let message =
            format!("the value lies outside of the support of {}: it must be {what}", dist.name());
        let diagnostic = Diagnostic::new(Code::OutsideSupport, message).at(&obs.target, origin);
        self.require(predicate, diagnostic, density)
    }

    pub(super) fn require(
        &mut self,
        predicate: NodeId,
        diagnostic: Diagnostic,
        density: NodeId,
    ) -> Result<NodeId, Diagnostic> {
        match self.graph.dependence(predicate) {
            Dependence::Constant if holds(&self.graph, predicate) => Ok(density),
            Dependence::Constant => Err(diagnostic),
            Dependence::Data => {
                self.checks.push(DataCheck { predicate, diagnostic });
                Ok(density)
            }
            Dependence::Parameter => {
                let never = self.graph.scalar(f64::NEG_INFINITY);
                Ok(self.graph.select(predicate, density, never))
            }
        }
    }
}

/// The support that a free variable's transform guarantees, if it says more than "real".
pub(super) fn proven_support(model: &Model, rv: &Rv, transform: &Transform) -> Option<Support> {
    match transform {
        Transform::Log | Transform::Softplus => Some(Support::Positive),
        Transform::Logit => Some(Support::UnitOpen),
        Transform::Lower(_) if limit_is_not_negative(model, rv) => Some(Support::Positive),
        Transform::Circle => Some(Support::Circle),
        Transform::Ordered | Transform::PositiveOrdered => Some(Support::Ordered),
        Transform::Simplex | Transform::SimplexPlain | Transform::SimplexSoftmax => {
            Some(Support::Simplex)
        }
        Transform::CorrelationCholesky => Some(Support::CorrelationCholesky),
        Transform::CovarianceCholesky => Some(Support::CholeskyFactor),
        Transform::CorrelationMatrix | Transform::CovarianceMatrix => {
            Some(Support::PositiveDefinite)
        }
        // Limits that the family's own support names are what its default transform keeps to.
        _ if transform_ensures(model, rv) && rv.dist.support() != Support::Real => {
            match rv.dist.support() {
                Support::Between { .. } => None,
                support => Some(support),
            }
        }
        _ => None,
    }
}

/// Whether a lower limit is a constant of at least zero; asked of the model, whose graph it belongs
/// to.
fn limit_is_not_negative(model: &Model, rv: &Rv) -> bool {
    let Some(Transform::Lower(limit)) = rv.transform else { return false };
    model.graph.as_uniform(limit).is_some_and(|limit| limit >= 0.0)
}

/// Whether the transform is the distribution's own, which keeps to its support by construction.
pub(super) fn transform_ensures(model: &Model, rv: &Rv) -> bool {
    if let Dist::Family { family, args } = &rv.dist {
        return rv.transform == Some(family.default_transform(args));
    }
    // The default may make constants, so it is asked for on a copy.
    let mut scratch = model.graph.clone();
    rv.transform == Some(rv.dist.default_transform(&mut scratch))
}
