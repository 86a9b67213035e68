//! A sampled run -> files of other programs, opened by ArviZ (both generations), xarray, pandas,
//! polars and CmdStanPy.
//!
//! The script `crates/exmc-files/tests/open_with_arviz.py` compares every number that they read,
//! and `az.loo` with `exmc loo`.

use std::path::Path;
use std::process::Command;

use crate::ci::{cargo, target_folder};
use crate::root;

/// What the script imports, and the clients whose pages are run.
const PACKAGES: [&str; 9] = [
    "arviz",
    "bridgestan",
    "cmdstanpy",
    "h5netcdf",
    "netcdf4",
    "pandas",
    "polars",
    "pyarrow",
    "zarr",
];

const MODEL: &str = "\
data { int N; vector[N] y; vector[N] sigma; }
parameters { real mu; real<lower=0> tau; vector[N] z; matrix[2, 3] m; }
transformed parameters { vector[N] theta = mu + tau * z; }
model {
  mu ~ normal(0, 5); tau ~ cauchy(0, 5); z ~ std_normal(); to_vector(m) ~ normal(0, 1);
  y ~ normal(theta, sigma);
}
generated quantities {
  vector[N] log_lik;
  array[N] real y_rep;
  for (n in 1:N) {
    log_lik[n] = normal_lpdf(y[n] | theta[n], sigma[n]);
    y_rep[n] = normal_rng(theta[n], sigma[n]);
  }
}
";

const DATA: &str =
    r#"{"N": 8, "y": [28, 8, -3, 7, -1, 1, 18, 12], "sigma": [15, 10, 16, 11, 9, 11, 10, 18]}"#;

/// A program that records no log likelihoods: they are computed from its statements on `y` and on
/// `k`.
const PLAIN: &str = "\
data { int N; vector[N] x; vector[N] y; array[N] int k; }
parameters { real a; real b; real<lower=0> s; }
model {
  a ~ normal(0, 2); b ~ normal(0, 2); s ~ exponential(1);
  y ~ student_t(4, a + b * x, s);
  for (n in 1:N) target += poisson_log_lpmf(k[n] | b + 0.1 * x[n]);
}
";

const PLAIN_DATA: &str = r#"{"N": 10, "x": [-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5],
    "y": [-1.2, -1.1, 0.3, 0.2, 0.4, 1.1, 1.9, 1.6, 7.5, 3.1], "k": [1, 3, 2, 0, 4, 2, 5, 1, 9, 4]}"#;

/// Samples, exports and opens the files; `python` has the packages, else they are installed into
/// an environment of cargo's target folder.
///
/// # Errors
/// A command that failed; an environment that cannot be made is no error but a line that says so.
pub(crate) fn files(python: Option<&str>) -> Result<(), String> {
    let python = match python {
        Some(python) => python.to_owned(),
        None => match environment("python", &["arviz<1"]) {
            Ok(python) => python,
            Err(why) => {
                println!("skipped: files opened by ArviZ, as there is no Python for it ({why})");
                return Ok(());
            }
        },
    };
    cargo(&["build", "-p", "exmc-cli"], &[])?;
    let folder = target_folder().join("files");
    // What an earlier call left.
    let _ = std::fs::remove_dir_all(&folder);
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).map_err(|e| format!("{name}: {e}"))
    };
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    write("m.stan", MODEL)?;
    write("d.json", DATA)?;
    let program =
        target_folder().join("debug/exmc").with_extension(std::env::consts::EXE_EXTENSION);
    let program = program.canonicalize().map_err(|e| format!("{}: {e}", program.display()))?;
    let exmc = |text: &str| {
        let mut command = Command::new(&program);
        run(command.current_dir(&folder).args(text.split_whitespace()))
    };
    exmc(
        "sample m.stan --data d.json --out run --draws 200 --warmup 200 --save-warmup -q --seed 3",
    )?;
    for (format, name) in [
        ("netcdf", "run.nc"),
        ("zarr", "run.zarr"),
        ("parquet", "run.parquet"),
        ("json", "run.json"),
    ] {
        exmc(&format!(
            "export run --format {format} --out {name} --observed y --posterior-predictive y_rep"
        ))?;
    }
    exmc("export run --out csv")?;
    write("plain.stan", PLAIN)?;
    write("plain-data.json", PLAIN_DATA)?;
    exmc("sample plain.stan --data plain-data.json --out plain --draws 500 -q --seed 5")?;
    exmc("export plain --format netcdf --out plain.nc")?;
    let loo = Command::new(&program).current_dir(&folder).args(["loo", "plain", "--json"]).output();
    write("plain-loo.json", &String::from_utf8_lossy(&loo.map_err(|e| e.to_string())?.stdout))?;
    let script = root().join("crates/exmc-files/tests/open_with_arviz.py");
    let open =
        |python: &str| run(Command::new(python).arg("-W").arg("ignore").arg(&script).arg(&folder));
    open(&python)?;
    // The other generation of ArviZ, where this machine's Python is new enough for it.
    match environment("python-arviz-1", &["arviz>=1"]) {
        Ok(python) => open(&python),
        Err(why) => {
            println!("skipped: files opened by ArviZ 1, which needs a newer Python ({why})");
            Ok(())
        }
    }
}

/// A Python with the packages, and with packages of given versions.
///
/// # Errors
/// When it cannot be made: there is no Python, or no network.
pub(crate) fn environment(name: &str, versions: &[&str]) -> Result<String, String> {
    let folder = target_folder().join(name);
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let imports = PACKAGES.map(|name| if name == "netcdf4" { "netCDF4" } else { name }).join(", ");
    let has_packages = |python: &Path| {
        let mut command = Command::new(python);
        let ran = command.args(["-W", "ignore", "-c", &format!("import {imports}")]).output();
        ran.is_ok_and(|output| output.status.success())
    };
    if !has_packages(&python) {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let mut install = Command::new(&python);
        run(install.args(["-m", "pip", "install", "--quiet"]).args(PACKAGES).args(versions))?;
    }
    Ok(python.display().to_string())
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("{command:?}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}
