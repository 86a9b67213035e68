//! Bound model -> its mode, and draws from the normal approximation there.

use std::ops::ControlFlow;

use exmc_density::DensityModel;
use exmc_infer::optimise::Iteration;
use exmc_infer::{Laplace, OptimizeConfig, Optimum, Start, maximise};

use crate::compile::{BoundModel, Values};
use crate::error::Error;
use crate::sample::explain_start;

/// Finds a mode of a model's density, from a start that may leave variables out (those start at
/// random).
///
/// Without Jacobians ([`CompileOptions::jacobian`](crate::advanced::CompileOptions)) the mode is
/// that of the constrained values; with them, that of the unconstrained ones. Non-centring changes
/// which values are free, so a model compiled with it has another mode: leave the pass `non-centre`
/// out. Variables that a compiled model has integrated out are part of the mode all the same:
/// positions are those of [`BoundModel::whole`], here and in what follows from a mode.
///
/// # Errors
/// Wrong settings, a start that does not fit the model, or a density that is finite nowhere. No
/// convergence is no error: see [`Optimum::stopped`].
pub fn optimize(
    model: &BoundModel,
    start: &Values,
    config: &OptimizeConfig,
    observe: impl FnMut(&Iteration) -> ControlFlow<()>,
) -> Result<Optimum, Error> {
    let model = model.whole()?;
    let start = if start.is_empty() { Start::Random } else { Start::At(model.unconstrain(start)?) };
    let mut density = model.instance();
    maximise(&mut density, &start, config, observe).map_err(|e| explain_start(model, e))
}

/// The normal approximation of a model's density at a mode (an unconstrained position).
///
/// # Errors
/// When the density is not finite around the mode, or its negative Hessian is not positive definite
/// there.
pub fn laplace(model: &BoundModel, mode: &[f64]) -> Result<Laplace, Error> {
    Ok(Laplace::at(&mut model.whole()?.instance(), mode)?)
}

/// Variables that went to the edge of their support, where no mode of the unconstrained density is:
/// a coordinate so far out that its constrained value cannot be told from the bound; or, where the
/// search did not converge, one that is far out and where the density still grows outwards, as that
/// of a hierarchy's scale does.
pub fn on_the_edge(model: &BoundModel, optimum: &Optimum) -> Vec<String> {
    /// Beyond this a logit or logarithm has left its bound by less than rounding.
    const FAR: f64 = 50.0;
    /// Beyond this it has left it by less than a ten thousandth of a unit.
    const ON_THE_WAY: f64 = 10.0;
    let Ok(model) = model.whole() else { return Vec::new() };
    let Ok(values) = model.constrain(&optimum.position) else { return Vec::new() };
    let layout = model.compiled().lowered().layout.iter();
    let is_converged = optimum.stopped.is_converged();
    let is_far = |name: &str, offset: usize, len: usize| {
        let value = values.get(name).map(|v| v.values()).unwrap_or_default();
        let same = value.len() == len;
        let parts = optimum.position[offset..].iter().zip(&optimum.gradient[offset..]).take(len);
        parts.enumerate().any(|(k, (z, slope))| {
            // A coordinate that is its own value has no bound to go to.
            let moved = !same || value[k] != *z;
            let on_the_way = !is_converged && z.abs() > ON_THE_WAY && slope * z > 0.0;
            moved && (z.abs() > FAR || on_the_way)
        })
    };
    layout
        .filter(|e| is_far(&e.name, e.offset, e.unconstrained.len()))
        .map(|e| e.name.clone())
        .collect()
}
