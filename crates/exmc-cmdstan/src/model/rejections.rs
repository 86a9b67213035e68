//! Positions without a density on a chain's way -> the lines that clients look for on standard
//! error, with what the program's statements say of them.

use std::sync::atomic::{AtomicU32, Ordering};

use exmc::advanced::BoundModel;
use exmc::stan::{Depth, StanModel};

use crate::console::complain;
use crate::failure::Failure;

/// Rejections of a chain that are told; the statements run once more for each.
const MAX_TOLD: u32 = 100;

/// The model that a chain samples, which tells of rejections. `written` is over Stan's coordinates;
/// lines begin with `prefix`.
pub(super) fn told(bound: &BoundModel, written: &StanModel, prefix: &str) -> BoundModel {
    let (sampled, written, prefix) = (bound.clone(), written.clone(), prefix.to_owned());
    let count = AtomicU32::new(0);
    bound.clone().witnessed(move |position, has_started| {
        // While a chain looks for its start, only the last reason counts, and is told elsewhere.
        if !has_started || count.load(Ordering::Relaxed) >= MAX_TOLD {
            return;
        }
        if let Some(reason) = reason(position, &sampled, &written) {
            complain(&format!(
                "{prefix}Informational Message: The current Metropolis proposal is about to be \
                 rejected because of the following issue:\n\
                 {prefix}{}\n\
                 {prefix}Now and then that is harmless; often, the model is misspecified or badly \
                 conditioned.",
                Failure::exception(reason)
            ));
            if count.fetch_add(1, Ordering::Relaxed) + 1 == MAX_TOLD {
                complain(&format!(
                    "{prefix}Of {MAX_TOLD} rejections the reason is told, and no more."
                ));
            }
        }
    })
}

/// What the statements say of a position; nothing where they run to their end.
fn reason(position: &[f64], bound: &BoundModel, written: &StanModel) -> Option<String> {
    let said = |position: &[f64]| {
        written.values_at(position, Depth::Density, 0, None).err().map(|error| error.to_string())
    };
    if changed(bound).is_empty() && bound.integrated_out().next().is_none() {
        return said(position);
    }
    let written_bound = written.bound();
    let layout = &written_bound.compiled().lowered().layout;
    let mut values = bound.constrain(position).ok()?;
    values.retain(|name, _| layout.iter().any(|entry| entry.name == *name));
    said(&written_bound.unconstrain(&values).ok()?)
}

/// Names of variables that are sampled in other coordinates than the program's.
pub(super) fn changed(bound: &BoundModel) -> Vec<&str> {
    let coordinates = bound.coordinates().unwrap_or_default().iter();
    coordinates
        .filter(|coordinate| coordinate.shares.iter().any(|share| *share != coordinate.written))
        .map(|coordinate| coordinate.name.as_str())
        .collect()
}
