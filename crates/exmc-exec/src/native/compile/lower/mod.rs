//! Lowering: groups of values -> stages of instructions with places.

mod arena;
mod calls;
mod codes;
mod fuse;
mod instructions;
mod linear_scan;
mod log_sum_exp_scan;
mod scans;
mod shards;
mod shares;
mod single_precision;
mod terms;

pub(in crate::native) use arena::Reuse;
use arena::{Arena, lines};
pub(in crate::native) use codes::code_of;
use exmc_graph::{Graph, NodeId, Op, Precision, Tensor};
use fuse::fuse;
use instructions::Builder;
pub(in crate::native) use log_sum_exp_scan::is_markov;
use rustc_hash::FxHashSet;
use terms::Term;

use super::loop_ir::{Compute, Index, Kind, Matrix, Usage, Value, View, values};
use super::registers::assign_registers;
use super::schedule::{Group, levels, ready, same_loop};
use crate::error::CompileError;
use crate::native::program::{
    Extra, IndexPart, LANES, Loop, Part, Place, Program, Region, Scan, Stage, verify,
};

/// Elements of a block, where nothing else decides.
const BLOCK: usize = 256;
/// Loops of at most so many elements are one block.
const SINGLE: usize = 512;
/// Numbers of a matrix that one block reads, so that they are still in the first-level cache when
/// the transpose reads them again.
const TILE_NUMBERS: usize = 2048;

/// Arrays that a loop takes parts of before it computes: a block of each must stay in the
/// first-level cache meanwhile.
const MAX_TAKEN: usize = 8;

/// Compiles the nodes that `roots` need, at a precision; `offset` gives the place of a parameter in
/// the position, and `is_ordinary` says whether all its elements have an exponential that is a
/// normal number.
///
/// # Errors
/// When the graph is too large for the program's 32-bit offsets, a loop's body cannot be planned,
/// or an operation has neither an instruction nor a kernel over whole arrays (our bug).
pub(crate) fn lower(
    graph: &Graph,
    roots: &[NodeId],
    precision: Precision,
    offset: &dyn Fn(NodeId) -> Option<usize>,
    is_ordinary: &dyn Fn(NodeId) -> bool,
) -> Result<Program, CompileError> {
    let program = lower_with(Reuse::Allowed, graph, roots, precision, offset, is_ordinary)?;
    let fault = |why: String| CompileError::new(format!("after lower: {why}"));
    let reads = verify(&program).map_err(fault)?;
    if cfg!(debug_assertions) {
        // Too large a program may have no such one.
        let other = lower_with(Reuse::Never, graph, roots, precision, offset, is_ordinary);
        if let Ok(other) = other {
            same_reads(&reads, &verify(&other).map_err(fault)?).map_err(fault)?;
        }
    }
    Ok(program)
}

/// Whether everything that a program reads was written by the instruction that wrote it in one of
/// which every value has memory of its own.
fn same_reads(reads: &[u32], expected: &[u32]) -> Result<(), String> {
    if reads.len() != expected.len() {
        return Err(format!("{} reads, expected {}", reads.len(), expected.len()));
    }
    match reads.iter().zip(expected).position(|(found, expected)| found != expected) {
        None => Ok(()),
        Some(k) => Err(format!(
            "read {k} takes what instruction {} wrote, and means what {} wrote",
            reads[k], expected[k]
        )),
    }
}

