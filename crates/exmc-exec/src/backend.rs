//! A planned graph at one executor -> its data, the memory of an instance, and results.
//!
//! What is bound holds its program, and a frame holds both: the parts of an instance are of one
//! executor by construction.

use std::sync::Arc;

use exmc_density::EvaluationError;
use exmc_graph::EvaluateError;
use exmc_math::simd::Level;

use crate::native;
use crate::reference::{self, Shared};

/// A program of one executor.
#[derive(Clone, Debug)]
pub(crate) enum Backend {
    /// Whole operations one after the other.
    Reference(Arc<reference::Program>),
    /// Vector instructions over blocks.
    Native(Arc<native::Program>),
}

/// A program with what is known once data are bound.
#[derive(Clone, Debug)]
pub(crate) enum Bound {
    Reference(Arc<reference::Program>, Shared),
    Native(Arc<native::Program>, Arc<native::Packed>, Level),
}

/// One instance's memory, with the program and the data that it is for.
#[derive(Debug)]
pub(crate) enum Frame {
    Reference(Arc<reference::Program>, Shared, reference::Frame),
    Native(Arc<native::Program>, native::Frame),
}

/// Indices are data, so an index that fails fails at every position.
#[cold]
fn fatal(error: EvaluateError) -> EvaluationError {
    EvaluationError::Fatal(error.message().to_owned())
}

impl Bound {
    /// Other vector instructions, for executors that have some.
    pub(crate) fn set_level(&mut self, level: Level) {
        if let Self::Native(_, _, bound_level) = self {
            *bound_level = level;
        }
    }

    /// The same with the vector instructions of another.
    pub(crate) fn at_level_of(&self, other: &Self) -> Self {
        let mut same = self.clone();
        if let Self::Native(_, _, level) = other {
            same.set_level(*level);
        }
        same
    }

    /// Memory for an instance that may use so many threads; `targets` says where roots go among the
    /// results.
    pub(crate) fn frame(&self, targets: &native::Targets, threads: usize) -> Frame {
        match self {
            Self::Reference(program, shared) => {
                let memory = reference::Frame::new(&program.plan);
                Frame::Reference(Arc::clone(program), Arc::clone(shared), memory)
            }
            Self::Native(program, packed, level) => {
                let memory = native::Frame::new(*level, program, packed, targets, threads);
                Frame::Native(Arc::clone(program), memory)
            }
        }
    }

    /// The program for a few positions of `dim` elements at once, of one whose roots are a log
    /// density and its gradient, if there is code for all of it; `targets` say where the gradient
    /// goes.
    pub(crate) fn lanes(
        &self,
        targets: &native::Targets,
        dim: usize,
    ) -> Option<native::BatchProgram> {
        match self {
            Self::Reference(..) => None,
            Self::Native(program, packed, level) => {
                native::BatchProgram::new(*level, program, packed, targets, dim)
            }
        }
    }
}

impl Frame {
    /// Evaluates all roots at a position, on the pool's threads if there are some (no more than the
    /// frame was made for), and copies those that are results; `targets` are those of the frame.
    #[inline]
    pub(crate) fn run(
        &mut self,
        position: &[f64],
        (targets, results): (&native::Targets, &mut [f64]),
        pool: Option<&mut native::Pool>,
    ) -> Result<(), EvaluationError> {
        let run = match self {
            Self::Native(program, memory) => memory.run(program, position, results, pool),
            Self::Reference(program, shared, memory) => {
                program.run(memory, shared, position, (targets, results))
            }
        };
        run.map_err(fatal)
    }

    /// After a run, the first root's first element.
    #[inline]
    pub(crate) fn first(&self) -> f64 {
        match self {
            Self::Native(_, memory) => memory.first(),
            Self::Reference(program, shared, memory) => {
                memory.value(program.plan.roots[0], shared)[0]
            }
        }
    }
}
