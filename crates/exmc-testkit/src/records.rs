//! Draws that are kept and judged: known numbers -> a run's files and summaries, against the
//! documented layout and ArviZ's values.

use std::path::Path;

use exmc::SamplerConfig;
use exmc::diagnose::{Draws, LooBuilder, PowerScaling, Summary, waic};
use exmc::infer::{ChainOutcome, Info, RunPhase};
use exmc::runs::{ChainDraws, Posterior, Variable};
use exmc_draws::{Method, ModelText, RunDirectory, RunRecord, RunStatus, RunTexts, read_run};
use exmc_math::{cos, sin};

const WARMUP: usize = 3;
const DRAWS: usize = 5;
const COLUMNS: usize = 3;

/// Numbers that have nothing in common but that each is another one, NaN with a payload among them.
fn number(chain: usize, row: usize, column: usize) -> f64 {
    if (row, column) == (2, 1) {
        return f64::from_bits(0x7ff8_0000_0000_0100 + chain as u64);
    }
    1.0 / (1.0 + (100 * chain + 10 * row + column) as f64)
}

fn info(chain: usize, row: usize) -> Info {
    let mut info = Info::still(-(row as f64) / 7.0, 0.1 + chain as f64);
    (info.n_steps, info.tree_depth) = (3 + row as u32, 2);
    (info.moved, info.divergent, info.recovered) = (row != 4, row == 5, row == 6);
    info
}

/// Writes a run of two chains, looks at its bytes as the documentation of the format has them,
/// reads it back, and once more with one bit changed.
pub(crate) fn run_files() -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("exmc-run-files-{}", std::process::id()));
    let outcome = in_folder(&folder);
    // What is left behind harms nobody.
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

