//! The exact words of one mistake of each kind, as a user reads them (`not-finite` is the
//! sampler's, see the facade's tests).

use exmc_graph::{DType, Tensor};
use exmc_model::distributions::{
    dirichlet, family, family_named, mixture, multi_normal, normal, poisson, uniform,
};
use exmc_model::{Code, Expr, ModelBuilder, TransformSpec, read_data, read_json};

use crate::adversarial::harness::lowered;

/// Declares a model's mistake; its text must be `expected`, where `{here}` stands for this file's
/// lines.
#[track_caller]
fn says(code: Code, expected: &str, change: impl FnOnce(&mut ModelBuilder)) {
    let error = lowered(change).unwrap_err();
    let [mistake] = error.diagnostics() else { panic!("{error}") };
    assert_eq!(mistake.code, code, "{error}");
    let text: Vec<String> = error.to_string().lines().map(without_place).collect();
    assert_eq!(text.join("\n"), expected);
}

fn without_place(line: &str) -> String {
    match line.split_once("errors.rs:") {
        Some((before, number)) if line.starts_with("  --> ") => {
            assert!(before.contains("adversarial") && number.parse::<u32>().is_ok(), "{line}");
            "  --> {here}".to_owned()
        }
        _ => line.to_owned(),
    }
}

#[test]
fn names() {
    says(
        Code::UnknownReference,
        "error[unknown-reference] in `y`: nothing is called `sigm`\n  --> {here}\n  help: did you mean `sigma`?",
        |m| {
            m.rv("sigma", uniform(0.0, 1.0));
            m.rv("y", normal(0.0, "sigm"));
        },
    );
    says(
        Code::InvalidName,
        "error[invalid-name] in `a b`: `a b` cannot be a name\n  --> {here}\n  help: a name starts with a letter or underscore and holds letters, digits and _ . [ ] ,",
        |m| {
            let _ = m.rv("a b", normal(0.0, 1.0));
        },
    );
    says(
        Code::Cycle,
        "error[cycle] in `a`: values need each other: `a` -> `b` -> `a`\n  --> {here}\n  help: a model is a directed graph without cycles; break the circle at one of these",
        |m| {
            m.rv("b", normal("a", 1.0));
            m.rv("a", normal("b", 1.0));
        },
    );
    let mut m = ModelBuilder::new();
    m.rv("x", normal(0.0, 1.0));
    m.rv("x", normal(0.0, 1.0));
    let text = m.build().unwrap_err().to_string();
    assert!(
        text.starts_with("error[duplicate-name] in `x`: `x` is declared twice, first at "),
        "{text}"
    );
    assert!(
        text.ends_with("help: give every node, observations included, a name of its own"),
        "{text}"
    );
}

#[test]
fn shapes_and_values() {
    says(
        Code::ShapeMismatch,
        "error[shape-mismatch] in `x`: its declared shape is [2], but its parameters have shape [3]\n  --> {here}",
        |m| {
            let _ = m.rv("x", normal([0.0, 1.0, 2.0], 1.0)).shape([2]);
        },
    );
    says(
        Code::ShapeMismatch,
        "error[shape-mismatch] in `o`: the value has shape [3], but `x` has shape [2]\n  --> {here}",
        |m| {
            m.rv("x", normal(0.0, 1.0)).shape([2]);
            m.observe("o", "x", [1.0, 2.0, 3.0]);
        },
    );
    says(
        Code::OutsideSupport,
        "error[outside-support] in `x`: parameter `sigma` of normal must be positive, found -1\n  --> {here}",
        |m| {
            let _ = m.rv("x", normal(0.0, -1.0));
        },
    );
    says(
        Code::OutsideSupport,
        "error[outside-support] in `o`: the value lies outside of the support of poisson: it must be a count 0, 1, 2, ...\n  --> {here}",
        |m| {
            m.rv("x", poisson(1.0));
            m.observe("o", "x", 1.5);
        },
    );
    says(
        Code::SingularMatrix,
        "error[singular-matrix] in `x`: parameter `covariance` of multi_normal must be symmetric and positive definite (not singular)\n  --> {here}",
        |m| {
            let matrix = Tensor::real([2, 2], vec![1.0, 1.0, 1.0, 1.0]).unwrap();
            let _ = m.rv("x", multi_normal([0.0, 0.0], matrix));
        },
    );
}

