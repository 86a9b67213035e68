//! Files that a run reads -> data, initial values and points, with the words that clients look for
//! where something is wrong with them.

use std::fs;

use exmc::StanProgram;
use exmc::advanced::BoundModel;
use exmc::model::Values;
use exmc::stan::StanModel;
use exmc_stan::typed::Type;
use serde_json::Value;

use super::csv::{file_names, split_ending};
use crate::console::complain;
use crate::failure::Failure;
use crate::position::position_of;
use crate::rdump;

/// Data as JSON, whatever they were read from.
pub(super) struct DataText {
    pub(super) name: String,
    pub(super) text: String,
}

/// Reads a file of variables: JSON by its ending, R's dump format otherwise; no name is no file.
pub(super) fn read_data(path: &str) -> Result<DataText, Failure> {
    let name = path.to_owned();
    if path.is_empty() {
        return Ok(DataText { name: "no data".to_owned(), text: "{}".to_owned() });
    }
    let bytes = fs::read(path).map_err(|e| Failure::unreadable(path, &e))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::exception(format!("`{path}` is not UTF-8")))?;
    if split_ending(path).1 == ".json" {
        return Ok(DataText { name, text });
    }
    complain(&format!(
        "Warning: file '{path}' is being read as an 'RDump' file.\n\
         \tThis format is deprecated and will not receive new features.\n\
         \tConsider saving your data in JSON format instead."
    ));
    let text = rdump::to_json(&text).map_err(|e| Failure::exception(format!("`{path}`, {e}")))?;
    Ok(DataText { name, text })
}

/// The files of several chains: `STEM_ID.ENDING` for each, where the first exists, or one for all.
pub(super) fn chain_files(path: &str, n: u64, id: u64) -> Vec<String> {
    if n > 1 && !path.is_empty() {
        let (stem, ending) = split_ending(path);
        let files = file_names(stem, "", ending, n, id);
        let files: Vec<String> = files;
        if files.first().is_some_and(|first| fs::metadata(first).is_ok()) {
            return files;
        }
    }
    vec![path.to_owned(); n as usize]
}

/// Where chains start.
pub(super) struct Inits {
    /// Coordinates that are not given are uniform between minus and plus this.
    pub(super) radius: f64,
    /// The value of `init`, where it is no radius.
    path: Option<String>,
}

impl Inits {
    /// From the argument `init`: a radius or a file.
    pub(super) fn read(init: &str) -> Self {
        match init.parse::<f64>() {
            Ok(radius) => Self { radius, path: None },
            Err(_) => Self { radius: 2.0, path: Some(init.to_owned()) },
        }
    }

    /// Values for each of `n` chains; none for one that starts at random.
    pub(super) fn values(
        &self,
        model: &StanModel,
        (n, id): (u64, u64),
        program: &StanProgram,
    ) -> Result<Vec<Values>, Failure> {
        self.each(model, (n, id), program).into_iter().collect()
    }

    /// The same, each with what is wrong with it.
    pub(super) fn each(
        &self,
        model: &StanModel,
        (n, id): (u64, u64),
        program: &StanProgram,
    ) -> Vec<Result<Values, Failure>> {
        let Some(path) = &self.path else {
            return (0..n).map(|_| Ok(Values::new())).collect();
        };
        let files = chain_files(path, n, id);
        files.iter().map(|file| values(model, &read_data(file)?, program)).collect()
    }

    /// Values for one chain.
    pub(super) fn one(
        &self,
        model: &StanModel,
        id: u64,
        program: &StanProgram,
    ) -> Result<Values, Failure> {
        Ok(self.values(model, (1, id), program)?.pop().unwrap_or_default())
    }
}

/// Values of parameters, checked against their constraints.
pub(super) fn values(
    model: &StanModel,
    read: &DataText,
    program: &StanProgram,
) -> Result<Values, Failure> {
    let values = model
        .inits(&read.name, &read.text)
        .map_err(|error| explain(error.into(), program, "parameter initialization"))?;
    unconstrain(model.bound(), &values)?;
    Ok(values)
}

/// A position, with what is wrong in words that name the value where it is a number.
pub(super) fn unconstrain(bound: &BoundModel, values: &Values) -> Result<Vec<f64>, Failure> {
    position_of(bound, values).map_err(|error| {
        let scalars = values.iter().filter(|(_, value)| value.values().len() == 1);
        let wrong = scalars.filter(|(name, value)| {
            let only = Values::from([((*name).clone(), (*value).clone())]);
            bound.unconstrain(&only).is_err()
        });
        let mut told = error;
        for (name, value) in wrong {
            let value = value.values()[0];
            told.push_str(&format!(
                "\n{name}: Bounded variable is {value}, but must lie within its bounds"
            ));
        }
        Failure::exception(told)
    })
}

/// An error of data or of initial values; where a variable is missing, CmdStan's words come first.
pub(super) fn explain(error: exmc::Error, program: &StanProgram, stage: &str) -> Failure {
    let Some(stan) = error.as_stan_error() else { return Failure::from(error) };
    let typed = program.typed();
    let declared = typed.data.iter().chain(&typed.parameters);
    let named = declared.map(|d| typed.variable(d.variable));
    let missing = named.filter(|variable| {
        let words = format!("the data have no `{}`, which the program declares", variable.name);
        stan.diagnostics.iter().any(|d| d.message == words)
    });
    let mut told = String::new();
    for variable in missing {
        told.push_str(&missing_words(stage, &variable.name, &variable.ty));
        told.push('\n');
    }
    Failure::exception(format!("{told}{stan}"))
}

/// What CmdStan says of a variable that a file lacks.
pub(super) fn missing_words(stage: &str, name: &str, ty: &Type) -> String {
    let base = if *ty.array_parts().1 == Type::Int { "int" } else { "double" };
    format!(
        "variable does not exist; processing stage={stage}; variable name={name}; base type={base}"
    )
}

/// A JSON number that may be spelled as a text: `"Inf"`, `"-inf"`, `"NaN"`.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(x) => x.as_f64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// Numbers of a JSON array.
pub(super) fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(number).collect()
}

/// One row of numbers, or several of the same length.
pub(super) fn rows(value: &Value) -> Option<Vec<Vec<f64>>> {
    let is_nested = value.as_array()?.first().is_some_and(Value::is_array);
    if !is_nested {
        return Some(vec![numbers(value)?]);
    }
    value.as_array()?.iter().map(numbers).collect()
}
