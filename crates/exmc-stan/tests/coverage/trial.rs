//! A call's text -> whether it runs in the density with its gradient, and on values.

use std::panic::{AssertUnwindSafe, catch_unwind};

use exmc_graph::differentiate;
use exmc_stan::diagnostic::Class;
use exmc_stan::host::tape::log_density_and_gradient;
use exmc_stan::host::{Environment, FaultKind, Interpreter, Settings};
use exmc_stan::lower::{Options, lower};
use exmc_stan::typed::Type;

use crate::support::try_program;

/// What came of a call.
#[derive(Clone, Debug)]
pub(crate) enum Trial {
    Ran,
    Refused(String),
    /// The arguments were wrong.
    Unfit(String),
}

/// A call in the density: what its parameters are declared as, the call, and numbers for the
/// parameters, in several ways.
#[derive(Clone, Debug)]
pub(crate) struct DensityCall {
    pub(crate) ways: Vec<(String, String, Vec<f64>)>,
    pub(crate) returns: Type,
}

/// An expression for a number that every element of `text`'s value is part of.
pub(crate) fn number(ty: &Type, text: &str) -> String {
    match ty {
        Type::Int | Type::Real => text.to_owned(),
        Type::Complex => format!("get_real({text})"),
        Type::Vector | Type::RowVector | Type::Matrix => format!("sum({text})"),
        Type::ComplexVector | Type::ComplexRowVector | Type::ComplexMatrix => {
            format!("get_real(sum({text}))")
        }
        Type::Tuple(slots) => {
            let slots = slots.iter().enumerate();
            let parts: Vec<String> =
                slots.map(|(k, ty)| number(ty, &format!("({text}).{}", k + 1))).collect();
            parts.join(" + ")
        }
        Type::Array(element) if matches!(**element, Type::Int | Type::Real) => {
            format!("sum({text})")
        }
        Type::Array(..) => {
            let (depth, element) = ty.array_parts();
            number(element, &format!("{text}[{}]", vec!["1"; depth].join(", ")))
        }
        other => panic!("no function gives {other:?}"),
    }
}

/// The first of several trials that says something about the function.
fn first(trials: impl Iterator<Item = Trial>) -> Trial {
    let mut last = Trial::Unfit("nothing to try".into());
    for trial in trials {
        match trial {
            Trial::Unfit(_) => last = trial,
            _ => return trial,
        }
    }
    last
}

pub(crate) fn density(call: &DensityCall) -> Trial {
    first(call.ways.iter().map(|(declared, text, _)| density_of(&call.program(declared, text))))
}

/// The same on the interpreter's tape.
pub(crate) fn tape(call: &DensityCall) -> Trial {
    let run = |(declared, text, position): &(String, String, Vec<f64>)| {
        tape_of(&call.program(declared, text), position)
    };
    first(call.ways.iter().map(run))
}

impl DensityCall {
    fn program(&self, declared: &str, text: &str) -> String {
        let number = number(&self.returns, text);
        // Functions that add a log Jacobian are called there.
        format!(
            "parameters {{ {declared} }} transformed parameters {{ real q = {number}; }} model {{ target += q; }}"
        )
    }
}

/// Evaluates a program without data on the tape.
pub(crate) fn tape_of(text: &str, position: &[f64]) -> Trial {
    let program = match try_program(text) {
        Ok(program) => program,
        Err(errors) => return Trial::Unfit(format!("{errors:?} in {text}")),
    };
    guarded(|| match log_density_and_gradient(&program, &Environment::new(&program), position) {
        Ok(_) => Trial::Ran,
        Err(error) if error.kind == FaultKind::Unsupported => {
            Trial::Refused(error.message.to_string())
        }
        Err(error) => Trial::Unfit(format!("{} in {text}", error.message)),
    })
}

pub(crate) fn quantities((ways, returns): &(Vec<String>, Type)) -> Trial {
    first(ways.iter().map(|text| {
        let number = number(returns, text);
        quantities_of(&format!("generated quantities {{ real q = {number}; }}"))
    }))
}

fn guarded(run: impl FnOnce() -> Trial) -> Trial {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| Trial::Refused("a panic".into()))
}

/// Lowers a program without data and differentiates its density.
pub(crate) fn density_of(text: &str) -> Trial {
    let program = match try_program(text) {
        Ok(program) => program,
        Err(errors) => return Trial::Unfit(format!("{errors:?} in {text}")),
    };
    guarded(|| {
        let environment = Environment::new(&program);
        match lower(&program, &environment, Options::default()) {
            Ok(mut found) => {
                let l = &mut found.lowered;
                let inputs: Vec<_> = l.layout.iter().map(|e| e.input).collect();
                match differentiate(&mut l.graph, l.logp, &inputs) {
                    Ok(_) => Trial::Ran,
                    Err(error) => Trial::Refused(error.to_string()),
                }
            }
            Err(all) if all.iter().any(|d| d.class == Class::Unsupported) => {
                Trial::Refused(all[0].message.clone())
            }
            Err(all) => Trial::Unfit(format!("{} in {text}", all[0].message)),
        }
    })
}

/// Runs the generated quantities of a program without data and parameters.
pub(crate) fn quantities_of(text: &str) -> Trial {
    let program = match try_program(text) {
        Ok(program) => program,
        Err(errors) => return Trial::Unfit(format!("{errors:?} in {text}")),
    };
    guarded(|| {
        let mut environment = Environment::new(&program);
        let mut host = Interpreter::new(&program, Settings::default());
        match host.generate_in_place(&mut environment, 0, 0) {
            Ok(None) => Trial::Ran,
            Err(error) if error.kind == FaultKind::Unsupported => {
                Trial::Refused(error.message.clone())
            }
            Ok(Some(error)) => Trial::Unfit(format!("{} in {text}", error.message)),
            Err(error) => Trial::Unfit(format!("{} in {text}", error.message)),
        }
    })
}