#[test]
fn distributions_and_functions() {
    says(
        Code::UnknownDistribution,
        "error[unknown-distribution] in `x`: there is no distribution `norml`\n  --> {here}\n  help: did you mean `normal`?",
        |m| {
            let _ = m.rv("x", family("norml", vec![0.0.into(), 1.0.into()]));
        },
    );
    says(
        Code::UnknownParameter,
        "error[unknown-parameter] in `x`: normal has no parameter `tau`\n  --> {here}\n  help: normal takes normal(mu, sigma)",
        |m| {
            let _ = m.rv("x", family_named("normal", [("mu", 0.0.into()), ("tau", 1.0.into())]));
        },
    );
    says(
        Code::MissingParameter,
        "error[missing-parameter] in `x`: parameter `sigma` of normal is missing\n  --> {here}\n  help: normal takes normal(mu, sigma)",
        |m| {
            let _ = m.rv("x", family("normal", vec![0.0.into()]));
        },
    );
    says(
        Code::MissingParameter,
        "error[missing-parameter] in `x`: a mixture needs at least one component\n  --> {here}",
        |m| {
            let _ = m.rv("x", mixture([1.0], vec![]));
        },
    );
    says(
        Code::UnknownFunction,
        "error[unknown-function] in `d`: there is no function `expp`\n  --> {here}\n  help: did you mean `exp`?",
        |m| {
            m.det("d", Expr::call("expp", [1.0.into()]));
        },
    );
    says(
        Code::BadArguments,
        "error[bad-arguments] in `d`: function `dot` takes 2 argument(s), found 1\n  --> {here}",
        |m| {
            m.det("d", Expr::call("dot", [1.0.into()]));
        },
    );
    says(
        Code::BadArguments,
        "error[bad-arguments] in `d`: index 3 is outside 0..3\n  --> {here}\n  help: indices count from zero",
        |m| {
            m.det("d", Expr::from([1.0, 2.0, 3.0]).at(3));
        },
    );
    says(
        Code::BadArguments,
        "error[bad-arguments] in `d`: gather: the index must be of integers\n  --> {here}\n  help: index with an array of `usize` or with data of integers",
        |m| {
            m.det("d", Expr::from([1.0, 2.0]).gather([0.0, 1.0]));
        },
    );
    says(
        Code::BadTransform,
        "error[bad-transform] in `x`: an increasing vector needs an axis, but the value is a single number\n  --> {here}",
        |m| {
            let _ = m.rv("x", normal(0.0, 1.0)).transform(TransformSpec::Ordered);
        },
    );
    says(
        Code::BadTransform,
        "error[bad-transform] in `x`: `x` cannot be non-centred: dirichlet is not a location-scale family\n  --> {here}\n  help: only location-scale families without a constraint of their own can",
        |m| {
            let _ = m.rv("x", dirichlet([1.0, 1.0])).non_centred();
        },
    );
}

#[test]
fn observations_and_data() {
    says(
        Code::BadObservation,
        "error[bad-observation] in `o2`: `x` is observed by `o1` already\n  --> {here}\n  help: one variable, one observation; give each observed set its own variable",
        |m| {
            m.rv("x", normal(0.0, 1.0));
            m.det("alias", "x");
            m.observe("o1", "x", 1.0);
            m.observe("o2", "alias", 1.0);
        },
    );
    says(
        Code::BadObservation,
        "error[bad-observation] in `o`: `d` is data and cannot be observed\n  --> {here}",
        |m| {
            m.declare_data("d", DType::Real, []);
            m.observe("o", "d", 1.0);
        },
    );
    says(
        Code::BadObservation,
        "error[bad-observation] in `o`: `y` is no random variable, nor an invertible affine or matrix image of one\n  --> {here}\n  help: observe a random variable whose parameters are that expression",
        |m| {
            m.rv("x", normal(0.0, 1.0));
            m.det("y", Expr::name("x").exp());
            m.observe("o", "y", 1.0);
        },
    );
    says(
        Code::DiscreteVariable,
        "error[discrete-variable] in `k`: poisson is discrete, and NUTS moves continuous variables only\n  --> {here}\n  help: observe it, or sum it out (a mixture does this for categories)",
        |m| {
            let _ = m.rv("k", poisson(1.0));
        },
    );
    let mut m = ModelBuilder::new();
    m.declare_data("n", DType::Int, [2]);
    let model = m.build().unwrap();
    let against = |text: &str| {
        let error = read_data(text).unwrap().check_against(&model).unwrap_err();
        error.diagnostics()[0].clone()
    };
    let missing = against("{}");
    assert_eq!(missing.code, Code::MissingData);
    assert_eq!(missing.message, "there is no value for the int data of shape [2]");
    assert_eq!(missing.node.as_deref(), Some("n"));
    let unknown = against(r#"{"n": [1, 2], "nn": 3}"#);
    assert_eq!(unknown.code, Code::UnknownData);
    assert_eq!(unknown.help.as_deref(), Some("did you mean `n`?"));
    let bad = against(r#"{"n": [1, 2, 3]}"#);
    assert_eq!(bad.code, Code::BadData);
    assert_eq!(bad.message, "expected shape [2], found shape [3]");
    assert!(bad.origin.is_some());
    assert!(read_json("{").unwrap_err().has(Code::BadJson));
}