fn in_folder(folder: &Path) -> Result<(), String> {
    write(folder).map_err(|e| e.to_string())?;
    for chain in 0..2 {
        let bytes = read(&folder.join(format!("chain-{chain}.draws")))?;
        check_bytes(chain, &bytes)?;
    }
    let run = read_run(folder).map_err(|e| e.to_string())?;
    if !run.notes.is_empty() {
        return Err(format!("notes of a sound run: {:?}", run.notes));
    }
    for (k, chain) in run.posterior.chains.iter().enumerate() {
        let found = (chain.warmup_infos.len(), chain.infos.len());
        if found != (WARMUP, DRAWS) {
            return Err(format!("chain {k} has {found:?} draws, ({WARMUP}, {DRAWS}) were written"));
        }
        let values = chain.warmup_values.iter().chain(&chain.values);
        let expected = (0..(WARMUP + DRAWS) * COLUMNS).map(|i| number(k, i / COLUMNS, i % COLUMNS));
        for (i, (found, expected)) in values.zip(expected).enumerate() {
            if found.to_bits() != expected.to_bits() {
                return Err(format!("chain {k}, value {i}: {found}, written was {expected}"));
            }
        }
        let infos = chain.warmup_infos.iter().chain(&chain.infos);
        for (row, found) in infos.enumerate() {
            if *found != info(k, row) {
                return Err(format!(
                    "chain {k}, row {row}: {found:?}, written was {:?}",
                    info(k, row)
                ));
            }
        }
    }
    // One bit of a value of the sixth record.
    let path = folder.join("chain-1.draws");
    let mut bytes = read(&path)?;
    bytes[HEADER + 5 * RECORD + 80] ^= 1;
    std::fs::write(&path, bytes).map_err(|e| e.to_string())?;
    let run = read_run(folder).map_err(|e| e.to_string())?;
    let left = run.posterior.chains[1].infos.len();
    if left != 5 - WARMUP || run.notes.is_empty() {
        return Err(format!("a changed bit leaves {left} draws, and notes {:?}", run.notes));
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn write(folder: &Path) -> Result<(), exmc_draws::RunError> {
    let variable = |name: &str, shape: Vec<usize>, offset| Variable {
        name: name.to_owned(),
        shape,
        dims: Vec::new(),
        offset,
        first_index: 0,
    };
    let variables = vec![variable("a", vec![2], 0), variable("b", Vec::new(), 2)];
    let mut config = SamplerConfig::default();
    (config.chains, config.warmup, config.draws) = (2, WARMUP as u64, DRAWS as u64);
    let record = RunRecord {
        program: "test".to_owned(),
        method: Method::Sample,
        model: "model".to_owned(),
        started: 0,
        status: RunStatus::Running,
        error: None,
        config: config.clone(),
        executor: "native".to_owned(),
        without: Vec::new(),
        save_warmup: true,
        variables: variables.clone(),
        coordinates: Vec::new(),
        warnings: Vec::new(),
        seconds: 0.0,
        chains: Vec::new(),
        origin: None,
    };
    let (mut directory, mut writers) =
        RunDirectory::create(folder, record, &RunTexts::model(ModelText::Json("{}")))?;
    let mut chains = Vec::new();
    for (k, writer) in writers.iter_mut().enumerate() {
        for row in 0..WARMUP + DRAWS {
            let (phase, index) = match row.checked_sub(WARMUP) {
                None => (RunPhase::Warmup, row),
                Some(index) => (RunPhase::Sampling, index),
            };
            let values = [number(k, row, 0), number(k, row, 1), number(k, row, 2)];
            writer.append(phase, index as u64, &info(k, row), &values)?;
        }
        writer.finish()?;
        chains.push(ChainDraws {
            chain: k as u32,
            values: Vec::new(),
            infos: Vec::new(),
            warmup_values: Vec::new(),
            warmup_infos: Vec::new(),
            leapfrogs: 0,
            warmup_seconds: 0.0,
            sampling_seconds: 0.0,
            raised_target: None,
            restarts: Vec::new(),
            tuned: None,
            outcome: ChainOutcome::Completed,
        });
    }
    let posterior = Posterior {
        variables,
        chains,
        seconds: 0.0,
        max_depth: config.max_depth,
        warnings: Vec::new(),
    };
    directory.finish(RunStatus::Completed, None, &posterior)
}

/// Sizes in bytes, as documented.
const HEADER: usize = 32;
const RECORD: usize = 24 + 8 * (6 + COLUMNS);

fn check_bytes(chain: usize, bytes: &[u8]) -> Result<(), String> {
    if bytes.len() != HEADER + (WARMUP + DRAWS) * RECORD || &bytes[..8] != b"exmcdraw" {
        return Err(format!("chain {chain}: a file of {} bytes", bytes.len()));
    }
    for (row, record) in bytes[HEADER..].chunks_exact(RECORD).enumerate() {
        let word = |offset: usize| u32::from_le_bytes([0, 1, 2, 3].map(|k| record[offset + k]));
        let in_warmup = row < WARMUP;
        let index = if in_warmup { row } else { row - WARMUP };
        let flag = |on: bool, bit: u32| if on { bit } else { 0 };
        let flags = flag(in_warmup, 1) | flag(row != 4, 2) | flag(row == 5, 4) | flag(row == 6, 32);
        let found = (word(0), word(4), word(8), word(12), word(16));
        if found != (index as u32, 0, 2, 3 + row as u32, flags) {
            return Err(format!("chain {chain}, row {row}: integers {found:?}"));
        }
        let rest: Vec<u8> = record[..20].iter().chain(&record[24..]).copied().collect();
        if word(20) != crc32(&rest) {
            return Err(format!("chain {chain}, row {row}: checksum {:08x}", word(20)));
        }
        for column in 0..COLUMNS {
            let offset = 72 + 8 * column;
            let bits = u64::from(word(offset)) | u64::from(word(offset + 4)) << 32;
            if bits != number(chain, row, column).to_bits() {
                return Err(format!("chain {chain}, row {row}, column {column}: {bits:016x}"));
            }
        }
    }
    Ok(())
}

/// CRC-32 of ISO 3309, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    !crc
}

/// Summaries of two arrays of four chains with 100 draws each, against what ArviZ 0.23.4 gives for
/// them (the same numbers as in the specification and in `exmc-diagnose/tests/arviz.rs`, there of
/// the single functions).
pub(crate) fn diagnostics() -> Result<(), String> {
    let table = |draw: fn(f64, f64) -> f64| -> Vec<Vec<f64>> {
        let chain = |c: i32| (0..100).map(|t| draw(f64::from(c), f64::from(t))).collect();
        (0..4).map(chain).collect()
    };
    let summary = |rows: &[Vec<f64>]| {
        let chains: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        Draws::new(&chains).map(|draws| Summary::of(&draws)).map_err(|e| e.to_string())
    };
    let mixed = table(|c, t| sin(0.37 * t * (1.0 + c)) + 0.05 * c + 0.2 * cos(t * t));
    let mixed = summary(&mixed)?;
    let slow = summary(&table(|c, t| 0.5 * c + sin(0.05 * t + c)))?;
    let expected = [
        ("R-hat", mixed.rhat, 0.999_536_602_880_541_7),
        ("bulk", mixed.ess_bulk, 211.743_502_7),
        ("tail", mixed.ess_tail, 375.085_232_0),
        ("MCSE", mixed.mcse_mean, 0.051_219_1),
        ("slow R-hat", slow.rhat, 1.811_100_7),
        ("slow bulk", slow.ess_bulk, 6.289_637_2),
        ("slow tail", slow.ess_tail, 12.051_926_6),
    ];
    for (name, found, expected) in expected {
        // Seven decimals are known of all but the first.
        let close = (found - expected).abs() <= 1e-7_f64.max(1e-10 * expected);
        if !close {
            return Err(format!("{name}: {found}, ArviZ has {expected}"));
        }
    }
    Ok(())
}

/// Leave-one-out, WAIC and power scaling of log likelihoods given by a formula, against what ArviZ
/// makes of them: 0.23.4 for the first, numpy with the divisors n - 1 for errors and WAIC, 1.3.3
/// for the sensitivity.
pub(crate) fn predictions() -> Result<(), String> {
    let places: Vec<f64> = (0..1000).map(f64::from).collect();
    let mu: Vec<f64> =
        places.iter().map(|s| 1.3 * sin(1.7 * s) + 0.4 * cos(0.31 * s * s)).collect();
    let log_lik: Vec<Vec<f64>> = [-1.5, 0.2, 0.9, 2.6]
        .iter()
        .map(|y| mu.iter().map(|m| -0.5 * (y - m) * (y - m)).collect())
        .collect();
    let mut builder = LooBuilder::new();
    log_lik.iter().for_each(|row| _ = builder.push(row, 1.0));
    let loo = builder.finish();
    let waic = waic(log_lik.iter().map(Vec::as_slice));
    let total: Vec<f64> = (0..1000).map(|s| log_lik.iter().map(|row| row[s]).sum()).collect();
    let (component, variable): (Vec<&[f64]>, Vec<&[f64]>) =
        (total.chunks(250).collect(), mu.chunks(250).collect());
    let draws_of = |chains| Draws::new(chains).map_err(|e| e.to_string());
    let sensitivity = PowerScaling::new(&draws_of(&component)?).sensitivity(&draws_of(&variable)?);
    let expected = [
        ("elpd_loo", loo.elpd, -11.308_230_035_572_992),
        ("its error", loo.se, 5.209_806_835_659_436),
        ("Pareto k", loo.pointwise[1].pareto_k, -0.563_409_501_953_723_4),
        ("p_waic", waic.p_waic, 9.814_306_238_514_042),
        ("elpd_waic", waic.elpd, -13.625_914_137_557_29),
        ("sensitivity", sensitivity, 0.542_488_103_211_847_7),
    ];
    for (name, found, expected) in expected {
        // Smoothing takes logarithms of differences of nearly equal numbers.
        if (found - expected).abs() > 1e-8 * expected.abs() {
            return Err(format!("{name}: {found}, expected {expected}"));
        }
    }
    Ok(())
}
