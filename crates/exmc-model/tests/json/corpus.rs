//! The corpus of bad input: one mistake a file, each with the exact text that a user gets.
//!
//! `bad/NAME.json` is a model; `bad/NAME.data.json` is data, for the model `bad/NAME.model.json` if
//! there is one. `bad/NAME.txt` is what is expected; `EXMC_BLESS=1` writes what was found instead
//! of comparing.

use std::collections::BTreeSet;

use exmc_graph::evaluate;
use exmc_model::{
    DataSet, LowerOptions, Model, ModelError, decode_utf8, lower, read_data, read_json, rewrite,
};

use crate::json::support::{corpus, corpus_folder};

/// All that can be found wrong with a model before sampling.
fn check_model(bytes: &[u8]) -> Result<Model, ModelError> {
    let model = read_json(decode_utf8(bytes)?)?;
    lower(&rewrite(&model, &[])?, LowerOptions::default())?;
    Ok(model)
}

/// All that can be found wrong with data, by themselves or together with a model.
fn check_data(bytes: &[u8], model: Option<&Model>) -> Result<DataSet, ModelError> {
    let data = read_data(decode_utf8(bytes)?)?;
    let Some(model) = model else { return Ok(data) };
    data.check_against(model)?;
    let bound = data.bind(model)?;
    let lowered = lower(&rewrite(model, &[])?, LowerOptions::default())?;
    for check in lowered.checks {
        let held = evaluate(&lowered.graph, &[check.predicate], &|name| bound.get(name).cloned());
        if held.unwrap()[0].as_scalar() != Some(1.0) {
            return Err(check.diagnostic.into());
        }
    }
    Ok(data)
}

#[test]
fn every_bad_input_gets_its_exact_message() {
    let bless = std::env::var_os("EXMC_BLESS").is_some();
    let mut codes = BTreeSet::new();
    let (mut cases, mut wrong) = (0, Vec::new());
    let files = corpus("bad", ".json");
    for (file, bytes) in &files {
        let name = file.strip_suffix(".json").unwrap();
        if name.ends_with(".model") {
            continue;
        }
        let error = match name.strip_suffix(".data") {
            None => check_model(bytes).err(),
            Some(stem) => {
                let model = files.iter().find(|(f, _)| *f == format!("{stem}.model.json"));
                let model = model.map(|(_, bytes)| check_model(bytes).unwrap());
                check_data(bytes, model.as_ref()).err()
            }
        };
        let Some(error) = error else {
            wrong.push(format!("{file}: nothing was found wrong"));
            continue;
        };
        cases += 1;
        codes.extend(error.diagnostics().iter().map(|d| d.code.name()));
        let expected = corpus_folder("bad").join(format!("{name}.txt"));
        let found = format!("{error}\n");
        if bless {
            std::fs::write(&expected, &found).unwrap();
        } else if std::fs::read_to_string(&expected).ok().as_ref() != Some(&found) {
            wrong.push(format!("{file}: found\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "set EXMC_BLESS=1 to accept\n{}", wrong.join("\n"));
    assert!(cases >= 40, "found {cases}");
    // `not-finite` is what the start of sampling finds; it needs no text of a file.
    let all = [
        "unknown-reference",
        "duplicate-name",
        "invalid-name",
        "cycle",
        "shape-mismatch",
        "outside-support",
        "singular-matrix",
        "unknown-distribution",
        "unknown-parameter",
        "missing-parameter",
        "unknown-function",
        "bad-arguments",
        "bad-transform",
        "bad-observation",
        "discrete-variable",
        "missing-data",
        "unknown-data",
        "bad-data",
        "bad-json",
    ];
    assert_eq!(codes, BTreeSet::from(all), "each code has a case");
}

#[test]
fn every_expected_message_has_its_input() {
    let inputs: BTreeSet<_> = corpus("bad", ".json").into_iter().map(|(f, _)| f).collect();
    for (file, _) in corpus("bad", ".txt") {
        let input = file.replace(".txt", ".json");
        assert!(inputs.contains(&input), "{file} belongs to no input");
    }
}
