//! Calls: values that are computed as a whole -> stages that call a kernel or run a scan.

use std::sync::Arc;

use exmc_graph::{Graph, NodeId, Op, Role, Shape};

use super::Lowering;
use crate::error::CompileError;
use crate::native::compile::loop_ir::Compute;
use crate::native::program::{Call, Scan, Stage};
use crate::native::run::kernels::Kernel;
use crate::plan::{Source, Time, plan};

impl Lowering<'_> {
    pub(super) fn lower_call(&mut self, k: usize) -> Result<Option<Stage>, CompileError> {
        let value = &self.values[k];
        Ok(match &value.work {
            Compute::Call(op) => {
                let node = self.graph.node(value.node);
                let shapes: Vec<Shape> =
                    node.args.iter().map(|&arg| self.graph.shape(arg).clone()).collect();
                let kernel = Kernel::of(op, &shapes, &node.shape);
                let places = value.operands.iter().map(|operand| self.place(operand.0));
                let args = places.zip(shapes).collect();
                let scratch = self.reserve(kernel.as_ref().map_or(0, Kernel::scratch));
                // What has no kernel is given its arguments in one slice, and its result in the one
                // behind.
                let out = match kernel {
                    Some(_) => self.allocate(k),
                    None => self.allocate_behind(k),
                };
                let (op, shape) = (op.clone(), node.shape.clone());
                Some(Stage::Call(Arc::new(Call { op, args, out, shape, kernel, scratch })))
            }
            Compute::Scan(op) => Some(self.lower_scan(k, op)?),
            // A scan writes its outputs itself.
            _ => None,
        })
    }

    /// A scan as a plan of its own for the reference machinery, whose inputs are the scan's
    /// arguments.
    pub(super) fn lower_plan(&mut self, k: usize, op: &Op) -> Result<Stage, CompileError> {
        let fits = "the scan was well formed in the graph that it comes from";
        let value = &self.values[k];
        let node = self.graph.node(value.node);
        let mut graph = Graph::new();
        let mut args = Vec::new();
        for (j, &arg) in node.args.iter().enumerate() {
            let from = self.graph.node(arg);
            let input = graph.input(&j.to_string(), Role::Data, from.shape.clone(), from.dtype);
            args.push(input.expect(fits));
        }
        let scan = graph.apply(op.clone(), &args).expect(fits);
        let mut outputs = Vec::new();
        for (output, other) in self.values.iter().enumerate() {
            if let Compute::Output { scan: owner, number } = other.work
                && owner == k
            {
                outputs.push((output, graph.apply(Op::Project(number), &[scan]).expect(fits)));
            }
        }
        let roots: Vec<NodeId> = outputs.iter().map(|(_, node)| *node).collect();
        let plan = plan(&graph, &roots, &vec![Time::Step; graph.len()], &[])
            .map_err(|error| CompileError::new(error.message()))?;
        let slots = plan.inputs.iter().map(|&(id, slot)| {
            let j = args.iter().position(|&arg| arg == id).expect("inputs are the arguments");
            let view = value.operands[j].0;
            (slot, self.place(view), view.len)
        });
        let args: Vec<_> = slots.collect();
        let sources: Vec<Source> = plan.roots.clone();
        let outputs = outputs
            .iter()
            .zip(sources)
            .map(|(&(output, _), source)| (source, self.allocate(output), self.values[output].len))
            .collect();
        self.scans.push(Scan { plan, args, outputs });
        Ok(Stage::Scan(self.scans.len() - 1))
    }
}
