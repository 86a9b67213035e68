//! Non-centring on request: `theta ~ family(location, scale)` -> `theta = location + scale * z`, `z
//! ~ family(0, 1)`.
//!
//! While the model block is walked, statements whose left side is the whole of a requested
//! parameter are noted (`note_prior`). Afterwards the graph is copied with location + scale * z in
//! the place of the parameter. The log Jacobian of that, log(scale) for each element, is what the
//! standardised term of z leaves out. Reference: Papaspiliopoulos, Roberts and Sköld 2007;
//! Betancourt and Girolami 2015.

use exmc_fault::{Fault, planted};
use exmc_graph::{DType, Graph, GraphError, NodeId, Op, Role, Shape};
use exmc_model::{Inverse, TraceEntry};

use super::Lowering;
use super::abort::{Abort, LowerResult};
use super::variables::lane_value::LaneValue;
use crate::diagnostic::{Class, Diagnostic};
use crate::families::{Scale, families, family};
use crate::library;
use crate::source::Span;
use crate::typed::Type;

/// A statement that says how a requested parameter is distributed.
#[derive(Clone, Debug)]
pub(super) struct Prior {
    /// The parameter's name and input.
    name: String,
    input: NodeId,
    span: Span,
    /// The statement's place among the terms, and its term.
    place: usize,
    term: NodeId,
    location: NodeId,
    scale: NodeId,
    kind: Scale,
    /// The term with location 0 and scale 1, in which the parameter's input stands for z.
    standard: NodeId,
    /// What must hold for the statement, else the density is zero.
    holds: Vec<NodeId>,
}

