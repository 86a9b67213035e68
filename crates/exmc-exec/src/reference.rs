//! The reference executor: a plan and a frame of slots -> values, one whole operation after the
//! other.
//!
//! A frame is all the memory that a run needs, made once; a run allocates nothing (an error's text
//! excepted). A step takes its result's slot out of the frame while it reads the others.

use std::sync::Arc;

use exmc_graph::kernels::{Arg, concat_into, evaluate_into};
use exmc_graph::{Dependence, EvaluateError, Graph, NodeId, Op, Precision, Shape, Tensor};

use crate::error::CompileError;
use crate::native::Targets;
use crate::plan::{Loop, Plan, Source, Step, Time, plan};
use crate::precision::precisions;

/// A planned graph, with where its parameters lie in a position.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) plan: Plan,
    /// The precision of every node; nothing if that is `f64`.
    precisions: Vec<Precision>,
    /// Slots of the parameters that are read, with their offsets in the position.
    inputs: Vec<(usize, usize)>,
}

impl Program {
    /// Plans the roots of a graph; `offset` says where a parameter lies in the position.
    ///
    /// # Errors
    /// When a parameter that is read lies nowhere.
    pub(crate) fn new(
        graph: &Graph,
        roots: &[NodeId],
        precision: Precision,
        offset: &dyn Fn(NodeId) -> Option<usize>,
    ) -> Result<Self, CompileError> {
        let time_of = |dependence| match dependence {
            Dependence::Parameter => Time::Step,
            _ => Time::Shared,
        };
        let time: Vec<Time> = graph.nodes().iter().map(|node| time_of(node.dependence)).collect();
        let precisions = precisions(precision, graph, roots);
        let plan = plan(graph, roots, &time, &precisions);
        let plan = plan.map_err(|error| CompileError::new(error.message()))?;
        let input = |&(id, slot): &(NodeId, usize)| {
            let nowhere = || CompileError::new(format!("no offset: {}", graph.print_node(id)));
            Ok((slot, offset(id).ok_or_else(nowhere)?))
        };
        let inputs = plan.inputs.iter().map(input).collect::<Result<_, _>>()?;
        Ok(Self { plan, precisions, inputs })
    }

    /// Whether anything is computed in `f32`.
    pub(crate) fn rounds(&self) -> bool {
        self.precisions.contains(&Precision::F32)
    }

    /// A value that is known before any parameter, as this executor keeps it.
    pub(crate) fn rounded(&self, id: NodeId, value: Tensor) -> Tensor {
        let precision = self.precisions.get(id.index()).copied().unwrap_or_default();
        if precision == Precision::F64 {
            return value;
        }
        let rounded: Vec<f64> = value.values().iter().map(|&x| precision.round(x)).collect();
        Tensor::real(value.shape().clone(), rounded).expect("as many numbers as before")
    }

    /// Evaluates all roots at a position and copies those that are results.
    #[inline(never)]
    pub(crate) fn run(
        &self,
        frame: &mut Frame,
        shared: &[Tensor],
        position: &[f64],
        (targets, results): (&Targets, &mut [f64]),
    ) -> Result<(), EvaluateError> {
        for &(slot, offset) in &self.inputs {
            let input = frame.input(slot);
            input.copy_from_slice(&position[offset..offset + input.len()]);
        }
        frame.run(&self.plan, shared)?;
        for &(root, start, len) in targets {
            let value = frame.value(self.plan.roots[root], shared);
            results[start..start + len].copy_from_slice(value);
        }
        Ok(())
    }
}

/// Scratch memory of one plan.
#[derive(Debug, Default)]
pub(crate) struct Frame {
    slots: Vec<Vec<f64>>,
    /// One per loop: its body's frame and its carries.
    loops: Vec<LoopFrame>,
}

#[derive(Debug, Default)]
struct LoopFrame {
    body: Frame,
    carries: Vec<Vec<f64>>,
}

/// Values that were known before the run.
pub(crate) type Shared = Arc<[Tensor]>;

impl Frame {
    /// Memory for a plan, zeros.
    pub(crate) fn new(plan: &Plan) -> Self {
        let zeros = |n: &usize| vec![0.0; *n];
        let of_loop = |l: &Loop| LoopFrame {
            body: Self::new(&l.body),
            carries: l.carries.iter().map(zeros).collect(),
        };
        Self {
            slots: plan.slots.iter().map(zeros).collect(),
            loops: plan.loops.iter().map(of_loop).collect(),
        }
    }

