//! Eight schools, centred and not: the same posterior in two geometries.
//!
//! Effects of coaching in eight schools, each measured with a known standard error (Rubin 1981).
//! The population's spread `tau` is small with high probability, so the centred parameterisation
//! has a funnel: `theta` must be close to `mu` wherever `tau` is small, and no step size suits both
//! ends. The non-centred one, `theta = mu + tau * z`, has none. exmc picks it by itself;
//! `centred()` opts out.

#![expect(clippy::print_stdout, reason = "examples print what they teach")]

use exmc::distributions::{half_normal, normal};
use exmc::{Error, ModelBuilder, SamplerConfig};

const EFFECT: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
const STANDARD_ERROR: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];

/// Posterior means of `mu` and `tau` by quadrature.
const EXACT: [(&str, f64); 2] = [("mu", 4.441369), ("tau", 3.290367)];

pub(crate) fn main() -> Result<(), Error> {
    for centred in [true, false] {
        let mut model = ModelBuilder::new();
        model.plate("school", 8);
        model.rv("mu", normal(0.0, 5.0));
        model.rv("tau", half_normal(5.0));
        let theta = model.rv("theta", normal("mu", "tau")).over(["school"]);
        if centred {
            theta.centred()
        } else {
            theta.non_centred()
        };
        model.rv("y", normal("theta", STANDARD_ERROR)).over(["school"]);
        model.observe("y_obs", "y", EFFECT);

        // A smaller step follows the funnel's neck further down.
        let target = if centred { 0.95 } else { 0.8 };
        let settings = SamplerConfig::default().seed(2024).target_accept(target);
        let fit = exmc::sample(&model.build()?, &settings)?;

        println!("{}", if centred { "centred:" } else { "non-centred:" });
        println!(
            "  divergences {}, leapfrog steps {}",
            fit.posterior().diagnostics().divergences,
            fit.posterior().leapfrogs()
        );
        println!("  sampled in {:.0} ms", 1e3 * fit.posterior().seconds);
        for (name, s) in fit.summary().iter() {
            let (ess, rhat) = (s.ess_bulk, s.rhat);
            println!("  {name:9} mean {:6.2} sd {:5.2} ess {ess:5.0} rhat {rhat:.3}", s.mean, s.sd);
            if let Some((_, exact)) = EXACT.iter().find(|(n, _)| *n == name) {
                let error = (s.mean - exact).abs() / s.mcse_mean;
                assert!(
                    error < 4.0,
                    "{name} is {error:.1} standard errors from its exact mean {exact}"
                );
            }
        }
    }
    println!("Both find the same posterior; compare their effective draws and divergences.");
    Ok(())
}
