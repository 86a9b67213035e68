//! Binding and evaluating with data and positions that do not fit: located errors, no panic, no new
//! compilation; and predictive draws of observed images.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Instant;

use exmc::advanced::{CompileOptions, CompiledModel, compile, sample};
use exmc::distributions::{bernoulli, exponential, half_normal, normal};
use exmc::model::{Code, DType, DataSet, Expr, Shape, Tensor, Values, prior_predictive};
use exmc::{ModelBuilder, SamplerConfig};
use exmc_math::{exp, log1p};

fn regression() -> CompiledModel {
    let mut m = ModelBuilder::new();
    m.declare_data("x", DType::Real, Shape::from([3]));
    m.declare_data("group", DType::Int, Shape::from([3]));
    m.declare_data("y", DType::Int, Shape::from([3]));
    m.declare_data("w", DType::Real, Shape::scalar());
    m.rv("a", normal(0.0, 1.0)).shape([2]);
    m.rv("p", bernoulli(Expr::call("inv_logit", [Expr::name("a").gather("group") * "x"])));
    m.observe("o", "p", "y").weight("w");
    compile(&m.build().unwrap(), &CompileOptions::default()).unwrap()
}

fn data() -> Values {
    Values::from([
        ("x".to_owned(), Tensor::vector(&[0.5, -1.0, 2.0])),
        ("group".to_owned(), Tensor::vector(&[0.0, 1.0, 1.0])),
        ("y".to_owned(), Tensor::vector(&[1.0, 0.0, 1.0])),
        ("w".to_owned(), Tensor::scalar(1.0)),
    ])
}

#[test]
fn data_that_do_not_fit_are_located_errors() {
    let compiled = regression();
    compiled.bind(&data()).unwrap();
    let changes: [(&str, Tensor, Code, &str); 6] = [
        ("x", Tensor::vector(&[1.0]), Code::BadData, "expected shape [3], found shape [1]"),
        ("group", Tensor::vector(&[0.0, 0.5, 1.0]), Code::BadData, "0.5"),
        ("group", Tensor::vector(&[0.0, 1.0, 2.0]), Code::BadData, "index 2"),
        ("group", Tensor::vector(&[0.0, -1.0, 1.0]), Code::BadData, "index -1"),
        ("y", Tensor::vector(&[0.0, 2.0, 1.0]), Code::OutsideSupport, "it must be 0 or 1"),
        ("w", Tensor::scalar(-1.0), Code::BadObservation, "weights must be zero or positive"),
    ];
    for (name, value, code, part) in changes {
        let mut changed = data();
        changed.insert(name.to_owned(), value);
        let error = compiled.bind(&changed).unwrap_err();
        let [mistake] = error.diagnostics() else { panic!("{error}") };
        assert_eq!(mistake.code, code, "{error}");
        assert!(mistake.node.is_some() && error.to_string().contains(part), "{error}");
    }
    let mut missing = data();
    missing.remove("x");
    assert_eq!(compiled.bind(&missing).unwrap_err().diagnostics()[0].code, Code::MissingData);
    let mut more = data();
    more.insert("xx".to_owned(), Tensor::scalar(0.0));
    let error = compiled.bind(&more).unwrap_err();
    assert_eq!(error.diagnostics()[0].code, Code::UnknownData);
    assert!(error.to_string().contains("did you mean `x`?"), "{error}");
}

