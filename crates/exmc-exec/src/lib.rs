//! Executors (internal, unstable): a graph of a log density -> a [`DensityModel`](exmc_density::DensityModel).
//!
//! [`compile`] differentiates, simplifies and plans once; [`Program::bind`] computes what depends on
//! data only (the *prelude*) and can be called again with other data of the same shapes;
//! [`BoundDensity`] is shared by all chains and hands each an instance that owns its scratch memory
//! and nothing else. [`Function`] is the same for several outputs without a gradient.
//!
//! The one executor so far is [`Executor::Reference`]: an interpreter that is slow, obvious and the
//! oracle of any other.
//!
//! | stage | in -> out | entry |
//! |---|---|---|
//! | compile | [`DensitySource`] -> [`Program`] | [`compile`] |
//! | plan | graph and roots -> steps over slots | `plan` |
//! | bind | [`Program`] and data -> [`BoundDensity`] | [`Program::bind`] |
//! | run | position -> log density and gradient | `reference` |

mod bind;
mod compiled;
mod density;
mod error;
mod function;
mod plan;
mod reference;

pub use compiled::{Sections, compilations};
pub use density::{BoundDensity, DensityInstance, DensitySource, Program, compile};
pub use error::{BindError, CompileError};
pub use function::{BoundFunction, Function, FunctionInstance, FunctionSource, compile_function};

/// Who runs a compiled program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Executor {
    /// An interpreter of one operation after the other, over whole arrays.
    #[default]
    Reference,
}

impl Executor {
    /// Every executor.
    pub const ALL: &'static [Self] = &[Self::Reference];

    /// The name on the command line and in configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reference => "reference",
        }
    }

    /// The executor of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|executor| executor.name() == name)
    }
}
