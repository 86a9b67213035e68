//! Log density -> which of its variables of few elements pay when they are integrated out.
//!
//! A vector of many elements always does: it takes most of the coordinates with it. A few numbers
//! that are normal given the rest pay only where they make the geometry bad. A regression's
//! coefficients do not: its posterior is near a normal distribution, and fewer coordinates give no
//! better draws. What does is
//! - an effect whose scale varies, because of the funnel between them;
//! - the location of few such effects that are gone themselves: it is known as well as their scale
//!   allows, of which few effects tell little (n of them to a share of $1/\sqrt{2n}$), so that it
//!   has a funnel with that scale too. Of effects that stay, the location is a coordinate that they
//!   need.

use std::collections::BTreeSet;

use exmc_graph::{Dependence, location_scales};

use super::marginalise::MIN_ELEMENTS;
use super::{LayoutEntry, Lowered};

/// An effect with a scale that varies.
struct Funnel {
    name: String,
    len: usize,
    /// Variables of few elements that its location holds.
    around: BTreeSet<String>,
}

/// The funnels of a density.
pub(super) struct Funnels(Vec<Funnel>);

impl Funnels {
    /// Those that variables of few elements, `small`, may have a part in.
    pub(super) fn of(lowered: &Lowered, small: &[&LayoutEntry]) -> Self {
        let mut all = Vec::new();
        if small.is_empty() {
            return Self(all);
        }
        let mut graph = lowered.graph.clone();
        for found in location_scales(&mut graph, lowered.logp) {
            let roots = found.roots();
            let entry = lowered.layout.iter().find(|entry| entry.input == found.input);
            let (Some(entry), Some((&scale, others))) = (entry, roots.split_first()) else {
                continue;
            };
            if graph.dependence(scale) != Dependence::Parameter {
                continue;
            }
            let live = graph.reachable(others);
            let is_held = |candidate: &&&LayoutEntry| live[candidate.input.index()];
            let around =
                small.iter().filter(is_held).map(|candidate| candidate.name.clone()).collect();
            all.push(Funnel { name: entry.name.clone(), len: entry.unconstrained.len(), around });
        }
        Self(all)
    }

    /// Whether a variable of few elements might pay.
    pub(super) fn may_pay(&self, name: &str) -> bool {
        self.is_effect(name) || self.are_around(name)
    }

    /// Whether it does when these are integrated out already.
    pub(super) fn pays(&self, name: &str, gone: &[String]) -> bool {
        let mut others = self.0.iter().filter(|funnel| funnel.around.contains(name));
        self.is_effect(name)
            || self.are_around(name) && others.all(|funnel| gone.contains(&funnel.name))
    }

    fn is_effect(&self, name: &str) -> bool {
        self.0.iter().any(|funnel| funnel.name == name)
    }

    /// Whether a variable is a part of the location of few effects.
    pub(super) fn are_around(&self, name: &str) -> bool {
        self.0.iter().any(|funnel| funnel.len < MIN_ELEMENTS && funnel.around.contains(name))
    }
}
