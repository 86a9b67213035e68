//! A model's nodes -> terms of the log density, one scalar each.

use exmc_fault::{Fault, planted};
use exmc_graph::{Graph, NodeId, Reduction, Tensor};

use super::require::transform_ensures;
use super::{Free, Lowering, Pointwise, Term};
use crate::build::parts_hold;
use crate::diagnostic::{Code, Diagnostic, ModelError, Origin};
use crate::dist::Dist;
use crate::model::{Censoring, Kind, Obs, Rv};
use crate::spec::Reduce;

impl Lowering<'_> {
    pub(super) fn terms(&mut self) -> Result<Vec<Term>, ModelError> {
        let mut terms = Vec::new();
        let mut mistakes = Vec::new();
        for (name, node) in &self.model.nodes {
            let term = match &node.kind {
                Kind::Rv(rv) => match self.free.get(name.as_str()).copied() {
                    Some(free) if !self.observations.contains_key(name.as_str()) => {
                        self.free_term(name, rv, free, &node.origin)
                    }
                    _ if planted(Fault::ObservationCountedTwice) => {
                        let dist = self.import_dist(&rv.dist);
                        let density = dist.lpdf(&mut self.graph, self.values[name.as_str()]);
                        Ok(Some(self.graph.sum(density)))
                    }
                    _ => Ok(None),
                },
                Kind::Obs(obs) => self.obs_term(obs, &node.origin),
                Kind::Potential(value) => {
                    let value = self.import(*value);
                    Ok(Some(self.graph.sum(value)))
                }
                Kind::Det(_) | Kind::Data(_) => Ok(None),
            };
            match term {
                Ok(Some(node)) => terms.push(Term { name: name.clone(), node }),
                Ok(None) => {}
                Err(mistake) => mistakes.push(mistake.at(name, &node.origin)),
            }
        }
        ModelError::check(mistakes)?;
        Ok(terms)
    }

    fn free_term(
        &mut self,
        name: &str,
        rv: &Rv,
        free: Free,
        origin: &Origin,
    ) -> Result<Option<NodeId>, Diagnostic> {
        let dist = self.import_dist(&rv.dist);
        let mut density = dist.lpdf(&mut self.graph, free.raw);
        density = self.require_all(&dist, name, origin, density)?;
        if !self.known.of(&self.graph, free.raw).is_some_and(|s| s.implies(dist.support()))
            && !transform_ensures(self.model, rv)
        {
            density = dist.guard(&mut self.graph, free.raw, density);
        }
        let mut total = self.graph.sum(density);
        if let (Some(log_jacobian), true) = (free.log_jacobian, self.options.jacobian) {
            total = self.graph.add(total, log_jacobian);
        }
        if let Some(s) = rv.standardised {
            // The density of the value itself, for comparison with other programs, divides by the
            // scale.
            if !self.options.jacobian || planted(Fault::NonCentredKeepsScaleTerm) {
                let scale = self.import(s.scale);
                let log_scale = self.graph.log(scale);
                let log_scale = self.graph.broadcast_to(log_scale, &rv.shape);
                let log_scale = self.graph.sum(log_scale);
                total = self.graph.sub(total, log_scale);
            }
            total = self.require_scale(&rv.dist, s.scale, name, origin, total)?;
        }
        Ok(Some(total))
    }

    fn obs_term(&mut self, obs: &Obs, origin: &Origin) -> Result<Option<NodeId>, Diagnostic> {
        let Some(Kind::Rv(rv)) = self.model.nodes.get(&obs.target).map(|n| &n.kind) else {
            let message = format!(
                "`{}` is no random variable, nor an invertible affine or matrix image of one",
                obs.target
            );
            let help = "observe a random variable whose parameters are that expression";
            return Err(Diagnostic::new(Code::BadObservation, message).help(help));
        };
        let name =
            self.model.nodes.get_key_value(&obs.target).expect("it was found above").0.as_str();
        let mut value = self.values[name];
        let dist = self.import_dist(&rv.dist);
        let weight = obs.weight.map(|w| self.import(w));
        let mask = obs.mask.map(|m| self.import(m));
        if let (Some(mask), true) = (mask, dist.event_rank() > 0) {
            value = dist.settle(&mut self.graph, value, mask);
        }
        let mut density = dist.lpdf(&mut self.graph, value);
        if !obs.missing.is_empty() && !transform_ensures(self.model, rv) {
            density = dist.guard(&mut self.graph, value, density);
        }
        if let Some(censoring) = obs.censoring {
            let tails = self.censored(&dist, value, density, censoring);
            // Nothing was seen of a missing element, censored or not.
            density = match missing_flags(&mut self.graph, rv, obs) {
                None => tails,
                Some(missing) => self.graph.select(missing, density, tails),
            };
        }
        if let Some(log_jacobian) = obs.log_jacobian {
            let log_jacobian = self.import(log_jacobian);
            let g = &mut self.graph;
            let mut log_jacobian = log_jacobian;
            if obs.joint {
                density = g.sum(density);
            } else if rv.dist.event_rank() > 0 && !g.shape(log_jacobian).is_scalar() {
                // One density an outcome, one slope an element.
                let rank = rv.shape.rank();
                let axes: Vec<_> = (rank - rv.dist.event_rank()..rank).collect();
                log_jacobian = g.reduce(Reduction::Sum, log_jacobian, &axes);
            }
            density = g.add(density, log_jacobian);
        }
        density = self.require_all(&dist, name, origin, density)?;
        density = self.require_inside(&dist, obs, value, origin, density)?;
        let parts = Obs { weight, mask, ..obs.clone() };
        for (predicate, message) in parts_hold(&mut self.graph, &parts) {
            let diagnostic = Diagnostic::new(Code::BadObservation, message).at(&obs.target, origin);
            density = self.require(predicate, diagnostic, density)?;
        }
        let g = &mut self.graph;
        // Missing elements are free: their density always counts, their likelihood never does.
        let missing = missing_flags(g, rv, obs);
        if let Some(weight) = weight {
            let weighted = g.mul(weight, density);
            density = missing.map_or(weighted, |missing| g.select(missing, density, weighted));
        }
        let counted = match (mask, missing) {
            (Some(mask), Some(missing)) => Some(g.or(mask, missing)),
            (mask, _) => mask,
        };
        let seen = match (mask, missing) {
            (mask, None) => mask,
            (None, Some(missing)) => Some(g.not(missing)),
            (Some(mask), Some(missing)) => {
                let observed = g.not(missing);
                Some(g.and(mask, observed))
            }
        };
        let missing_jacobian =
            self.free.get(name).and_then(|f| f.log_jacobian).filter(|_| self.options.jacobian);
        if obs.likelihood {
            let zero = g.scalar(0.0);
            let shape = g.shape(density).clone();
            let seen = seen.map(|seen| g.broadcast_to(seen, &shape));
            let node = seen.map_or(density, |seen| g.select(seen, density, zero));
            self.pointwise.push(Pointwise { name: name.to_owned(), node, mask: seen });
        } else {
            return Ok(None);
        }
        let mut total = reduce(g, density, counted, obs.reduce);
        if let Some(log_jacobian) = missing_jacobian {
            total = g.add(total, log_jacobian);
        }
        Ok(Some(total))
    }

    /// The elementwise log likelihood with censored elements' tail probabilities.
    fn censored(
        &mut self,
        dist: &Dist,
        value: NodeId,
        density: NodeId,
        censoring: Censoring,
    ) -> NodeId {
        const CHECKED: &str = "our bug: building checked that there is a distribution function";
        let code = self.import(censoring.code);
        let upper = censoring.upper.map(|u| self.import(u));
        let g = &mut self.graph;
        let uniform = g.as_uniform(code);
        let wanted = |c: f64| uniform.is_none_or(|u| u == c);
        let before = dist.just_below(g, value);
        let mut result = density;
        let mut choose = |g: &mut Graph, which: f64, tail: NodeId| {
            result = if uniform == Some(which) {
                tail
            } else {
                let (which, current) = (g.scalar(which), result);
                let chosen = g.eq(code, which);
                g.select(chosen, tail, current)
            };
        };
        if wanted(1.0) {
            let tail = dist.lccdf(g, before).expect(CHECKED);
            choose(g, 1.0, tail);
        }
        if wanted(-1.0) {
            let tail = dist.lcdf(g, value).expect(CHECKED);
            choose(g, -1.0, tail);
        }
        if let (true, Some(upper)) = (wanted(2.0), upper) {
            let mass = dist.log_mass_between(g, Some(value), Some(upper)).expect(CHECKED);
            choose(g, 2.0, mass);
        }
        result
    }
}