    /// Memory of an input's slot, for the caller to fill.
    pub(crate) fn input(&mut self, slot: usize) -> &mut [f64] {
        &mut self.slots[slot]
    }

    /// A value after a run.
    pub(crate) fn value<'a>(&'a self, source: Source, shared: &'a [Tensor]) -> &'a [f64] {
        match source {
            Source::Slot(slot) => &self.slots[slot],
            Source::Shared(number) => shared[number].values(),
        }
    }

    /// Runs all of a plan's steps.
    pub(crate) fn run(&mut self, plan: &Plan, shared: &[Tensor]) -> Result<(), EvaluateError> {
        self.run_steps(plan, &plan.head, shared)?;
        self.run_steps(plan, &plan.steps, shared)
    }

    fn run_steps(
        &mut self,
        plan: &Plan,
        steps: &[Step],
        shared: &[Tensor],
    ) -> Result<(), EvaluateError> {
        for step in steps {
            match step {
                Step::Apply { op, args, shape, out, precision } => {
                    let mut result = std::mem::take(&mut self.slots[*out]);
                    let outcome = self.apply(op, args, shape, shared, &mut result);
                    if *precision != Precision::F64 {
                        result.iter_mut().for_each(|x| *x = precision.round(*x));
                    }
                    self.slots[*out] = result;
                    outcome?;
                }
                Step::Scan { number, args, outputs } => {
                    let mut frame = std::mem::take(&mut self.loops[*number]);
                    let outcome =
                        self.scan(&plan.loops[*number], args, outputs, shared, &mut frame);
                    self.loops[*number] = frame;
                    outcome?;
                }
            }
        }
        Ok(())
    }

    fn apply(
        &self,
        op: &Op,
        args: &[(Source, Shape)],
        shape: &Shape,
        shared: &[Tensor],
        out: &mut [f64],
    ) -> Result<(), EvaluateError> {
        let arg = |k: usize| Arg { shape: &args[k].1, values: self.value(args[k].0, shared) };
        match (op, args.len()) {
            (Op::Concat { axis }, n) => {
                concat_into(*axis, shape, (0..n).map(arg), out);
                Ok(())
            }
            (_, 1) => evaluate_into(op, &[arg(0)], shape, out),
            (_, 2) => evaluate_into(op, &[arg(0), arg(1)], shape, out),
            _ => evaluate_into(op, &[arg(0), arg(1), arg(2)], shape, out),
        }
    }

    /// Runs a loop; its body's frame and carries are `frame`, everything else is in `self`.
    fn scan(
        &mut self,
        plan: &Loop,
        args: &[Source],
        outputs: &[Option<usize>],
        shared: &[Tensor],
        frame: &mut LoopFrame,
    ) -> Result<(), EvaluateError> {
        let LoopFrame { body, carries } = frame;
        for (carry, &arg) in carries.iter_mut().zip(args) {
            carry.copy_from_slice(self.value(arg, shared));
        }
        for &(slot, arg) in &plan.fixed_slots {
            body.input(slot).copy_from_slice(self.value(args[arg], shared));
        }
        body.run_steps(&plan.body, &plan.body.head, &plan.shared)?;
        let n_carries = carries.len();
        let (next, stacked) = plan.body.roots.split_at(n_carries);
        for step in 0..plan.length {
            let row_index = if plan.reverse { plan.length - 1 - step } else { step };
            for &(slot, carry) in &plan.carry_slots {
                body.input(slot).copy_from_slice(&carries[carry]);
            }
            for &(slot, arg) in &plan.sequence_slots {
                let row = body.input(slot);
                let width = row.len();
                let rows = self.value(args[arg], shared);
                row.copy_from_slice(&rows[row_index * width..(row_index + 1) * width]);
            }
            body.run_steps(&plan.body, &plan.body.steps, &plan.shared)?;
            for (carry, &source) in carries.iter_mut().zip(next) {
                carry.copy_from_slice(body.value(source, &plan.shared));
            }
            for ((&source, &width), out) in
                stacked.iter().zip(&plan.stacked).zip(&outputs[n_carries..])
            {
                if let Some(slot) = out {
                    self.slots[*slot][row_index * width..(row_index + 1) * width]
                        .copy_from_slice(body.value(source, &plan.shared));
                }
            }
        }
        for (carry, out) in carries.iter().zip(outputs) {
            if let Some(slot) = out {
                self.slots[*slot].copy_from_slice(carry);
            }
        }
        Ok(())
    }
}
