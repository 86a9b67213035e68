//! A model, its data and what is known of each draw -> a plan that draws the rest.
//!
//! Values lie one after the other in a row: those that draws give, then deterministic values and
//! variables to be drawn, each behind all that it needs. Nodes that need none of each other form a
//! level, whose expressions (arguments of distributions, deterministic values) are one compiled
//! function of the row so far. A draw is then, level by level, one call of the function and the
//! random numbers; nothing is looked up by name.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use exmc_exec::{BoundFunction, Executor, FunctionInstance, FunctionSource, compile_function};
use exmc_graph::{DType, Dependence, NodeId, Role, Shape, evaluate};
use exmc_math::random::{ChainRng, Phase};
use exmc_model::{Argument, Code, Diagnostic, Dist, Kind, Model, draw};

use crate::arrays::{DrawArray, DrawArrays};
use crate::compile::Values;
use crate::error::Error;
use crate::predict::by_chain;

/// How to draw a model's values.
pub(super) struct Forward<'m> {
    model: &'m Model,
    /// Data, and what follows from them alone.
    data: Values,
    slots: Vec<Slot<'m>>,
    /// Slots that draws give; they come first.
    known: usize,
    levels: Vec<Level<'m>>,
    width: usize,
}

/// A value's place in the row.
struct Slot<'m> {
    name: &'m str,
    shape: Shape,
    offset: usize,
}

impl Slot<'_> {
    fn range(&self) -> Range<usize> {
        self.offset..self.offset + self.shape.len()
    }
}

/// Nodes that need values before them only.
struct Level<'m> {
    /// Length of the row that its function reads.
    reads: usize,
    function: BoundFunction,
    /// Where each expression's value lies in what the function writes.
    outputs: BTreeMap<NodeId, (Range<usize>, Shape)>,
    steps: Vec<Step<'m>>,
}

/// What fills a slot.
enum Step<'m> {
    Compute { slot: usize, value: NodeId },
    Draw { slot: usize, dist: &'m Dist, restored: Option<(Option<NodeId>, NodeId)> },
}

/// The draws that give known values: for each of these names its first column and the rows of each
/// chain.
pub(super) struct Given<'a> {
    pub(super) columns: BTreeMap<&'a str, usize>,
    pub(super) width: usize,
    pub(super) chains: Vec<(u32, &'a [f64])>,
}

impl<'m> Forward<'m> {
    /// Plans to draw all that `wanted` needs and is not `known`.
    ///
    /// # Errors
    /// When an expression cannot be computed from the data.
    pub(super) fn new(
        model: &'m Model,
        data: &Values,
        known: &BTreeSet<&str>,
        wanted: &BTreeSet<&str>,
    ) -> Result<Self, Error> {
        let needs = needs(model);
        let needed = needed(&needs, known, wanted);
        let order: Vec<&str> = order(&needs).into_iter().filter(|n| needed.contains(n)).collect();
        let (slots, levels) = (Vec::new(), Vec::new());
        let mut plan = Self { model, data: data.clone(), slots, known: 0, levels, width: 0 };
        for name in order.iter().filter(|name| known.contains(*name)) {
            plan.push(name);
        }
        plan.known = plan.slots.len();
        let mut level: Vec<&'m str> = Vec::new();
        for name in order.into_iter().filter(|name| !known.contains(name)) {
            if plan.is_data(name) {
                plan.compute_data(name)?;
                continue;
            }
            if needs[name].iter().any(|needed| level.contains(needed)) {
                plan.close(std::mem::take(&mut level))?;
            }
            level.push(name);
        }
        plan.close(level)?;
        Ok(plan)
    }

    fn push(&mut self, name: &'m str) -> usize {
        let shape = self.model.shape_of(name).expect("nodes in the order have values").clone();
        let offset = self.width;
        self.width += shape.len();
        self.slots.push(Slot { name, shape, offset });
        self.slots.len() - 1
    }

    /// Whether expressions take a name for data.
    fn is_data(&self, name: &str) -> bool {
        let graph = self.model.graph();
        match self.model.nodes()[name].kind {
            Kind::Data(_) => true,
            Kind::Det(_) => graph
                .find_input(name)
                .is_some_and(|input| graph.dependence(input) == Dependence::Data),
            _ => false,
        }
    }

