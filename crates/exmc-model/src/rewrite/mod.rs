//! Rewrite passes: a model -> an equivalent model that is easier or quicker to sample.
//!
//! Passes are named, run in the order of [`PASSES`], and idempotent. Each keeps the joint density
//! of the constrained values (non-centring changes the coordinates, not the posterior).

mod attach_default_transforms;
mod fold_constants;
mod lift_measurable;
mod non_centre;
mod normalise_observations;

use crate::diagnostic::ModelError;
use crate::model::Model;
use crate::verify::verify;

/// A named rewrite.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name, for `--without` and dumps.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub what: &'static str,
    run: fn(&Model) -> Result<Model, ModelError>,
}

impl Pass {
    /// Runs this pass alone.
    ///
    /// # Errors
    /// When the model turns out to be wrong (a singular matrix, a map that cannot be inverted).
    ///
    /// # Panics
    /// In builds with debug assertions, when the rewritten model does not verify: our bug.
    pub fn run(&self, model: &Model) -> Result<Model, ModelError> {
        let rewritten = (self.run)(model)?;
        if cfg!(debug_assertions)
            && let Err(problem) = verify(&rewritten)
        {
            panic!("our bug: pass `{}` left a malformed model: {problem}", self.name);
        }
        Ok(rewritten)
    }
}

/// Every pass, in order.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "normalise-observations",
        what: "points observations at random variables, drops weights of one and masks of nothing",
        run: normalise_observations::normalise_observations,
    },
    Pass {
        name: "lift-measurable-affine",
        what: "turns an observed `a * x + b` into an observation of x with its Jacobian",
        run: lift_measurable::lift_measurable_affine,
    },
    Pass {
        name: "lift-measurable-matmul",
        what: "turns an observed `A x + b` into an observation of the vector x with its Jacobian",
        run: lift_measurable::lift_measurable_matmul,
    },
    Pass {
        name: "attach-default-transforms",
        what: "gives every free variable the map from the real line of its distribution",
        run: attach_default_transforms::attach_default_transforms,
    },
    Pass {
        name: "non-centre",
        what: "samples `x ~ family(location, scale)` as `location + scale * z` where the scale is free",
        run: non_centre::non_centre,
    },
    Pass {
        name: "fold-constants",
        what: "computes what depends on constants only",
        run: fold_constants::fold_constants,
    },
];

/// Runs all passes but those named in `without`.
///
/// # Errors
/// When a pass finds the model wrong, or no pass has a name in `without`.
pub fn rewrite(model: &Model, without: &[&str]) -> Result<Model, ModelError> {
    for name in without {
        if !PASSES.iter().any(|p| p.name == *name) {
            let names: Vec<_> = PASSES.iter().map(|p| p.name).collect();
            let message = format!("there is no rewrite pass `{name}`");
            let help = format!("the passes are {}", names.join(", "));
            return Err(crate::Diagnostic::new(crate::Code::UnknownReference, message)
                .help(help)
                .into());
        }
    }
    let mut model = model.clone();
    for pass in PASSES.iter().filter(|p| !without.contains(&p.name)) {
        model = pass.run(&model)?;
    }
    Ok(model)
}
