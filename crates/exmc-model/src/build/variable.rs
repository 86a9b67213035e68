//! A declared random variable -> its shape, distribution and transform, checked.

use exmc_graph::Shape;

use super::names::check_size;
use super::{Builder, check_limits};
use crate::diagnostic::{Code, Diagnostic};
use crate::dist::Dist;
use crate::model::{Rv, Standardised};
use crate::spec::{RvSpec, StandardisedSpec, TransformSpec};
use crate::support::Support;
use crate::transform::Transform;

impl Builder {
    pub(super) fn rv(&mut self, spec: &RvSpec) -> Result<Rv, Diagnostic> {
        let declared = self.declared_shape(spec)?;
        if let Some(shape) = &declared {
            check_size("the variable", shape)?;
        }
        let mut dist = self.dist(&spec.dist, declared.as_ref())?;
        let shape = dist
            .outcome_shape(&self.model.graph, declared.as_ref())
            .map_err(|message| Diagnostic::new(Code::ShapeMismatch, message))?;
        if declared.is_none() && !matches!(dist, Dist::Family { .. }) {
            // Expressions of custom components are written for outcomes of the whole's shape.
            dist = self.dist(&spec.dist, Some(&shape))?;
        }
        check_size("the variable", &shape)?;
        self.check_constants(&dist)?;
        let transform = match &spec.transform {
            None => None,
            Some(transform) => {
                let transform = self.transform(transform)?;
                if dist.is_discrete() {
                    let message = format!("{} is discrete and takes no transform", dist.name());
                    return Err(Diagnostic::new(Code::BadTransform, message));
                }
                for limit in transform.arguments() {
                    if !self.model.graph.shape(limit).broadcasts_to(&shape) {
                        let found = self.model.graph.shape(limit);
                        let message = format!(
                            "a limit of shape {found} does not broadcast to the variable's {shape}"
                        );
                        return Err(Diagnostic::new(Code::ShapeMismatch, message));
                    }
                }
                let unconstrained = transform
                    .unconstrained_shape(&shape)
                    .map_err(|message| Diagnostic::new(Code::BadTransform, message))?;
                self.check_transform(&dist, &shape, &transform, &unconstrained)?;
                Some(transform)
            }
        };
        let standardised = match &spec.standardised {
            None => None,
            Some(spec) => Some(self.standardised(spec, &shape)?),
        };
        Ok(Rv {
            dist,
            shape,
            plates: spec.over.clone(),
            transform,
            centring: spec.centring,
            standardised,
        })
    }

    /// Refuses transforms that leave no value, or another number of coordinates than the density
    /// has.
    fn check_transform(
        &self,
        dist: &Dist,
        shape: &Shape,
        transform: &Transform,
        unconstrained: &Shape,
    ) -> Result<(), Diagnostic> {
        let mut scratch = self.model.graph.clone();
        let default_shape = dist.default_transform(&mut scratch).unconstrained_shape(shape);
        if dist.event_rank() > 0
            && dist.support() != Support::Real
            && default_shape.is_ok_and(|default_shape| default_shape.len() != unconstrained.len())
        {
            let message = format!(
                "the transform `{}` does not make values that are {}",
                transform.name(),
                dist.support().describe()
            );
            let help = "leave it out: the distribution brings its own";
            return Err(Diagnostic::new(Code::BadTransform, message).help(help));
        }
        check_limits(&scratch, transform)
    }

    fn standardised(
        &mut self,
        spec: &StandardisedSpec,
        shape: &Shape,
    ) -> Result<Standardised, Diagnostic> {
        let location = spec.location.as_ref().map(|e| self.expr(e)).transpose()?;
        let scale = self.expr(&spec.scale)?;
        for node in location.into_iter().chain([scale]) {
            let found = self.model.graph.shape(node);
            if !found.broadcasts_to(shape) {
                let message = format!(
                    "a location or scale of shape {found} does not broadcast to the variable's {shape}"
                );
                return Err(Diagnostic::new(Code::ShapeMismatch, message));
            }
        }
        Ok(Standardised { location, scale })
    }

    fn declared_shape(&self, spec: &RvSpec) -> Result<Option<Shape>, Diagnostic> {
        if spec.over.is_empty() {
            return Ok(spec.shape.clone());
        }
        let mut extents = Vec::new();
        for plate in &spec.over {
            let Some(size) = self.model.plates.get(plate) else {
                let message = format!("there is no plate `{plate}`");
                return Err(Diagnostic::new(Code::UnknownReference, message)
                    .help("declare it with its size"));
            };
            extents.push(*size);
        }
        let named = Shape::from(extents);
        match &spec.shape {
            Some(shape) if *shape != named => {
                let message =
                    format!("its declared shape is {shape}, but its plates have shape {named}");
                Err(Diagnostic::new(Code::ShapeMismatch, message))
            }
            _ => Ok(Some(named)),
        }
    }

    fn transform(&mut self, spec: &TransformSpec) -> Result<Transform, Diagnostic> {
        Ok(match spec {
            TransformSpec::Identity => Transform::Identity,
            TransformSpec::Log => Transform::Log,
            TransformSpec::Softplus => Transform::Softplus,
            TransformSpec::Logit => Transform::Logit,
            TransformSpec::Lower(a) => Transform::Lower(self.expr(a)?),
            TransformSpec::Upper(b) => Transform::Upper(self.expr(b)?),
            TransformSpec::Interval(a, b) => Transform::Interval(self.expr(a)?, self.expr(b)?),
            TransformSpec::Circle => Transform::Circle,
            TransformSpec::Ordered => Transform::Ordered,
            TransformSpec::PositiveOrdered => Transform::PositiveOrdered,
            TransformSpec::Simplex => Transform::Simplex,
            TransformSpec::SimplexPlain => Transform::SimplexPlain,
            TransformSpec::SimplexSoftmax => Transform::SimplexSoftmax,
            TransformSpec::CorrelationCholesky => Transform::CorrelationCholesky,
            TransformSpec::CovarianceCholesky => Transform::CovarianceCholesky,
            TransformSpec::CorrelationMatrix => Transform::CorrelationMatrix,
            TransformSpec::CovarianceMatrix => Transform::CovarianceMatrix,
            TransformSpec::ColumnSimplex => Transform::ColumnSimplex,
            TransformSpec::SumToZeroMatrix => Transform::SumToZeroMatrix,
            TransformSpec::SumToZero => Transform::SumToZero,
            TransformSpec::UnitVector => Transform::UnitVector,
        })
    }
}