    /// What is computed from data once.
    fn compute_data(&mut self, name: &str) -> Result<(), Error> {
        let data = &mut self.data;
        let node = &self.model.nodes()[name];
        match &node.kind {
            Kind::Data(declared) => {
                if data.contains_key(name) {
                    return Ok(());
                }
                let message = || format!("no value was given for data `{name}`");
                let missing = || Diagnostic::new(Code::MissingData, message());
                let value = declared.value.clone();
                let value = value.ok_or_else(|| missing().at(name, &node.origin))?;
                data.insert(name.to_owned(), value);
            }
            Kind::Det(value) => {
                let made = evaluate(self.model.graph(), &[*value], &|n| data.get(n).cloned());
                let mut made = made.map_err(|e| {
                    Diagnostic::new(Code::BadArguments, e.message()).at(name, &node.origin)
                })?;
                data.insert(name.to_owned(), made.swap_remove(0));
            }
            _ => {}
        }
        Ok(())
    }

    /// Makes a level of nodes.
    fn close(&mut self, names: Vec<&'m str>) -> Result<(), Error> {
        if names.is_empty() {
            return Ok(());
        }
        let model = self.model;
        let mut graph = model.graph().clone();
        let mut parameters = Vec::new();
        for slot in &self.slots {
            let input = match graph.find_input(slot.name) {
                Some(input) => input,
                None => graph
                    .input(slot.name, Role::Parameter, slot.shape.clone(), DType::Real)
                    .map_err(|e| Error::internal(e.message()))?,
            };
            parameters.push((input, slot.offset));
        }
        let (reads, mut roots, mut steps) = (self.width, BTreeSet::new(), Vec::new());
        for name in &names {
            let slot = self.push(name);
            let shape = &self.slots[slot].shape;
            match &model.nodes()[*name].kind {
                Kind::Det(value) => {
                    roots.insert(*value);
                    steps.push(Step::Compute { slot, value: *value });
                }
                Kind::Rv(rv) => {
                    roots.extend(rv.dist.arguments());
                    let restored = rv.standardised.map(|s| {
                        let location = s.location.map(|l| graph.broadcast_to(l, shape));
                        (location, graph.broadcast_to(s.scale, shape))
                    });
                    roots.extend(restored.iter().flat_map(|(l, s)| l.iter().chain([s]).copied()));
                    steps.push(Step::Draw { slot, dist: &rv.dist, restored });
                }
                _ => unreachable!("only nodes with values are in the order"),
            }
        }
        let outputs: Vec<NodeId> = roots.into_iter().collect();
        let mut end = 0;
        let places = outputs.iter().map(|id| {
            let shape = graph.shape(*id).clone();
            let start = end;
            end += shape.len();
            (*id, (start..end, shape))
        });
        let places = places.collect();
        let source = FunctionSource { graph, outputs, parameters, dim: reads };
        let function = compile_function(Executor::default(), &source)?;
        let function = function.bind(&|name| self.data.get(name).cloned())?;
        self.levels.push(Level { reads, function, outputs: places, steps });
        Ok(())
    }

    /// The plan's values of so many draws, for each chain with a random stream of its own; those in
    /// `recorded`, in its order. Chains run side by side and do not depend on it.
    ///
    /// # Errors
    /// When a distribution cannot be drawn from.
    pub(super) fn run(
        &self,
        given: &Given<'_>,
        draws: usize,
        recorded: &[&str],
        (seed, phase): (u64, Phase),
    ) -> Result<DrawArrays, Error> {
        let slot_of = |name: &&str| self.slots.iter().position(|slot| slot.name == *name);
        let slots: Vec<usize> = recorded.iter().filter_map(slot_of).collect();
        let mut columns = by_chain(&given.chains, |number, rows| {
            let mut rng = ChainRng::new(seed, number, phase);
            self.chain(rows, given, draws, &slots, &mut rng)
        })?
        .into_iter();
        let n_chains = given.chains.len();
        let array = |name: &&str| {
            let (shape, values) = match (slot_of(name), self.data.get(*name)) {
                (Some(slot), _) => {
                    (self.slots[slot].shape.clone(), columns.next().unwrap_or_default())
                }
                // What follows from data is the same in every draw.
                (None, Some(value)) => {
                    (value.shape().clone(), value.values().repeat(n_chains * draws))
                }
                (None, None) => return None,
            };
            Some(((*name).to_owned(), DrawArray::new(n_chains, draws, shape, values)?))
        };
        let arrays: Option<DrawArrays> = recorded.iter().map(array).collect();
        arrays.ok_or_else(|| Error::internal("a predictive draw has another shape"))
    }

    /// The variables that draws give.
    pub(super) fn known(&self) -> impl Iterator<Item = (&'m str, &Shape)> {
        self.slots[..self.known].iter().map(|slot| (slot.name, &slot.shape))
    }

