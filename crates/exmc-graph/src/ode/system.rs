//! A right-hand side compiled with its Jacobians -> the coupled system that the solvers step.

use exmc_math::linear::add_scaled;
use exmc_math::{DaeSystem, OdeFailure, OdeSystem, OdeWorkspace};

use super::OdeLayout;
use super::code::{Builder, Program, Register};
use super::flow::CompiledFlow;
use super::scalars::scalars;
use super::unroll::unroll;
use crate::differentiate::differentiate;
use crate::graph::{Graph, GraphError, NodeId};
use crate::op::Role;
use crate::simplify::fold_constants;
use crate::tensor::DType;

/// An entry of a matrix that is not zero by structure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) register: Register,
}

/// Code of the slope, and of the slope with its derivatives.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) slope: Program,
    pub(super) all: Program,
    /// Registers of the slope.
    pub(super) slopes: Vec<Register>,
    /// $\partial f/\partial y$, and $\partial f/\partial v$ for the values that vary.
    pub(super) jacobian: Vec<Entry>,
    pub(super) forcing: Vec<Entry>,
    /// Of a residual, $\partial F/\partial\dot y$.
    mass: Vec<Entry>,
    /// Constants in place.
    pub(super) registers: Vec<f64>,
}

/// Which derivatives of a body a solver asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Those that sensitivities need.
    Sensitivities,
    /// Those by the states in any case.
    Jacobian,
    /// Those by states and slopes in any case.
    BothJacobians,
}

/// Memory of one solution.
#[derive(Debug, Default)]
pub(super) struct Run {
    registers: Vec<f64>,
    start: Vec<f64>,
    work: OdeWorkspace,
}

impl Compiled {
    /// Compiles a body.
    pub(super) fn new(
        graph: &Graph,
        slope: NodeId,
        layout: &OdeLayout,
        needs: Needs,
    ) -> Result<Self, GraphError> {
        let OdeLayout { states: n, values: m, .. } = *layout;
        let is_residual = needs == Needs::BothJacobians;
        // The last values of a residual's problem are the initial slopes: they stand where the
        // body's slopes are.
        let m = if is_residual { m - n } else { m };
        if *graph.shape(slope) != [n].into() {
            let shape = graph.shape(slope);
            return Err(GraphError::new(format!("ode: the slope is {shape}, of [{n}] states")));
        }
        let (mut g, slope) = unroll(graph, slope)?;
        let mut roots = vec![slope];
        let mut wanted = 0;
        if needs != Needs::Sensitivities || layout.columns() > 0 {
            let mut by = vec![g.input("y", Role::Parameter, [n].into(), DType::Real)?];
            let values = g.input("values", Role::Parameter, [m].into(), DType::Real)?;
            if is_residual {
                by.push(g.input("yp", Role::Parameter, [n].into(), DType::Real)?);
            }
            if layout.varying > 0 {
                by.push(values);
            }
            wanted = by.len();
            for i in 0..n {
                let component = g.slice(slope, 0, i, i + 1);
                let component = g.reshape(component, []);
                roots.extend(differentiate(&mut g, component, &by)?);
            }
        }
        let (g, roots) = fold_constants(&g, &roots);
        let mut builder = Builder::new(1 + n + layout.values);
        let inputs = |name: &str| {
            let numbers = match name {
                "t" => 0..1,
                "y" => 1..1 + n,
                "values" => 1 + n..1 + n + m,
                "yp" if is_residual => 1 + n + m..1 + n + m + n,
                _ => return None,
            };
            numbers.map(|k| Register::try_from(k).ok()).collect::<Option<Vec<_>>>()
        };
        let all = scalars(&mut builder, &g, &roots, &inputs)?;
        let registers_of = |root: NodeId| &*all[root.index()];
        let mut outputs = registers_of(roots[0]).to_vec();
        let slopes = outputs.clone();
        let (mut jacobian, mut forcing) = (Vec::new(), Vec::new());
        let mut mass = Vec::new();
        for (row, gradient) in roots[1..].chunks(wanted.max(1)).enumerate() {
            let entries = |registers: &[Register]| {
                let entries = registers.iter().enumerate();
                let entries = entries.map(|(column, &register)| Entry { row, column, register });
                entries.filter(|e| builder.known(e.register) != Some(0.0)).collect::<Vec<_>>()
            };
            let mut gradient = gradient.iter().map(|&root| registers_of(root));
            jacobian.extend(gradient.next().map(entries).into_iter().flatten());
            if is_residual {
                mass.extend(gradient.next().map(entries).into_iter().flatten());
            }
            if let Some(values) = gradient.next() {
                forcing.extend(entries(&values[..layout.varying]));
            }
        }
        let entries = jacobian.iter().chain(&forcing).chain(&mass);
        outputs.extend(entries.map(|entry| entry.register));
        Ok(Self {
            slope: builder.program(&slopes),
            all: builder.program(&outputs),
            slopes,
            jacobian,
            forcing,
            mass,
            registers: builder.registers(),
        })
    }

    /// The system for these values; slopes of coupled vectors come from `flow` where there is one.
    pub(super) fn system<'a>(
        &'a self,
        layout: &'a OdeLayout,
        registers: &'a mut Vec<f64>,
        values: &[f64],
        flow: Option<&'a dyn CompiledFlow>,
    ) -> System<'a> {
        registers.clone_from(&self.registers);
        let first = 1 + layout.states;
        registers[first..first + values.len()].copy_from_slice(values);
        if let Some(flow) = flow {
            flow.begin(values);
        }
        System { compiled: self, layout, registers, flow }
    }
}