/// New data change the density as a new model would, and nothing is compiled.
#[test]
fn binding_a_thousand_times_compiles_once() {
    let compiled = regression();
    let program = compiled.program().print();
    let mut changed = data();
    let (first, _) = compiled.bind(&changed).unwrap().logp_grad(&[0.3, 0.4]).unwrap();
    for k in 0..1000 {
        let x = [f64::from(k), 0.0, 0.0];
        changed.insert("x".to_owned(), Tensor::vector(&x));
        let (logp, _) = compiled.bind(&changed).unwrap().logp_grad(&[0.3, 0.4]).unwrap();
        let expected = -0.125 - 1.837_877_066_409_345_3 // two standard normal densities at 0.3, 0.4
            - log1p(exp(-0.3 * f64::from(k)))
            - 2.0 * std::f64::consts::LN_2;
        assert!((logp - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{logp} {expected}");
    }
    let (again, _) = compiled.bind(&data()).unwrap().logp_grad(&[0.3, 0.4]).unwrap();
    assert_eq!(first.to_bits(), again.to_bits());
    assert_eq!(compiled.program().print(), program);
}

#[test]
fn positions_of_another_length_are_errors() {
    let bound = regression().bind(&data()).unwrap();
    for position in [&[][..], &[0.0], &[0.0, 0.0, 0.0]] {
        let error = bound.logp_grad(position).unwrap_err();
        assert!(error.to_string().contains("expected 2"), "{error}");
        assert!(bound.constrain(position).is_err());
        assert!(bound.explain(position).is_empty());
    }
}

/// `y = a + x` was observed and x solved for: replicated y vary with x's own distribution, they do
/// not repeat what was seen. Var(y_rep | y) = Var(a | y) + 1 = 1.5; the false-alarm rate of a
/// variance of 2000 draws of effective size 500 outside 1.5 +- 0.5 is below 1e-6.
#[test]
fn replicates_of_an_observed_image_are_new() {
    let mut m = ModelBuilder::new();
    m.rv("mean", normal(0.0, 1.0));
    m.rv("x", normal(0.0, 1.0));
    m.rv("other", normal("mean", 1.0));
    m.det("y", Expr::name("mean") + Expr::name("x"));
    m.observe("o", "y", 0.7);
    let model = m.build().unwrap();
    let fit = exmc::sample(&model, &SamplerConfig::default().seed(3)).unwrap();
    let variance = fit.posterior_predictive().unwrap()["y"].sd().powi(2);
    assert!((variance - 1.5).abs() < 0.5, "{variance}");
}

/// A density that is nowhere finite: the error names the term and where it was declared.
#[test]
fn a_start_that_cannot_be_found_names_the_guilty_term() {
    let mut m = ModelBuilder::new();
    m.rv("x", normal(0.0, 1.0));
    m.potential("guilty", (-Expr::name("x").pow(2.0) - 1.0).log());
    let compiled = compile(&m.build().unwrap(), &CompileOptions::default()).unwrap();
    let bound = compiled.bind(&Values::new()).unwrap();
    let error = sample(&bound, &SamplerConfig::default()).unwrap_err();
    let [mistake] = error.diagnostics() else { panic!("{error}") };
    assert_eq!((mistake.code, mistake.node.as_deref()), (Code::NotFinite, Some("guilty")));
    let text = error.to_string();
    assert!(text.contains("the log density of `guilty` is NaN there"), "{text}");
    assert!(
        text.contains("adversarial.rs:") && text.contains("help: give initial values"),
        "{text}"
    );
}

#[test]
fn predictive_draws_check_their_data() {
    let compiled = regression();
    let mut changed = data();
    prior_predictive(compiled.model().unwrap(), &DataSet::from(&changed), 2, 1).unwrap();
    changed.insert("x".to_owned(), Tensor::vector(&[1.0]));
    let changed = DataSet::from(&changed);
    let error = prior_predictive(compiled.model().unwrap(), &changed, 2, 1).unwrap_err();
    assert_eq!(error.diagnostics()[0].code, Code::BadData, "{error}");
}

/// From declarations to a density in time that does not grow with the square of the number of
/// nodes; the limit is for a busy machine without optimisation.
#[test]
fn a_thousand_nodes_compile_quickly() {
    let mut m = ModelBuilder::new();
    m.rv("tau", half_normal(1.0));
    for k in 0..500 {
        let (x, y) = (format!("x{k:03}"), format!("y{k:03}"));
        if k % 2 == 0 {
            m.rv(&x, normal(0.0, "tau"));
        } else {
            m.rv(&x, exponential(1.0));
        }
        m.rv(&y, normal(x, 1.0));
        m.observe(&format!("o{k:03}"), &y, 0.5);
    }
    let start = Instant::now();
    let model = m.build().unwrap();
    let built = start.elapsed();
    let compiled = compile(&model, &CompileOptions::default()).unwrap();
    let bound = compiled.bind(&Values::new()).unwrap();
    let total = start.elapsed();
    assert_eq!(bound.logp_grad(&vec![0.1; 501]).unwrap().1.len(), 501);
    assert!(total.as_secs() < 10, "built in {built:?}, all in {total:?}");
}
