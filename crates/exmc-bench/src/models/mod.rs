//! The benchmarks' models: Stan's data -> a model whose density is the Stan program's.
//!
//! Names of variables and data are the Stan programs', parameters are sampled in the same coordinates (positive ones
//! through the exponential, nothing non-centred that is not so in the program), so that log densities with
//! Jacobians differ by a constant only. `tests/densities.rs` compares them.
//! Each model has data of the original's shape that are made here from a fixed seed; the originals, where
//! they are not ours to keep, are read from files.

use exmc::distributions::custom;
use exmc::{DataSet, DistSpec, Expr, Model, Support};

mod data;
mod eight_schools;
mod funnel;
mod gaussian_process;
mod hidden_markov;
mod item_response;
mod logistic;
mod mixture;
mod normal_groups;
mod radon;
mod recurrences;
mod regression;
mod student;
mod volatility;

pub use data::Data;

/// A model with data to run it on.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    /// Its name here and in the folder of the peers' models.
    pub name: &'static str,
    build: fn(&Data<'_>) -> Result<Model, String>,
    make: fn() -> DataSet,
}

impl Benchmark {
    /// The model with the data that it was given.
    ///
    /// # Errors
    /// When data are missing or of another shape or kind than the Stan program declares.
    pub fn model(&self, data: &DataSet) -> Result<Model, String> {
        (self.build)(&Data::new(data)).map_err(|why| format!("{}: {why}", self.name))
    }

    /// How many outcomes are observed, by the sizes that the data name; 1 where they name none.
    ///
    /// # Errors
    /// When a size is no number from 0.
    pub fn elements(&self, data: &DataSet) -> Result<usize, String> {
        let data = Data::new(data);
        let has = |name: &str| data.tensor(name).is_ok();
        match ["N", "T", "J"].into_iter().find(|name| has(name)) {
            Some("J") if has("I") => Ok(data.size("I")? * data.size("J")?),
            Some(name) => data.size(name),
            None => Ok(1),
        }
    }

    /// Data of the original's shape, the same at every call.
    pub fn made_data(&self) -> DataSet {
        (self.make)()
    }
}

/// The benchmark of that name.
///
/// # Errors
/// When there is none; the message lists those that there are.
pub fn benchmark(name: &str) -> Result<&'static Benchmark, String> {
    ALL.iter().find(|b| b.name == name).ok_or_else(|| {
        let names: Vec<_> = ALL.iter().map(|b| b.name).collect();
        format!("there is no benchmark `{name}`; the benchmarks are {}", names.join(", "))
    })
}

/// Every benchmark: those that peers run too, then those of our own.
pub const ALL: &[Benchmark] = &[
    Benchmark { name: "eight_schools", build: eight_schools::centred, make: eight_schools::data },
    Benchmark {
        name: "eight_schools_noncentered",
        build: eight_schools::non_centred,
        make: eight_schools::data,
    },
    Benchmark { name: "simple", build: normal_groups::simple, make: normal_groups::simple_data },
    Benchmark { name: "medium", build: normal_groups::medium, make: normal_groups::medium_data },
    Benchmark { name: "stress", build: normal_groups::stress, make: normal_groups::stress_data },
    Benchmark { name: "funnel", build: funnel::build, make: funnel::data },
    Benchmark { name: "logistic", build: logistic::build, make: || logistic::data(500) },
    Benchmark { name: "wells_dist100", build: logistic::wells_distance, make: logistic::wells },
    Benchmark {
        name: "wells_interaction_c",
        build: logistic::wells_interaction,
        make: logistic::wells,
    },
    Benchmark { name: "nes2000", build: regression::nes, make: regression::nes_data },
    Benchmark { name: "diamonds", build: regression::diamonds, make: regression::diamonds_data },
    Benchmark { name: "radon_mn", build: radon::build, make: || radon::data(919, 85) },
    Benchmark { name: "radon_all", build: radon::build, make: || radon::data(12_573, 386) },
    Benchmark { name: "irt_2pl", build: item_response::build, make: item_response::data },
    Benchmark { name: "low_dim_gauss_mix", build: mixture::build, make: mixture::data },
    Benchmark { name: "sv", build: volatility::build, make: || volatility::data(42) },
    Benchmark { name: "sv_vol", build: volatility::build, make: || volatility::data(9) },
    Benchmark { name: "gp_regr", build: gaussian_process::build, make: gaussian_process::data },
    Benchmark { name: "arma11", build: recurrences::arma, make: recurrences::arma_data },
    Benchmark { name: "garch11", build: recurrences::garch, make: recurrences::garch_data },
    Benchmark { name: "hmm_example", build: hidden_markov::build, make: hidden_markov::data },
    Benchmark {
        name: "student_groups",
        build: student::build,
        make: || student::data(10_000, 100),
    },
    Benchmark { name: "logistic_1e3", build: logistic::build, make: || logistic::data(1_000) },
    Benchmark { name: "logistic_1e4", build: logistic::build, make: || logistic::data(10_000) },
    Benchmark { name: "logistic_1e5", build: logistic::build, make: || logistic::data(100_000) },
    Benchmark { name: "logistic_1e6", build: logistic::build, make: || logistic::data(1_000_000) },
    Benchmark {
        name: "regression_1e3",
        build: regression::plain,
        make: || regression::data(1_000),
    },
    Benchmark {
        name: "regression_1e4",
        build: regression::plain,
        make: || regression::data(10_000),
    },
    Benchmark {
        name: "regression_1e5",
        build: regression::plain,
        make: || regression::data(100_000),
    },
    Benchmark {
        name: "regression_1e6",
        build: regression::plain,
        make: || regression::data(1_000_000),
    },
];

/// No prior: density one wherever the variable's transform leads.
fn flat() -> DistSpec {
    custom([] as [(&str, Expr); 0], Support::Real, 0.0, None)
}