/// 1 for each missing element of a partly observed variable.
fn missing_flags(g: &mut Graph, rv: &Rv, obs: &Obs) -> Option<NodeId> {
    if obs.missing.is_empty() {
        return None;
    }
    let mut flags = vec![0.0; rv.shape.len()];
    obs.missing.iter().for_each(|&k| flags[k] = 1.0);
    Some(g.constant(Tensor::real(rv.shape.clone(), flags).expect("one flag an element")))
}

/// One number from elementwise log densities; masked elements count nowhere.
fn reduce(g: &mut Graph, density: NodeId, mask: Option<NodeId>, how: Reduce) -> NodeId {
    let shape = g.shape(density).clone();
    let mask = mask.map(|m| g.broadcast_to(m, &shape));
    let axes: Vec<_> = (0..shape.rank()).collect();
    match how {
        Reduce::Sum | Reduce::Mean => {
            let (kept, count) = match mask {
                None => (density, g.scalar(shape.len() as f64)),
                Some(mask) => {
                    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
                    let counted = g.select(mask, one, zero);
                    (g.select(mask, density, zero), g.sum(counted))
                }
            };
            let total = g.sum(kept);
            if how == Reduce::Mean {
                // Without any element that counts there is no likelihood.
                let one = g.scalar(1.0);
                let count = g.max(count, one);
                g.div(total, count)
            } else {
                total
            }
        }
        Reduce::LogSumExp => {
            let kept = match mask {
                None => density,
                Some(mask) => {
                    let never = g.scalar(f64::NEG_INFINITY);
                    g.select(mask, density, never)
                }
            };
            let total = g.reduce(Reduction::LogSumExp, kept, &axes);
            match mask {
                None => total,
                Some(mask) => {
                    let zero = g.scalar(0.0);
                    let counted = g.ne(mask, zero);
                    let any = g.reduce(Reduction::Max, counted, &axes);
                    g.select(any, total, zero)
                }
            }
        }
    }
}
