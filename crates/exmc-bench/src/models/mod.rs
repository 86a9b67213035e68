//! The benchmarks' models: Stan's data -> a model whose density is the Stan program's.
//!
//! What the builder cannot say (an initial value problem) is a Stan program of our own. Names of
//! variables and data are the Stan programs', parameters have the same coordinates (positive ones
//! through the exponential, nothing non-centred that is not so in the program), so that log
//! densities with Jacobians differ by a constant only. `tests/densities.rs` compares them. Models
//! that are sampled leave the coordinates of their effects to the sampler. Each model has data of
//! the original's shape that are made here from a fixed seed; the originals, where they are not
//! ours to keep, are read from files.

use exmc::advanced::{BoundModel, CompileOptions, compile};
use exmc::distributions::custom;
use exmc::model::{DataSet, DistSpec, Expr, Support, Tensor, Values};
use exmc::stan::StanOptions;
use exmc::{Model, StanProgram};

mod data;
mod eight_schools;
mod funnel;
mod gaussian_process;
mod hidden_markov;
mod item_response;
mod logistic;
mod lotka_volterra;
mod mixture;
mod normal_groups;
mod radon;
mod recurrences;
mod regression;
mod student;
mod volatility;

pub use data::Data;
pub(crate) use logistic::AGES;

/// A model with data to run it on.
#[derive(Clone, Copy, Debug)]
pub struct Benchmark {
    /// Its name here and in the folder of the peers' models.
    pub name: &'static str,
    source: Source,
    make: fn() -> DataSet,
}