impl Run {
    /// Memory for the registers, for the coupled initial state, and for the solver.
    pub(super) fn parts(&mut self) -> (&mut Vec<f64>, &mut Vec<f64>, &mut OdeWorkspace) {
        (&mut self.registers, &mut self.start, &mut self.work)
    }
}

/// A right-hand side at given values.
pub(super) struct System<'a> {
    compiled: &'a Compiled,
    layout: &'a OdeLayout,
    registers: &'a mut [f64],
    flow: Option<&'a dyn CompiledFlow>,
}

impl System<'_> {
    /// The coupled initial state: the sensitivity of $y(t_0)$ is the identity, that to $t_0$ is
    /// $-f(t_0, y_0)$.
    pub(super) fn start(&mut self, t0: f64, states: &[f64], coupled: &mut Vec<f64>) {
        let (n, s) = (states.len(), self.layout.columns());
        coupled.clear();
        coupled.resize(n * (1 + s), 0.0);
        coupled[..n].copy_from_slice(states);
        if self.layout.start {
            (0..n).for_each(|i| coupled[n + i * s + i] = 1.0);
        }
        if self.layout.initial_time {
            self.run(&self.compiled.slope, t0, states);
            for (i, &register) in self.compiled.slopes.iter().enumerate() {
                coupled[n + i * s + s - 1] = -self.registers[register as usize];
            }
        }
    }

    fn run(&mut self, program: &Program, t: f64, y: &[f64]) {
        self.registers[0] = t;
        self.registers[1..=y.len()].copy_from_slice(y);
        program.run(self.registers);
    }

    fn read_slopes(&self, dy: &mut [f64]) {
        for (dy, &register) in dy.iter_mut().zip(&self.compiled.slopes) {
            *dy = self.registers[register as usize];
        }
    }

    /// The derivatives by the states and by what sensitivities are wanted of.
    fn read_derivatives(&self, jacobian: &mut [f64], forcing: &mut [f64]) {
        let (n, s) = (self.layout.states, self.layout.columns());
        jacobian.fill(0.0);
        forcing.fill(0.0);
        for entry in &self.compiled.jacobian {
            jacobian[entry.row * n + entry.column] = self.registers[entry.register as usize];
        }
        for entry in &self.compiled.forcing {
            let column = self.first_value() + entry.column;
            forcing[entry.row * s + column] = self.registers[entry.register as usize];
        }
    }

    /// Slopes where a residual's body reads them: behind its other values.
    fn place_slopes(&mut self, dy: &[f64]) {
        let end = 1 + self.layout.states + self.layout.values;
        self.registers[end - dy.len()..end].copy_from_slice(dy);
    }

    /// Column of the first value.
    fn first_value(&self) -> usize {
        if self.layout.start { self.layout.states } else { 0 }
    }
}

impl OdeSystem for System<'_> {
    fn states(&self) -> usize {
        self.layout.states
    }

    fn columns(&self) -> usize {
        self.layout.columns()
    }

    fn slope(&mut self, t: f64, y: &[f64], dy: &mut [f64]) -> Result<(), OdeFailure> {
        self.run(&self.compiled.slope, t, y);
        self.read_slopes(dy);
        Ok(())
    }

    fn jacobian(
        &mut self,
        t: f64,
        y: &[f64],
        dy: &mut [f64],
        jacobian: &mut [f64],
        forcing: &mut [f64],
    ) -> Result<(), OdeFailure> {
        self.run(&self.compiled.all, t, y);
        self.read_slopes(dy);
        self.read_derivatives(jacobian, forcing);
        Ok(())
    }

    fn row_width(&self) -> usize {
        self.flow.map_or(0, CompiledFlow::row_width)
    }

    fn coupled(&mut self, t: f64, x: &[f64], dx: &mut [f64]) -> Result<(), OdeFailure> {
        if let Some(flow) = self.flow {
            flow.slope(t, x, dx);
            return Ok(());
        }
        let (n, s) = (self.layout.states, self.layout.columns());
        if s == 0 {
            return self.slope(t, x, dx);
        }
        let (y, columns) = x.split_at(n);
        self.run(&self.compiled.all, t, y);
        let (dy, flow) = dx.split_at_mut(n);
        self.read_slopes(dy);
        flow.fill(0.0);
        for entry in &self.compiled.jacobian {
            let row = &mut flow[entry.row * s..(entry.row + 1) * s];
            let from = &columns[entry.column * s..(entry.column + 1) * s];
            add_scaled(row, self.registers[entry.register as usize], from);
        }
        let first = self.first_value();
        for entry in &self.compiled.forcing {
            flow[entry.row * s + first + entry.column] += self.registers[entry.register as usize];
        }
        Ok(())
    }
}

impl DaeSystem for System<'_> {
    fn states(&self) -> usize {
        self.layout.states
    }

    fn columns(&self) -> usize {
        self.layout.columns()
    }

    fn residual(
        &mut self,
        t: f64,
        y: &[f64],
        dy: &[f64],
        residual: &mut [f64],
    ) -> Result<(), OdeFailure> {
        self.place_slopes(dy);
        self.run(&self.compiled.slope, t, y);
        self.read_slopes(residual);
        Ok(())
    }

    fn derivatives(
        &mut self,
        t: f64,
        y: &[f64],
        dy: &[f64],
        [by_state, by_slope, forcing]: [&mut [f64]; 3],
    ) -> Result<(), OdeFailure> {
        self.place_slopes(dy);
        self.run(&self.compiled.all, t, y);
        by_slope.fill(0.0);
        self.read_derivatives(by_state, forcing);
        for entry in &self.compiled.mass {
            by_slope[entry.row * y.len() + entry.column] = self.registers[entry.register as usize];
        }
        Ok(())
    }
}
