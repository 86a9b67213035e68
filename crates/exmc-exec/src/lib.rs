//! Executors (internal, unstable): a graph of a log density -> a
//! [`DensityModel`](exmc_density::DensityModel).
//!
//! [`compile`] differentiates, simplifies and plans once; [`Program::bind`] computes what depends
//! on data only (the *prelude*) and can be called again with other data of the same shapes;
//! [`BoundDensity`] is shared by all chains and hands each an instance that owns its scratch memory
//! and nothing else. [`Function`] is the same for several outputs without a gradient.
//!
//! [`Executor::Reference`] is an interpreter that is slow, obvious and the oracle of any other;
//! [`Executor::Native`] runs vector instructions over blocks.
//!
//! | stage | in -> out | entry |
//! |---|---|---|
//! | compile | [`DensitySource`] -> [`Program`] | [`compile`] |
//! | optimise | graph -> graph that costs less (native only) | [`exmc_graph::optimise`] |
//! | plan | graph and roots -> steps over slots | `plan` |
//! | bind | [`Program`] and data -> [`BoundDensity`] | [`Program::bind`] |
//! | lower | graph and roots -> loops over blocks | `native` |
//! | run | position -> log density and gradient | `reference`, `native` |
//!
//! ```
//! use exmc_density::{DensityModel, LogDensity};
//! use exmc_exec::{DensitySource, Executor, compile};
//! use exmc_graph::{DType, Graph, Role, Shape, Tensor};
//! let mut graph = Graph::new();
//! let x = graph.input("x", Role::Parameter, Shape::scalar(), DType::Real)?;
//! let y = graph.input("y", Role::Data, Shape::scalar(), DType::Real)?;
//! let difference = graph.sub(x, y);
//! let square = graph.square(difference);
//! let logp = graph.scale(square, -0.5);
//! let source = DensitySource { graph, logp, parameters: vec![(x, 0)], dim: 1 };
//! let program = compile(Executor::Reference, &source)?;
//! let density = program.bind(&|_| Some(Tensor::scalar(3.0)))?;
//! let mut gradient = [0.0];
//! assert_eq!(density.instance().logp_grad(&[1.0], &mut gradient)?, -2.0);
//! assert_eq!(gradient, [2.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod backend;
mod batch_instance;
mod bind;
mod compiled;
mod density;
mod error;
mod frame_pool;
mod function;
mod guarded;
mod join_inputs;
mod native;
mod plan;
mod precision;
mod reference;

pub use batch_instance::LaneInstance;
pub use bind::always_binds;
pub use compiled::{Sections, compilations};
pub use density::{
    BoundDensity, DensityInstance, DensitySource, Program, Settings, compile, compile_with,
    compile_without,
};
pub use error::{BindError, CompileError, CompileErrorKind};
pub use function::{BoundFunction, Function, FunctionInstance, FunctionSource, compile_function};

/// Who runs a compiled program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Executor {
    /// An interpreter of vector instructions over blocks, at the best level that the processor has.
    #[default]
    Native,
    /// An interpreter of one operation after the other, over whole arrays: slow, obvious, the
    /// oracle.
    Reference,
}

impl Executor {
    /// Every executor.
    pub const ALL: &'static [Self] = &[Self::Native, Self::Reference];

    /// The name on the command line and in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Native => "native",
        }
    }

    /// The executor of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|executor| executor.name() == name)
    }
}