/// What a model is written in.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// The Rust builder.
    Builder(fn(&Data<'_>) -> Result<Model, String>),
    /// Stan, for what the builder cannot say.
    Program { text: &'static str, bulk: &'static [(&'static str, &'static [f64])] },
}
use Source::{Builder, Program};

impl Benchmark {
    /// The model with the data that it was given, compiled, in the Stan program's coordinates.
    ///
    /// # Errors
    /// When data are missing or of another shape or kind than the Stan program declares.
    pub fn bind(&self, data: &DataSet, options: &CompileOptions) -> Result<BoundModel, String> {
        self.bind_as(Data::new(data), options)
    }

    /// The same model, whose coordinates the sampler chooses, as it does of a Stan program.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub fn bind_to_sample(
        &self,
        data: &DataSet,
        options: &CompileOptions,
    ) -> Result<BoundModel, String> {
        self.bind_as(Data::to_sample(data), options)
    }

    fn bind_as(&self, data: Data<'_>, options: &CompileOptions) -> Result<BoundModel, String> {
        let bound = match self.source {
            Builder(build) => {
                let model = build(&data).map_err(|why| format!("{}: {why}", self.name))?;
                compile(&model, options).and_then(|compiled| compiled.bind(&Values::new()))
            }
            Program { text, .. } => of_program(text, &data.json(), options),
        };
        bound.map_err(|why| format!("{}: {why}", self.name))
    }

    /// Constrained values by name in the posterior's bulk, of a model whose gradient costs more in
    /// some places than in others.
    pub fn bulk(&self) -> &'static [(&'static str, &'static [f64])] {
        match self.source {
            Builder(_) => &[],
            Program { bulk, .. } => bulk,
        }
    }

    /// Where gradients are timed: in the bulk, or anywhere if that is all the same.
    ///
    /// # Errors
    /// When the bulk is no point of the model.
    pub fn position(&self, model: &BoundModel) -> Result<Vec<f64>, String> {
        let bulk = self.bulk().iter();
        let bulk: Values = bulk.map(|&(name, x)| (name.to_owned(), Tensor::vector(x))).collect();
        if bulk.is_empty() {
            let anywhere = |i: usize| ((i * 7 + 3) as f64 * 0.618_033_988_749_894_9).fract() - 0.5;
            return Ok((0..model.compiled().dim()).map(anywhere).collect());
        }
        model.unconstrain(&bulk).map_err(|why| format!("{}: {why}", self.name))
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
    Benchmark {
        name: "eight_schools",
        source: Builder(eight_schools::centred),
        make: eight_schools::data,
    },
    Benchmark {
        name: "eight_schools_noncentered",
        source: Builder(eight_schools::non_centred),
        make: eight_schools::data,
    },
    Benchmark {
        name: "simple",
        source: Builder(normal_groups::simple),
        make: normal_groups::simple_data,
    },
    Benchmark {
        name: "medium",
        source: Builder(normal_groups::medium),
        make: normal_groups::medium_data,
    },
    Benchmark {
        name: "stress",
        source: Builder(normal_groups::stress),
        make: normal_groups::stress_data,
    },
    Benchmark { name: "funnel", source: Builder(funnel::build), make: funnel::data },
    Benchmark { name: "logistic", source: Builder(logistic::build), make: || logistic::data(500) },
    Benchmark {
        name: "wells_dist100",
        source: Builder(logistic::wells_distance),
        make: logistic::wells,
    },
    Benchmark {
        name: "wells_interaction_c",
        source: Builder(logistic::wells_interaction),
        make: logistic::wells,
    },
    Benchmark { name: "nes2000", source: Builder(regression::nes), make: regression::nes_data },
    Benchmark {
        name: "diamonds",
        source: Builder(regression::diamonds),
        make: regression::diamonds_data,
    },
    Benchmark { name: "radon_mn", source: Builder(radon::build), make: || radon::data(919, 85) },
    Benchmark {
        name: "radon_all",
        source: Builder(radon::build),
        make: || radon::data(12_573, 386),
    },
    Benchmark { name: "irt_2pl", source: Builder(item_response::build), make: item_response::data },
    Benchmark { name: "low_dim_gauss_mix", source: Builder(mixture::build), make: mixture::data },
    Benchmark { name: "sv", source: Builder(volatility::build), make: || volatility::data(42) },
    Benchmark { name: "sv_vol", source: Builder(volatility::build), make: || volatility::data(9) },
    Benchmark {
        name: "gp_regr",
        source: Builder(gaussian_process::build),
        make: gaussian_process::data,
    },
    Benchmark { name: "arma11", source: Builder(recurrences::arma), make: recurrences::arma_data },
    Benchmark {
        name: "garch11",
        source: Builder(recurrences::garch),
        make: recurrences::garch_data,
    },
    Benchmark {
        name: "hmm_example",
        source: Builder(hidden_markov::build),
        make: hidden_markov::data,
    },
    Benchmark {
        name: "lotka_volterra",
        source: Program { text: lotka_volterra::PROGRAM, bulk: lotka_volterra::BULK },
        make: lotka_volterra::data,
    },
    Benchmark {
        name: "student_groups",
        source: Builder(student::build),
        make: || student::data(10_000, 100),
    },
    Benchmark {
        name: "logistic_discrete",
        source: Builder(logistic::discrete),
        make: || logistic::discrete_data(5_000),
    },
    Benchmark {
        name: "logistic_1e3",
        source: Builder(logistic::build),
        make: || logistic::data(1_000),
    },
    Benchmark {
        name: "logistic_1e4",
        source: Builder(logistic::build),
        make: || logistic::data(10_000),
    },
    Benchmark {
        name: "logistic_1e5",
        source: Builder(logistic::build),
        make: || logistic::data(100_000),
    },
    Benchmark {
        name: "logistic_1e6",
        source: Builder(logistic::build),
        make: || logistic::data(1_000_000),
    },
    Benchmark {
        name: "regression_1e3",
        source: Builder(regression::plain),
        make: || regression::data(1_000),
    },
    Benchmark {
        name: "regression_1e4",
        source: Builder(regression::plain),
        make: || regression::data(10_000),
    },
    Benchmark {
        name: "regression_1e5",
        source: Builder(regression::plain),
        make: || regression::data(100_000),
    },
    Benchmark {
        name: "regression_1e6",
        source: Builder(regression::plain),
        make: || regression::data(1_000_000),
    },
];

/// A Stan program with data as text, compiled.
fn of_program(text: &str, data: &str, options: &CompileOptions) -> Result<BoundModel, exmc::Error> {
    let mut settings = StanOptions::default();
    settings.compile = options.clone();
    let program = StanProgram::from_text("benchmark.stan", text)?;
    Ok(program.bind_with("data.json", data, &settings)?.bound().clone())
}

/// No prior: density one wherever the variable's transform leads.
fn flat() -> DistSpec {
    custom([] as [(&str, Expr); 0], Support::Real, 0.0, None)
}
