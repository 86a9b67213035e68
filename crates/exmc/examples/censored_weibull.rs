//! Remissions that had not ended when the study did: survival with right censoring.
//!
//! Weeks of remission of 42 children with leukaemia, half of them given 6-mercaptopurine (Freireich
//! et al. 1963; Gehan 1965; `gehan` in R's MASS). Of a child still well at the end only a lower
//! limit is known: it contributes the probability to last longer, not the density. Taking the
//! limits for ends makes the drug look worse than it is, and more so the better it works.

#![expect(clippy::print_stdout, reason = "examples print what they teach")]

mod common;

use exmc::distributions::{lognormal, normal, weibull};
use exmc::model::Expr;
use exmc::{Error, ModelBuilder, SamplerConfig};

const TREATED: [f64; 21] = [
    6.0, 6.0, 6.0, 6.0, 7.0, 9.0, 10.0, 10.0, 11.0, 13.0, 16.0, 17.0, 19.0, 20.0, 22.0, 23.0, 25.0,
    32.0, 32.0, 34.0, 35.0,
];
/// 1 where the remission of a treated child had not ended.
const CENSORED: [f64; 21] = [
    0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0,
    1.0, 1.0,
];
const CONTROL: [f64; 21] = [
    1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 5.0, 5.0, 8.0, 8.0, 8.0, 8.0, 11.0, 11.0, 12.0, 12.0, 15.0,
    17.0, 22.0, 23.0,
];

type Exact = [(&'static str, f64, Option<f64>); 3];

/// Posterior means and standard deviations by quadrature (examples/reference/exact.py).
const EXACT: Exact = [
    ("shape", 1.300668, Some(0.194908)),
    ("alpha", 2.258752, Some(0.179323)),
    ("beta", 1.311669, Some(0.334400)),
];
const EXACT_IGNORED: Exact = [
    ("shape", 1.513703, Some(0.188740)),
    ("alpha", 2.296570, Some(0.153163)),
    ("beta", 0.631695, Some(0.209882)),
];

pub(crate) fn main() -> Result<(), Error> {
    for ignored in [false, true] {
        let mut model = ModelBuilder::new();
        model.rv("shape", lognormal(0.0, 1.0));
        model.rv("alpha", normal(2.0, 2.0));
        model.rv("beta", normal(0.0, 2.0));
        let scale = ("alpha" + Expr::name("beta")).exp();
        model.rv("treated", weibull("shape", scale)).shape([21]);
        model.rv("control", weibull("shape", Expr::name("alpha").exp())).shape([21]);
        let seen = model.observe("treated_obs", "treated", TREATED);
        if !ignored {
            seen.censoring(CENSORED, None);
        }
        model.observe("control_obs", "control", CONTROL);

        let fit = exmc::sample(&model.build()?, &SamplerConfig::default().seed(1963))?;
        println!("{}:", if ignored { "limits taken for ends" } else { "censoring kept" });
        common::check(&fit, if ignored { &EXACT_IGNORED } else { &EXACT });
    }
    println!(
        "The drug lengthens remission by a factor exp(beta); ignoring censoring hides a part."
    );
    Ok(())
}