impl Lowering<'_> {
    /// Notes a statement `outcome ~ distribution(…)` of a parameter that is to be non-centred,
    /// whose term has just been added. `values` are the outcome and the arguments, `holds` the
    /// conditions on them.
    pub(super) fn note_prior(
        &mut self,
        distribution: &str,
        values: &[(LaneValue, Type)],
        holds: Vec<NodeId>,
        span: Span,
    ) {
        if self.context.options.non_centre.is_empty()
            || !self.env.masks.is_empty()
            || !self.env.frames.is_empty()
        {
            return;
        }
        let Some((first, kind)) = family(distribution).and_then(|family| family.location) else {
            return;
        };
        // Without lanes of its own the statement would count once for each iteration.
        let outcome = &values[0].0;
        if self.depth() > 0 && !outcome.lanes {
            return;
        }
        let node = outcome.to_node(&mut self.sink.graph);
        let Some(input) = whole_input(&self.sink.graph, node) else { return };
        let entry = self.sink.layout.iter().find(|entry| entry.input == input);
        let Some(name) = entry.map(|entry| entry.name.clone()) else { return };
        let noted = self.env.terms.priors.iter().any(|prior| prior.name == name);
        if noted || !self.context.options.non_centre.contains(&name) {
            return;
        }
        let Some((location, scale)) = self.location_and_scale(input, values, first, kind) else {
            return;
        };
        let mut arguments = vec![values[0].clone()];
        if kind == Scale::Elements {
            arguments.extend_from_slice(&values[1..=first]);
            arguments.push((LaneValue::real(0.0), Type::Real));
            arguments.push((LaneValue::real(1.0), Type::Real));
        }
        let standard = if kind == Scale::Elements {
            let arguments = self.arguments(&arguments);
            let family = format!("{distribution}_lupdf");
            let standard = library::density(
                &mut self.sink.graph,
                &mut self.sink.supports,
                &family,
                &arguments,
            );
            let Ok(standard) = standard else { return };
            self.sink.graph.sum(standard.value.node)
        } else {
            let squares = self.sink.graph.square(input);
            let sum = self.sink.graph.sum(squares);
            self.sink.graph.scale(sum, -0.5)
        };
        let Some((place, term)) = self.env.terms.tilde_at(span) else { return };
        self.env.terms.priors.push(Prior {
            name,
            input,
            span,
            place,
            term,
            location,
            scale,
            kind,
            standard,
            holds,
        });
    }

    /// Location and scale of a statement, for elements as the parameter's input has them.
    fn location_and_scale(
        &mut self,
        input: NodeId,
        values: &[(LaneValue, Type)],
        first: usize,
        kind: Scale,
    ) -> Option<(NodeId, NodeId)> {
        let outcome = &values[0].0;
        let (location, scale) = (&values.get(first + 1)?.0, &values.get(first + 2)?.0);
        if kind == Scale::Elements {
            let shape = self.sink.graph.shape(input).clone();
            let outcome = (outcome.to_node(&mut self.sink.graph), outcome.lanes);
            let as_input = |this: &mut Self, value: &LaneValue| {
                let value = (value.to_node(&mut this.sink.graph), value.lanes);
                let (outcome, value, _) = this.meet(outcome, value);
                let full = this.sink.graph.shape(outcome).clone();
                if this.sink.graph.shape(value).is_scalar() {
                    return value;
                }
                let value = this.sink.graph.broadcast_to(value, &full);
                this.sink.graph.reshape(value, shape.clone())
            };
            return Some((as_input(self, location), as_input(self, scale)));
        }
        // One factor for all vectors: others would each need a product of their own.
        if scale.lanes || (location.lanes && !outcome.lanes) {
            return None;
        }
        let (location, scale) =
            (location.to_node(&mut self.sink.graph), scale.to_node(&mut self.sink.graph));
        // Lanes come first, in the order of the iterations, and so do the vectors of an array.
        let shape = self.sink.graph.shape(input).clone();
        if !self.sink.graph.shape(location).broadcasts_to(&shape) {
            return None;
        }
        let location = self.sink.graph.broadcast_to(location, &shape);
        Some(match kind {
            Scale::Covariance => (location, self.sink.graph.cholesky(scale)),
            _ => (location, scale),
        })
    }

    /// Replaces each requested parameter by location + scale * z: in the density, in what is
    /// recorded, and in the way back from recorded values.
    pub(super) fn non_centre(
        &mut self,
        trace: &mut [TraceEntry],
        inverse: &mut Inverse,
    ) -> LowerResult<()> {
        for name in self.context.options.non_centre.clone() {
            let place = self.env.terms.priors.iter().position(|prior| prior.name == name);
            let Some(place) = place else { return Err(self.cannot(&name)) };
            let prior = self.env.terms.priors.remove(place);
            let index = self.sink.layout.iter().position(|entry| entry.name == name);
            let index = index.expect("priors are of parameters");
            let input = self.sink.layout[index].input;
            if self.env.terms.list[prior.place].1 != prior.term {
                let message =
                    format!("`{name}` cannot be non-centred: this statement runs more than once");
                return Err(refused(prior.span, message));
            }
            let (location, scale) = (prior.location, prior.scale);
            if self.sink.graph.reachable(&[location, scale])[input.index()] {
                let message = format!(
                    "`{name}` cannot be non-centred: its location or scale depends on itself here"
                );
                return Err(refused(prior.span, message));
            }
            step_back(&self.sink.graph, &prior, &self.sink.layout, index, inverse);
            self.substitute(prior, index, trace);
        }
        Ok(())
    }

    /// Copies the graph with location + scale * z in the place of a parameter.
    fn substitute(&mut self, prior: Prior, index: usize, trace: &mut [TraceEntry]) {
        const FITS: &str = "a standardised value has the parameter's shape";
        let old = std::mem::take(&mut self.sink.graph);
        let shape = old.shape(prior.input).clone();
        let mut g = Graph::new();
        let same = |_: &mut Graph, _, _: &str| Ok::<_, GraphError>(None);
        let base = g.import(&old, &[prior.location, prior.scale], same).expect(FITS);
        let z = g.input(&prior.name, Role::Parameter, shape.clone(), DType::Real).expect(FITS);
        let scale = if planted(Fault::NonCentredFactor) { g.sqrt(base[1]) } else { base[1] };
        let value = match prior.kind {
            Scale::Elements => {
                let shift = g.mul(scale, z);
                g.add(base[0], shift)
            }
            Scale::Factor | Scale::Covariance => {
                // A vector a row: L z is z' L' there.
                let location = rows(&mut g, base[0], &shape);
                let z = rows(&mut g, z, &shape);
                let transposed = g.transpose(scale);
                let shift = g.matmul(z, transposed);
                let value = g.add(location, shift);
                g.reshape(value, shape.clone())
            }
        };

        // Everything that is still of use, so that the copies can be put back in the same order.
        let mut kept: Vec<&mut NodeId> = Vec::new();
        let Prior { standard, mut holds, place, .. } = prior;
        kept.extend(holds.iter_mut());
        kept.extend(self.env.terms.list.iter_mut().map(|(_, node)| node));
        kept.extend(self.env.terms.required.iter_mut());
        kept.extend(trace.iter_mut().map(|entry| &mut entry.node));
        kept.extend(self.sink.layout.iter_mut().map(|entry| &mut entry.input));
        for other in &mut self.env.terms.priors {
            kept.extend([&mut other.term, &mut other.location, &mut other.scale]);
            kept.extend(std::iter::once(&mut other.standard).chain(&mut other.holds));
        }
        let roots: Vec<NodeId> = kept.iter().map(|node| **node).collect();
        let input = prior.input;
        let replaced =
            |_: &mut Graph, id, _: &str| Ok::<_, GraphError>((id == input).then_some(value));
        let copies = g.import(&old, &roots, replaced).expect(FITS);
        for (node, copy) in kept.into_iter().zip(copies) {
            *node = copy;
        }
        self.sink.layout[index].input = z;
        for other in &mut self.env.terms.priors {
            let entry = self.sink.layout.iter().find(|entry| entry.name == other.name);
            other.input = entry.expect("priors are of parameters").input;
        }
        if self.context.options.jacobian {
            let mut term = g.import(&old, &[standard], same).expect(FITS)[0];
            let never = g.scalar(f64::NEG_INFINITY);
            for condition in holds {
                term = g.select(condition, term, never);
            }
            self.env.terms.list[place].1 = term;
        }
        self.sink.graph = g;
    }

    /// Why there is nothing to standardise.
    fn cannot(&self, name: &str) -> Abort {
        let found =
            self.context.program.parameters.iter().find(|declaration| {
                *self.context.program.variable(declaration.variable).name == *name
            });
        let Some(declaration) = found else {
            let names: Vec<String> =
                self.sink.layout.iter().map(|e| format!("`{}`", e.name)).collect();
            let message =
                format!("`{name}` cannot be non-centred: the program has no such parameter");
            let diagnostic = Diagnostic::error(Class::Runtime, Span::default(), message)
                .help(format!("its parameters are {}", names.join(", ")));
            return Abort::Mistake(Box::new(diagnostic));
        };
        let span = declaration.span;
        let entry = self.sink.layout.iter().zip(&self.context.program.parameters);
        let plain = entry.map(|(entry, d)| (entry.input, d)).any(|(input, d)| {
            let value = self.env.stores[d.variable.0 as usize].as_ref();
            d.variable == declaration.variable && value.is_some_and(|s| s.is_node(input))
        });
        if !plain {
            let message =
                format!("`{name}` cannot be non-centred: its declaration has a constraint");
            return refused(span, message);
        }
        let with_location = families().filter(|family| family.location.is_some());
        let families: Vec<&str> = with_location.map(|family| family.name).collect();
        let message = format!(
            "`{name}` cannot be non-centred: no statement `{name} ~ family(location, scale)` of all of it stands in the model"
        );
        let diagnostic = Diagnostic::error(Class::Runtime, span, message)
            .help(format!("families are {}", families.join(", ")));
        Abort::Mistake(Box::new(diagnostic))
    }
}

