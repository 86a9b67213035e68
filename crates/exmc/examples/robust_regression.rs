//! A line through data of which a quarter is wrong: normal against Student-t errors.
//!
//! International calls from Belgium, 1950 to 1973, in tens of millions. From 1964 to 1969 minutes
//! were recorded in place of calls (Rousseeuw & Leroy 1987, Table 2). Normal errors make every
//! point pull in proportion to its distance, so six wrong years turn the line. A Student-t with one
//! degree of freedom lets them go: far out its pull falls with distance.

#![expect(clippy::print_stdout, reason = "examples print what they teach")]

mod common;

use exmc::distributions::{half_normal, normal, student_t};
use exmc::model::Expr;
use exmc::{Error, ModelBuilder, SamplerConfig};

const CALLS: [f64; 24] = [
    4.4, 4.7, 4.7, 5.9, 6.6, 7.3, 8.1, 8.8, 10.6, 12.0, 13.5, 14.9, 16.1, 21.2, 119.0, 124.0,
    142.0, 159.0, 182.0, 212.0, 43.0, 24.0, 27.0, 29.0,
];

type Exact = [(&'static str, f64, Option<f64>); 3];

/// Posterior means and standard deviations by quadrature (examples/reference/exact.py).
const EXACT_NORMAL: Exact = [
    ("alpha", 49.99211, Some(11.5208)),
    ("beta", 4.897862, Some(1.68836)),
    ("sigma", 57.50038, Some(8.66682)),
];
const EXACT_STUDENT: Exact = [
    ("alpha", 15.1855, Some(0.5125)),
    ("beta", 1.11286, Some(0.07503)),
    ("sigma", 1.7850, Some(0.7724)),
];

pub(crate) fn main() -> Result<(), Error> {
    let year: Vec<f64> = (0..24).map(|k| f64::from(k) - 11.5).collect();
    for robust in [false, true] {
        let mut model = ModelBuilder::new();
        model.rv("alpha", normal(50.0, 50.0));
        model.rv("beta", normal(0.0, 10.0));
        model.rv("sigma", half_normal(50.0));
        let line = "alpha" + Expr::name("beta") * &year;
        let calls = if robust { student_t(1.0, line, "sigma") } else { normal(line, "sigma") };
        model.rv("calls", calls);
        model.observe("calls_obs", "calls", CALLS);

        let fit = exmc::sample(&model.build()?, &SamplerConfig::default().seed(1950))?;
        println!("{} errors:", if robust { "Student-t" } else { "normal" });
        common::check(&fit, if robust { &EXACT_STUDENT } else { &EXACT_NORMAL });
    }
    println!("Normal errors see four times the growth that the sound years show.");
    Ok(())
}