    fn chain(
        &self,
        rows: &[f64],
        given: &Given<'_>,
        draws: usize,
        recorded: &[usize],
        rng: &mut ChainRng,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let mut row = vec![0.0; self.width];
        let mut instances: Vec<(FunctionInstance, Vec<f64>)> = Vec::new();
        for level in &self.levels {
            let len = level.function.sizes().iter().sum();
            instances.push((level.function.instance(), vec![0.0; len]));
        }
        let mut columns: Vec<Vec<f64>> = recorded
            .iter()
            .map(|slot| Vec::with_capacity(draws * self.slots[*slot].shape.len()))
            .collect();
        for k in 0..draws {
            for slot in &self.slots[..self.known] {
                let column = k * given.width + given.columns[slot.name];
                row[slot.range()].copy_from_slice(&rows[column..column + slot.shape.len()]);
            }
            for (level, (instance, out)) in self.levels.iter().zip(&mut instances) {
                let evaluated = instance.evaluate(&row[..level.reads], out);
                evaluated.map_err(|e| Diagnostic::new(Code::BadArguments, e.to_string()))?;
                for step in &level.steps {
                    self.step(step, level, out, &mut row, rng)?;
                }
            }
            for (column, slot) in columns.iter_mut().zip(recorded) {
                column.extend_from_slice(&row[self.slots[*slot].range()]);
            }
        }
        Ok(columns)
    }

    fn step(
        &self,
        step: &Step<'_>,
        level: &Level<'_>,
        computed: &[f64],
        row: &mut [f64],
        rng: &mut ChainRng,
    ) -> Result<(), Error> {
        let value_of = |id: NodeId| {
            let (range, shape) = &level.outputs[&id];
            Argument { shape, values: &computed[range.clone()] }
        };
        match step {
            Step::Compute { slot, value } => {
                row[self.slots[*slot].range()].copy_from_slice(value_of(*value).values);
            }
            Step::Draw { slot, dist, restored } => {
                let slot = &self.slots[*slot];
                let slot_values = &mut row[slot.range()];
                draw(dist, rng, &value_of, &slot.shape, slot_values).map_err(|message| {
                    let origin = &self.model.nodes()[slot.name].origin;
                    Diagnostic::new(Code::BadArguments, message).at(slot.name, origin)
                })?;
                if let Some((location, scale)) = restored {
                    let scale = value_of(*scale).values;
                    slot_values.iter_mut().zip(scale).for_each(|(x, scale)| *x *= scale);
                    if let Some(location) = location {
                        let location = value_of(*location).values;
                        slot_values
                            .iter_mut()
                            .zip(location)
                            .for_each(|(x, location)| *x += location);
                    }
                }
            }
        }
        Ok(())
    }
}

/// What a plan reads of draws that give nothing.
pub(super) fn no_draws(n_chains: u32) -> Given<'static> {
    Given {
        columns: BTreeMap::new(),
        width: 0,
        chains: (0..n_chains).map(|chain| (chain, &[] as &[f64])).collect(),
    }
}

/// Names that drawing each node needs.
fn needs(model: &Model) -> BTreeMap<&str, Vec<&str>> {
    let mut needs: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, node) in model.nodes() {
        let roots = match &node.kind {
            Kind::Rv(rv) => {
                let restored =
                    rv.standardised.into_iter().flat_map(|s| [Some(s.scale), s.location]);
                rv.dist.arguments().into_iter().chain(restored.flatten()).collect()
            }
            Kind::Det(value) => vec![*value],
            Kind::Data(_) => Vec::new(),
            Kind::Obs(_) | Kind::Potential(_) => continue,
        };
        needs.insert(name, model.references(&roots).into_iter().collect());
    }
    needs
}

/// Nodes with values, each after those that drawing it needs: an order that depends on references
/// only, and on names among nodes that are ready at the same time.
fn order<'m>(needs: &BTreeMap<&'m str, Vec<&'m str>>) -> Vec<&'m str> {
    let mut order: Vec<&str> = Vec::new();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    while order.len() < needs.len() {
        let before = order.len();
        for (name, needed) in needs {
            if !done.contains(name) && needed.iter().all(|n| done.contains(n)) {
                order.push(name);
                done.insert(name);
            }
        }
        assert!(order.len() > before, "our bug: building refuses cycles");
    }
    order
}

/// All that the wanted nodes need, themselves included; nothing behind known ones.
fn needed<'m>(
    needs: &BTreeMap<&'m str, Vec<&'m str>>,
    known: &BTreeSet<&str>,
    wanted: &BTreeSet<&str>,
) -> BTreeSet<&'m str> {
    let mut waiting: Vec<&str> =
        needs.keys().copied().filter(|name| wanted.contains(name)).collect();
    let mut all = BTreeSet::new();
    while let Some(name) = waiting.pop() {
        if all.insert(name) && !known.contains(name) {
            waiting.extend(&needs[name]);
        }
    }
    all
}