fn lower_with(
    reuse: Reuse,
    graph: &Graph,
    roots: &[NodeId],
    precision: Precision,
    offset: &dyn Fn(NodeId) -> Option<usize>,
    is_ordinary: &dyn Fn(NodeId) -> bool,
) -> Result<Program, CompileError> {
    let (values, views) =
        values(graph, roots, false).map_err(|error| CompileError::new(error.message()))?;
    let mut lowering = Lowering {
        graph,
        values: &values,
        precisions: single_precision::precisions(precision, graph, &values),
        ready: ready(&values),
        places: vec![None; values.len()],
        // The first line is nobody's, so that no place equals `Place::NONE`.
        arena: Arena::starting_at(LANES, reuse),
        is_body: false,
        ordinary: FxHashSet::default(),
        shared: 0,
        parts: Vec::new(),
        constants: Vec::new(),
        indices: Vec::new(),
        matrices: Vec::new(),
        scans: Vec::new(),
    };
    let mut inputs = Vec::new();
    for (k, value) in values.iter().enumerate() {
        match value.work {
            Compute::Shared(node) => lowering.pack(k, node),
            Compute::Input(node) => {
                lowering.ordinary.extend(is_ordinary(node).then_some(k));
                let place = lowering.allocate(k);
                inputs.push((offset(node).unwrap_or(usize::MAX), value.len, place));
            }
            _ => {}
        }
    }
    let mut stages = lowering.lower_stages()?;
    let roots = views.iter().map(|&view| (lowering.place(view), view.len)).collect();
    for stage in &mut stages {
        if let Stage::Loop(l) = stage {
            shards::split(l, |len| lowering.reserve(len).offset);
        }
    }
    // Registers of all loops share the end of the arena.
    let first = lowering.arena.end();
    let end = assign_all(&mut stages, first, reuse);
    let Lowering { parts, constants, indices, shared, scans, .. } = lowering;
    // Offsets in the shared region may count halves.
    let limit = if precision == Precision::F64 { u32::MAX as usize } else { u32::MAX as usize / 2 };
    if end >= limit || shared >= limit {
        return Err(CompileError::too_large(format!(
            "the model needs {} numbers of memory, the native executor has at most {limit}",
            end.max(shared)
        )));
    }
    Ok(Program {
        stages,
        scans,
        arena: end,
        thread_start: first,
        shared,
        parts,
        constants,
        indices,
        inputs,
        roots,
        is_narrow: false,
    })
}

/// Assigns the registers of all loops from `first` on; their end.
fn assign_all(stages: &mut [Stage], first: usize, reuse: Reuse) -> usize {
    let mut end = first;
    for stage in stages {
        end = end.max(match stage {
            Stage::Loop(l) => assign_registers(l, first, reuse),
            Stage::ScanLoop(repeat) => assign_all(&mut repeat.body, first, reuse),
            Stage::Call(_) | Stage::Scan(_) => first,
            Stage::Recurrence(_) | Stage::LogSumExpScan(_) | Stage::LinearScan(_) => first,
        });
    }
    end
}

struct Lowering<'a> {
    graph: &'a Graph,
    values: &'a [Value],
    /// At which precision values are computed.
    precisions: Vec<Precision>,
    /// When values are there, at the earliest.
    ready: Vec<u32>,
    /// Where values in memory are (of registers: while their loop is lowered).
    places: Vec<Option<Place>>,
    arena: Arena,
    /// Whether the values are those of a loop's body, which runs again after its last stage.
    is_body: bool,
    /// Parameters whose exponentials are normal numbers.
    ordinary: FxHashSet<usize>,
    shared: usize,
    parts: Vec<Part>,
    constants: Vec<(Tensor, usize)>,
    indices: Vec<IndexPart>,
    matrices: Vec<(Matrix, Precision, usize)>,
    scans: Vec<Scan>,
}

/// The place of so many elements of the arena.
fn in_arena(offset: usize, len: usize) -> Place {
    let (stream, step) = (len != 1, if len == 1 { 0 } else { 8 });
    Place { region: Region::Arena, stream, step, offset: narrow(offset) }
}

/// For every group, the values that it is the last to read, or to compute where nobody reads them.
fn last_read(values: &[Value], groups: &[(Group, Vec<usize>)]) -> Vec<Vec<usize>> {
    let mut group_of = vec![0; values.len()];
    for (number, (_, members)) in groups.iter().enumerate() {
        members.iter().for_each(|&k| group_of[k] = number);
    }
    let mut last = vec![Vec::new(); groups.len()];
    for (k, value) in values.iter().enumerate() {
        if !value.root && value.kind() != Kind::Input {
            let readers = value.readers.iter().map(|&(reader, _)| group_of[reader]);
            last[readers.fold(group_of[k], usize::max)].push(k);
        }
    }
    last
}

fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

impl Lowering<'_> {
    /// The stages of all values, in the order in which they run.
    fn lower_stages(&mut self) -> Result<Vec<Stage>, CompileError> {
        for value in self.values {
            if let Compute::Map(op) = &value.work {
                code_of(op)?;
            }
        }
        let groups = levels(self.values);
        let last_read = if self.is_body { Vec::new() } else { last_read(self.values, &groups) };
        let mut stages = Vec::new();
        for (number, (group, members)) in groups.into_iter().enumerate() {
            match group {
                Group::Loop(n) => {
                    if let Some(stage) = self.lower_loop(n, &members) {
                        stages.push(Stage::Loop(stage));
                    }
                }
                Group::Call(k) => stages.extend(self.lower_call(k)?),
            }
            for &k in last_read.get(number).into_iter().flatten() {
                self.give_back(k);
            }
        }
        Ok(stages)
    }

    /// Gives back the memory of a value that nobody reads any more.
    fn give_back(&mut self, k: usize) {
        if let Some(Place { region: Region::Arena, offset, .. }) = self.places[k].take() {
            self.arena.give_back(offset as usize, self.values[k].len);
        }
    }

    /// Memory for a value: a line for one element, an array otherwise.
    fn allocate(&mut self, value: usize) -> Place {
        let len = self.values[value].len;
        let offset = self.arena.take(len);
        self.keep(value, offset)
    }

    /// The same behind everything that the value is computed from.
    fn allocate_behind(&mut self, value: usize) -> Place {
        let len = self.values[value].len;
        let offset = self.arena.reserve(len);
        self.keep(value, offset)
    }

    fn keep(&mut self, value: usize, offset: usize) -> Place {
        let place = in_arena(offset, self.values[value].len);
        self.places[value] = Some(place);
        place
    }

    /// Memory that is nobody else's.
    fn reserve(&mut self, len: usize) -> Place {
        in_arena(self.arena.reserve(len), len)
    }

    /// Lines of which only a sum over lanes knows.
    fn reserve_lines(&mut self, count: usize) -> Place {
        let first = self.reserve(1);
        (1..count).for_each(|_| {
            self.reserve(1);
        });
        first
    }

    /// A place in the shared region for a node that is known when data are bound.
    fn pack(&mut self, value: usize, node: NodeId) {
        let len = self.values[value].len;
        if self.precisions[value] == Precision::F32 {
            let offset = 2 * self.shared;
            let (region, offset_there) = (Region::Single, narrow(offset));
            let place = Place { region, stream: true, step: 8, offset: offset_there };
            self.parts.push(Part::Singles { node, offset, len });
            self.shared += lines(len.next_multiple_of(2 * LANES) / 2);
            self.places[value] = Some(place);
            return;
        }
        let (stream, step) = (len != 1, if len == 1 { 0 } else { 8 });
        let place = Place { region: Region::Shared, stream, step, offset: narrow(self.shared) };
        let original = self.graph.node(node);
        let (node, stretched) = match original.op {
            Op::Broadcast(_) if len != 1 => (original.args[0], Some(original.shape.clone())),
            _ => (node, None),
        };
        self.parts.push(Part::Array { node, offset: self.shared, stretched });
        self.shared += lines(len);
        self.places[value] = Some(place);
    }

    /// Where a view's first element is.
    fn place(&self, view: View) -> Place {
        let place = self.places[view.value].expect("operands are computed before their readers");
        Place { offset: place.offset + narrow(view.offset), ..place }
    }

    /// The packed matrix that the value `k` reads.
    fn matrix(&mut self, k: usize, matrix: Matrix) -> Extra {
        let (precision, columns) = (self.precisions[k], matrix.columns);
        let same = |(known, known_precision, _): &&(Matrix, Precision, usize)| {
            (*known, *known_precision) == (matrix, precision)
        };
        if let Some(&(_, _, offset)) = self.matrices.iter().find(same) {
            return Extra::Matrix { offset, columns };
        }
        let offset = self.shared;
        self.shared += match precision {
            Precision::F32 => matrix.rows.next_multiple_of(2 * LANES) / 2 * columns,
            _ => matrix.rows.next_multiple_of(LANES) * columns,
        };
        self.matrices.push((matrix, precision, offset));
        self.parts.push(Part::Tiles { matrix, offset, precision });
        Extra::Matrix { offset, columns }
    }

    fn terms(&self, terms: &[Term]) -> Extra {
        let terms = terms.iter().map(|term| {
            let mut factors = [Place::NONE; 3];
            for (place, &view) in factors.iter_mut().zip(&term.factors) {
                *place = self.place(view);
            }
            (factors, term.negative)
        });
        Extra::Terms(terms.collect())
    }

    fn index(&mut self, index: &Index, len: usize, extent: usize, block: Option<usize>) -> Extra {
        let part = IndexPart { index: index.clone(), len, extent, block };
        self.indices.push(part);
        Extra::Index { number: self.indices.len() - 1, len: extent }
    }

    fn lower_loop(&mut self, n: usize, members: &[usize]) -> Option<Loop> {
        let columns = members.iter().filter_map(|&k| match self.values[k].work {
            Compute::MatVec(m) | Compute::MatTVec(m) => Some(m.columns),
            _ => None,
        });
        // As many bytes.
        let numbers = if self.is_single(members) { 2 * TILE_NUMBERS } else { TILE_NUMBERS };
        let block = match columns.max() {
            Some(columns) => (numbers / columns.max(1) / 32 * 32).clamp(32, BLOCK),
            None if n <= SINGLE => n.next_multiple_of(LANES).max(LANES),
            None => BLOCK,
        };
        let block = block.min(n.next_multiple_of(LANES).max(LANES));
        let single = (1..=LANES).contains(&n);
        let (body, extras, slots) = (Vec::new(), Vec::new(), Vec::new());
        let stage = Loop {
            n,
            block,
            body,
            extras,
            registers: 0,
            single,
            shards: 1,
            sink_elements: 0,
            slots,
        };
        let fused = fuse(self.values, members, &self.ready);
        let members_set = members.iter().copied().collect();
        let mut builder = Builder { stage, members: members_set, precision: Precision::F64 };
        for &k in members {
            if self.values[k].kind() == Kind::Elementwise && self.in_memory(k, &builder.members) {
                self.allocate(k);
            }
        }
        for &k in members.iter().filter(|k| !fused.absorbed.contains(k)) {
            builder.precision = self.precisions[k];
            self.emit(&mut builder, k, &fused);
        }
        if self.is_single(members) {
            builder.convert();
        }
        builder.order();
        // Values of registers mean nothing after the loop.
        for &k in members {
            if self.places[k].is_some_and(|place| place.region == Region::Register) {
                self.places[k] = None;
            }
        }
        (!builder.stage.body.is_empty()).then_some(builder.stage)
    }

    /// Whether a member's elements are needed after its block.
    fn in_memory(&self, k: usize, group: &FxHashSet<usize>) -> bool {
        let value = &self.values[k];
        let outside = |&(reader, usage): &(usize, Usage)| {
            !group.contains(&reader) || !same_loop(value, &self.values[reader], usage)
        };
        value.len == 1 || value.root || value.readers.iter().any(outside)
    }

    /// The place that a member writes to: its memory, or a new register.
    fn target(&mut self, builder: &mut Builder, k: usize) -> Place {
        if let Some(place) = self.places[k] {
            return place;
        }
        let place = builder.register();
        self.places[k] = Some(place);
        place
    }
}
