//! Runs of many parameters and cross-validation of many observations -> their peak memory, a table
//! in `bench/record`.
//!
//! The peak is the largest resident set that the kernel saw (`VmHWM`), which Linux tells while the
//! process lives; elsewhere there is no table.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::build;
use crate::record;

/// Parameters, draws and chains of the runs.
const RUNS: [(usize, usize, usize); 2] = [(1_000_000, 100, 1), (100_000, 1000, 1)];
/// Warmup draws of each.
const WARMUP: &str = "100";
/// Observations and draws of each of four chains of the cross-validation.
const OBSERVATIONS: usize = 100_000;
const DRAWS: usize = 1000;

const PROGRAM: &str = "data { int N; vector[N] y; }
parameters { real mu; real<lower=0> sigma; }
model { y ~ normal(mu, sigma); }
generated quantities { vector[N] log_lik; for (n in 1:N) log_lik[n] = normal_lpdf(y[n] | mu, sigma); }
";

/// What a process took.
struct Taken {
    peak: f64,
    wall: f64,
}

/// Measures, and writes `bench/record/memory-<date>.md`.
///
/// # Errors
/// When an argument is not understood, a command fails, or the system tells no peak.
pub(super) fn memory(args: &[&str]) -> Result<(), String> {
    let (mut exmc, mut observations) = (None, OBSERVATIONS);
    let mut rest = args;
    loop {
        rest = match rest {
            [] => break,
            ["--exmc", path, more @ ..] => {
                exmc = Some(fs::canonicalize(path).map_err(|e| format!("{path}: {e}"))?);
                more
            }
            ["--observations", n, more @ ..] => {
                observations = n.parse().map_err(|e| format!("--observations {n}: {e}"))?;
                more
            }
            _ => {
                let usage = "usage: cargo xtask bench memory [--exmc PATH] [--observations N]";
                return Err(usage.to_owned());
            }
        };
    }
    let machine = record::machine();
    let exmc = match exmc {
        Some(exmc) => exmc,
        None => build("exmc-cli", "--bin", "exmc")?,
    };
    let folder = std::env::temp_dir().join(format!("exmc-memory-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let measured = measure(&exmc, &folder, observations);
    let _ = fs::remove_dir_all(&folder);
    let page = format!(
        "# Memory\n\n{machine}\n\nCommand: `cargo xtask bench memory --observations {observations}`. {}\n\n{}",
        record::load(),
        measured?
    );
    let path = record::path("memory");
    fs::write(&path, page).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("written to {}", path.display());
    Ok(())
}

fn measure(exmc: &Path, folder: &Path, observations: usize) -> Result<String, String> {
    let mut page = format!(
        "Peak resident memory of `exmc sample` and of `exmc summary` (MB) on independent normal parameters, none of them integrated out, \
         on one thread, with {WARMUP} warmup draws. *Vectors*: the peak of sampling in vectors of all parameters, for each chain. The \
         bar is 1.2 times 4 vectors a chain with data and buffer.\n\n\
         | parameters | draws | chains | metric | sample | vectors | bar | summary | wall s |\n|---|---|---|---|---|---|---|---|---|\n"
    );
    for (dim, draws, chains) in RUNS {
        for metric in ["low-rank", "diag"] {
            let model = format!(
                r#"{{"exmc": 1, "nodes": [{{"rv": "x", "dist": "normal", "params": {{"mu": 0, "sigma": 1}}, "shape": [{dim}]}}]}}"#
            );
            write(folder, "wide.json", &model)?;
            let (d, c) = (draws.to_string(), chains.to_string());
            let sample = [
                &["sample", "wide.json", "--without", "marginalise", "--warmup", WARMUP][..],
                &["--draws", &d, "--chains", &c, "--threads", "1", "--metric", metric],
                &["--out", "run", "-q"],
            ];
            let made = taken(exmc, folder, &sample.concat())?;
            let read = taken(exmc, folder, &["summary", "run"])?;
            let _ = fs::remove_dir_all(folder.join("run"));
            let vector = dim as f64 * 8.0 / 1e6;
            // A buffer is of one draw, or a few kilobytes.
            let bar = 1.2 * (5 * chains) as f64 * vector;
            let vectors = made.peak / vector / chains as f64;
            let line = format!(
                "| {dim} | {draws} | {chains} | {metric} | {:.0} | {vectors:.0} | {bar:.0} | {:.0} | {:.0} |",
                made.peak, read.peak, made.wall
            );
            println!("{line}");
            let _ = writeln!(page, "{line}");
        }
    }
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut uniform = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as f64 / (1_u64 << 53) as f64
    };
    let y: Vec<String> = (0..observations)
        .map(|_| format!("{:.4}", (0..12).map(|_| uniform()).sum::<f64>() - 6.0))
        .collect();
    let data = format!(r#"{{"N": {observations}, "y": [{}]}}"#, y.join(","));
    write(folder, "mean.stan", PROGRAM)?;
    write(folder, "mean.json", &data)?;
    let draws = DRAWS.to_string();
    let sample = ["sample", "mean.stan", "--data", "mean.json", "--draws", &draws];
    let made = taken(exmc, folder, &[&sample[..], &["--out", "run", "-q"]].concat())?;
    let size: u64 = (0..4)
        .filter_map(|k| Some(fs::metadata(folder.join(format!("run/chain-{k}.draws"))).ok()?.len()))
        .sum();
    let loo = taken(exmc, folder, &["loo", "run"])?;
    let _ = write!(
        page,
        "\nA normal sample of {observations} observations whose program records `log_lik`, 4 chains of {DRAWS} draws, files of {:.2} GB: sampling \
         took at most {:.0} MB and {:.0} s, and `exmc loo` at most {:.0} MB and {:.0} s. It reads every byte of log likelihoods once, a block of \
         observations at a time.\n",
        size as f64 / 1e9,
        made.peak,
        made.wall,
        loo.peak,
        loo.wall
    );
    Ok(page)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), String> {
    let path: PathBuf = folder.join(name);
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Runs the program to its end, and looks at its peak all the time.
fn taken(exmc: &Path, folder: &Path, args: &[&str]) -> Result<Taken, String> {
    println!("$ exmc {}", args.join(" "));
    let began = Instant::now();
    let mut child = Command::new(exmc)
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("{}: {e}", exmc.display()))?;
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak: Option<f64> = None;
    let ended = loop {
        peak = fs::read_to_string(&status).ok().and_then(|text| high_water(&text)).or(peak);
        if let Some(ended) = child.try_wait().map_err(|e| e.to_string())? {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    if !ended.success() {
        return Err(format!("exmc {}: {ended}", args.join(" ")));
    }
    let peak = peak.ok_or("this system does not tell the peak of a process's memory")?;
    Ok(Taken { peak, wall: began.elapsed().as_secs_f64() })
}

/// The peak of a process's resident memory in MB, of the text that Linux has of it.
fn high_water(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024.0 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::high_water;

    #[test]
    fn the_peak_is_that_of_the_resident_set() {
        let text = "VmPeak:\t   99999 kB\nVmHWM:\t    1000 kB\nVmRSS:\t     500 kB\n";
        assert_eq!(high_water(text), Some(1.024));
        assert_eq!(high_water("Name:\tzombie\n"), None);
    }
}
