//! exmc: Bayesian inference in Rust.
//!
//! A model is data: declared in Rust or read from a file, rewritten, compiled in milliseconds to a
//! log density with gradient, sampled by NUTS, judged by modern diagnostics.
//!
//! ```
//! use exmc::distributions::{half_normal, normal};
//! use exmc::{ModelBuilder, SamplerConfig, sample};
//!
//! let mut model = ModelBuilder::new();
//! model.rv("mu", normal(0, 10));
//! model.rv("sigma", half_normal(2));
//! model.rv("y", normal("mu", "sigma")).shape(5);
//! model.observe("y_seen", "y", [2.1, 2.5, 1.8, 2.3, 2.7]);
//!
//! let fit = sample(&model.build()?, &SamplerConfig::default().seed(1))?;
//! println!("{}", fit.summary());
//! assert!(fit.diagnose().is_empty());
//! assert!((fit["mu"].mean() - 2.278).abs() < 0.05);
//! # Ok::<(), exmc::Error>(())
//! ```
//!
//! The [`tutorial`] goes on from here.
//!
//! | module | what it holds |
//! |---|---|
//! | [`distributions`] | constructors of distributions for [`ModelBuilder`] |
//! | [`model`] | what a model is made of: expressions, tensors, supports, data |
//! | [`stan`] | Stan programs and their data |
//! | [`infer`] | the sampler: settings, observers, densities of your own |
//! | [`diagnose`] | statistics of draws: R-hat, effective sample sizes, warnings |
//! | [`sbc`] | simulation-based calibration: whether fits recover what data were made from |
//! | [`runs`] | draws in memory, run directories, CmdStan's CSV files |
//! | [`json`] | models and data as JSON |
//! | [`advanced`] | the pipeline stage by stage; for our own programs, may change at any time |
#![forbid(unsafe_code)]

mod arrays;
mod compile;
mod coordinates;
mod error;
mod failing;
mod fit;
mod generate;
mod generated_quantities;
mod mode;
mod precision;
mod predict;
mod recorded_values;
mod rejection;
mod sample;
pub mod stan;
mod text;
mod witness;

pub mod advanced;
pub mod infer;
pub mod json;
pub mod model;
pub mod runs;
pub mod sbc;

#[doc = include_str!("../../../docs/tutorial.md")]
pub mod tutorial {}

pub use arrays::{DrawArray, DrawArrays};
pub use error::{Error, ErrorKind};
pub use exmc_diagnose as diagnose;
pub use exmc_infer::SamplerConfig;
pub use exmc_model::{Model, ModelBuilder, distributions};
pub use fit::{
    Cancel, FailedDraw, Fit, FitSummary, Monitor, MonitoredDraw, NewData, Outcomes, Status,
    TimeLimit, Verdict, fit_many, sample, sample_monitored,
};
pub use stan::StanProgram;