/// Lets the way back end in z = (value - location) / scale.
fn step_back(
    graph: &Graph,
    prior: &Prior,
    layout: &[exmc_model::LayoutEntry],
    index: usize,
    inverse: &mut Inverse,
) {
    let outputs = inverse.outputs.clone();
    let known = |_: &mut Graph, _, name: &str| {
        let k = layout.iter().position(|entry| entry.name == name);
        Ok::<_, GraphError>(k.map(|k| outputs[k]))
    };
    let g = &mut inverse.graph;
    let base = g.import(graph, &[prior.location, prior.scale], known);
    let base = base.expect("unconstrained values have the shapes of their inputs");
    let shift = g.sub(outputs[index], base[0]);
    let shape = g.shape(shift).clone();
    inverse.outputs[index] = match prior.kind {
        Scale::Elements => g.div(shift, base[1]),
        Scale::Factor | Scale::Covariance => {
            let columns = rows(g, shift, &shape);
            let columns = g.transpose(columns);
            let solved = g.triangular_solve(base[1], columns, false);
            let solved = g.transpose(solved);
            g.reshape(solved, shape)
        }
    };
}

/// Vectors one in a row: an array of them as a matrix.
fn rows(g: &mut Graph, x: NodeId, shape: &Shape) -> NodeId {
    let columns = shape.extents().last().copied().unwrap_or(1);
    g.reshape(x, [shape.len() / columns.max(1), columns])
}

/// The input that a node is all of, in its order.
fn whole_input(graph: &Graph, mut node: NodeId) -> Option<NodeId> {
    loop {
        match (&graph.node(node).op, graph.node(node).args.as_slice()) {
            (Op::Input { role: Role::Parameter, .. }, _) => return Some(node),
            (Op::Reshape(_), [inner]) => node = *inner,
            _ => return None,
        }
    }
}

fn refused(span: Span, message: String) -> Abort {
    Abort::Mistake(Box::new(Diagnostic::error(Class::Runtime, span, message)))
}
