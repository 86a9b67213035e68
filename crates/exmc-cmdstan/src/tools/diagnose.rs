//! `bin/diagnose`: CSV files of NUTS draws -> what is wrong with them, in words.

use std::fmt::Write;
use std::path::Path;

use exmc_diagnose::{Draws, Summariser, e_bfmi};
use exmc_draws::{StanCsv, file_names, file_order, read_stan_csv};

use super::summary::put;
use crate::failure::Failure;

/// E-BFMI below this is told (Betancourt 2016; CmdStan).
const LOW_E_BFMI: f64 = 0.3;
/// R-hat above this is told: what is rounded to more than 1.01.
const HIGH_RHAT: f64 = 1.014_99;
/// Effective draws for each draw below which they are told.
const LOW_ESS: f64 = 1e-3;

pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if args.is_empty() {
        return Ok(put("USAGE:  diagnose <filename 1> [<filename 2> ... <filename N>]\n\n")?);
    }
    let (found, missing): (Vec<&String>, Vec<&String>) =
        args.iter().partition(|path| Path::new(path).is_file());
    for path in missing {
        put(&format!("File {path} not found\n"))?;
    }
    if found.is_empty() {
        return Err(Failure::new("No valid input files, exiting."));
    }
    let read = read_stan_csv(&found)?;
    Ok(put(&report(&read))?)
}

/// The report, in sentences that clients know.
fn report(read: &StanCsv) -> String {
    let posterior = &read.posterior;
    let all: usize = posterior.chains.iter().map(|c| c.infos.len()).sum();
    let percent = |n: usize| 100.0 * n as f64 / all as f64;
    let infos = || posterior.chains.iter().flat_map(|c| &c.infos);
    let mut out = String::new();
    let mut is_good = true;
    if read.has_statistics {
        let max = posterior.max_depth;
        let deep = infos().filter(|i| i.tree_depth >= max).count();
        is_good &= deep == 0;
        out.push_str("Checking sampler transitions treedepth.\n");
        let _ = match deep {
            0 => writeln!(out, "Treedepth satisfactory for all transitions.\n"),
            n => writeln!(
                out,
                "{n} of {all} ({:.2}%) transitions hit the maximum treedepth limit of {max}, or \
                 2^{max} leapfrog steps.\nTrajectories that are prematurely terminated due to this \
                 limit will result in slow exploration.\nFor optimal performance, increase this \
                 limit.\n",
                percent(n)
            ),
        };
        let divergent = infos().filter(|i| i.divergent).count();
        is_good &= divergent == 0;
        out.push_str("Checking sampler transitions for divergences.\n");
        let _ = match divergent {
            0 => writeln!(out, "No divergent transitions found.\n"),
            n => writeln!(
                out,
                "{n} of {all} ({:.2}%) transitions ended with a divergence.\nThe draws may \
                 miss a part of the posterior. A larger delta helps where divergences are few, \
                 other parameters where they are many.\n",
                percent(n)
            ),
        };
        out.push_str("Checking E-BFMI - sampler transitions HMC potential energy.\n");
        let energies = posterior.chains.iter().map(|chain| {
            let energy: Vec<f64> = chain.infos.iter().map(|i| i.energy).collect();
            e_bfmi(&energy)
        });
        let lowest = energies.fold(f64::INFINITY, f64::min);
        let _ = match lowest < LOW_E_BFMI {
            false => writeln!(out, "E-BFMI satisfactory.\n"),
            true => {
                is_good = false;
                writeln!(
                    out,
                    "The E-BFMI, {lowest:.2}, is below {LOW_E_BFMI:.2}: energies change little \
                     from draw to draw, and tails may not be explored.\nOther parameters of the \
                     same model may help.\n"
                )
            }
        };
    }
    let (few, apart) = judged(read);
    is_good &= few.is_empty() && apart.is_empty();
    let _ = match few.as_slice() {
        [] => writeln!(
            out,
            "Rank-normalized split effective sample size satisfactory for all parameters.\n"
        ),
        names => writeln!(
            out,
            "The following parameters had fewer than {LOW_ESS} effective draws per transition:\n  \
             {}\nSo few that the estimate itself is not to be trusted.\n",
            names.join(", ")
        ),
    };
    let _ = match apart.as_slice() {
        [] => {
            writeln!(out, "Rank-normalized split R-hat values satisfactory for all parameters.\n")
        }
        names => writeln!(
            out,
            "The following parameters had rank-normalized split R-hat greater than \
             {HIGH_RHAT:.2}:\n  {}\nChains have not come to the same distribution: run \
             longer ones, or look for several modes.\n",
            names.join(", ")
        ),
    };
    out.push_str(match is_good {
        true => "Processing complete, no problems detected.\n",
        false => "Processing complete.\n",
    });
    out
}

/// Names of parameters with few effective draws, and of those with a high R-hat.
fn judged(read: &StanCsv) -> (Vec<String>, Vec<String>) {
    let posterior = &read.posterior;
    let width = posterior.width();
    let n = posterior.chains.iter().map(|c| c.infos.len()).min().unwrap_or(0);
    let chains: Vec<&[f64]> = posterior.chains.iter().map(|c| &c.values[..n * width]).collect();
    let total = (n * chains.len()) as f64;
    let (mut few, mut apart) = (Vec::new(), Vec::new());
    let mut summariser = Summariser::new();
    let columns = file_names(&posterior.variables).into_iter();
    for (name, place) in columns.zip(file_order(&posterior.variables)) {
        if name.ends_with("__") {
            continue;
        }
        let Ok(draws) = Draws::column(&chains, width, place) else { continue };
        let summary = summariser.summary(&draws);
        if summary.ess_bulk.min(summary.ess_tail) / total < LOW_ESS {
            few.push(name.clone());
        }
        if summary.rhat > HIGH_RHAT {
            apart.push(name);
        }
    }
    (few, apart)
}
