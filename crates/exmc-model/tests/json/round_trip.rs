//! A model that was written and read back: the same text again, and a log density of the same bits.

use exmc_graph::{DType, Tensor};
use exmc_model::distribution::{FAMILIES, Parameter};
use exmc_model::distributions::{
    censored, custom, family, half_normal, mixture, normal, student_t, truncated, zero_inflated,
};
use exmc_model::{
    DataSet, Expr, Model, ModelBuilder, Reduce, Support, TransformSpec, read_data, read_json,
    rewrite, write_json,
};

use crate::json::support::{corpus, logp_bits, logp_bits_of_rewritten};

/// Checks both the declared and the rewritten model.
fn assert_round_trip(what: &str, model: &Model, data: &DataSet) {
    let text = write_json(model);
    let again = read_json(&text).unwrap_or_else(|e| panic!("{what}: {e}\n{text}"));
    assert_eq!(write_json(&again), text, "{what}");
    let bits = logp_bits(model, data).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(logp_bits(&again, data).unwrap(), bits, "{what}\n{text}");
    let finite = bits.iter().filter(|b| f64::from_bits(**b).is_finite()).count();
    assert!(finite > 0, "{what}: no position has a finite log density, so nothing was compared");

    let rewritten = rewrite(model, &[]).unwrap();
    let text = write_json(&rewritten);
    let again = read_json(&text).unwrap_or_else(|e| panic!("{what}, rewritten: {e}\n{text}"));
    assert_eq!(write_json(&again), text, "{what}, rewritten");
    let found = logp_bits_of_rewritten(&again, data).unwrap();
    assert_eq!(found, bits, "{what}, rewritten\n{text}");
}

#[test]
fn every_good_model_of_the_corpus_reads_back_as_itself() {
    let models = corpus("good", ".json");
    assert!(models.len() >= 15, "found {}", models.len());
    let later = read_data(r#"{"n": 5, "x": [0.5, -1.0, 2], "none": []}"#).unwrap();
    for (name, bytes) in models {
        let text = exmc_model::decode_utf8(&bytes).unwrap();
        let model = read_json(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let data = if name == "data_later.json" { later.clone() } else { DataSet::new() };
        assert_round_trip(&name, &model, &data);
    }
}

#[test]
fn every_wrapper_and_setting_of_the_builder_reads_back_as_itself() {
    let mut b = ModelBuilder::new();
    b.plate("row", 3);
    b.rv("mu", normal(0.0, 1.0));
    b.rv("tau", half_normal(1.0)).non_centred();
    b.rv("w", family("dirichlet", vec![[1.0, 2.0].into()]));
    let parts = [normal("mu", 1.0), student_t(3.0, "mu", "tau")];
    b.rv("mix", mixture("w", parts)).over(["row"]);
    b.observe("mix_obs", "mix", [0.5, -0.5, 2.0]).mask([1.0, 0.0, 1.0]).reduce(Reduce::Mean);
    let half = truncated(normal("mu", "tau"), Some(0.0.into()), None);
    b.rv("tail", half);
    b.rv("cut", censored(normal("mu", "tau"), Some((-1.0).into()), Some(1.0.into()))).shape([3]);
    b.observe("cut_obs", "cut", [-1.0, 0.25, 1.0]).weight([0.5, 1.0, 2.0]);
    b.rv("zero", zero_inflated(family("poisson", vec!["tau".into()]), 0.25)).shape([2]);
    b.observe("zero_obs", "zero", Tensor::indices(&[0, 3]));
    let logp = -(Expr::name("value") - "m").abs();
    b.rv("own", custom([("m", Expr::name("mu"))], Support::Real, logp, None)).shape([2]);
    b.rv("part", normal("mu", 2.0)).shape([3]);
    b.observe_partly("part_obs", "part", &[Some(1.0), None, Some(-0.0)]);
    b.rv("seen", normal("mu", 2.0)).shape([2]);
    b.observe("seen_obs", "seen", [1.0, 2.0]).interval_censored([2.0, 5.0]);
    b.rv("coded", normal("mu", 2.0)).shape([3]);
    b.observe("coded_obs", "coded", [1.0, 2.0, 3.0]).censoring([0.0, 1.0, -1.0], None);
    b.rv("narrow", normal(0.0, 1.0))
        .transform(TransformSpec::Interval("mu".into(), (Expr::name("mu") + 1.0).exp() + "mu"));
    b.data("flags", Tensor::int([2, 2], vec![1.0, 0.0, -0.0, 3.0]).unwrap());
    b.det("total", Expr::name("flags").sum() * "mu");
    assert_round_trip("builder", &b.build().unwrap(), &DataSet::new());
}

#[test]
fn constants_keep_their_bits() {
    let values = vec![
        0.1,
        -0.0,
        5e-324,
        f64::MAX,
        1e22,
        123_456_789.125,
        1e-7,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        9_007_199_254_740_993.0,
        3.0,
    ];
    let tensors = [
        Tensor::real([3, 4], values.clone()).unwrap(),
        Tensor::vector(&values[..7]),
        Tensor::scalar(-0.0),
        Tensor::scalar(f64::NAN),
        Tensor::int([3], vec![0.0, -7.0, 9_007_199_254_740_991.0]).unwrap(),
        Tensor::real([0, 3], Vec::new()).unwrap(),
        Tensor::int([2, 0], Vec::new()).unwrap(),
        Tensor::real([1, 1, 1], vec![2.5]).unwrap(),
    ];
    for (k, tensor) in tensors.into_iter().enumerate() {
        let mut b = ModelBuilder::new();
        b.data("d", tensor.clone()).det("x", tensor.clone());
        let text = write_json(&b.build().unwrap());
        let again = read_json(&text).unwrap_or_else(|e| panic!("tensor {k}: {e}\n{text}"));
        assert_eq!(write_json(&again), text);
        let (_, data) = again.data().next().unwrap();
        assert_eq!(data.value.as_ref(), Some(&tensor), "{text}");
        let constants = again.graph().nodes().iter().filter_map(|n| match &n.op {
            exmc_graph::Op::Constant(t) => Some(t),
            _ => None,
        });
        assert!(constants.into_iter().any(|t| *t == tensor), "{text}");
    }
}

#[test]
fn parts_that_are_used_often_are_written_once() {
    // Forty doublings: written out, the tree would have 2^40 leaves.
    let mut x = Expr::name("mu");
    for _ in 0..40 {
        x = (x.clone() * x).tanh();
    }
    let mut b = ModelBuilder::new();
    b.rv("mu", normal(0.0, 1.0));
    b.det("x", x);
    let model = b.build().unwrap();
    assert!(write_json(&model).len() < 10_000);
    assert_round_trip("doublings", &model, &DataSet::new());
}

#[test]
fn deep_expressions_are_cut_so_that_they_can_be_read() {
    let mut x = Expr::name("mu");
    for _ in 0..350 {
        x = x.tanh();
    }
    let mut b = ModelBuilder::new();
    b.rv("mu", normal(0.0, 1.0));
    b.det("x", x);
    assert_round_trip("deep", &b.build().unwrap(), &DataSet::new());
}

#[test]
fn names_are_escaped() {
    let mut b = ModelBuilder::new();
    b.rv("größe[1,2]", normal(0.0, 1.0));
    b.det("x.y", Expr::name("größe[1,2]").exp());
    assert_round_trip("names", &b.build().unwrap(), &DataSet::new());
    let text = r#"{"exmc": 1, "nodes": [{"rv": "gr\u00f6\u00dfe", "dist": "std_normal"}]}"#;
    assert_eq!(read_json(text).unwrap().free_variables(), ["größe"]);
}

#[test]
fn data_without_a_value_stay_open_and_take_one_later() {
    let mut b = ModelBuilder::new();
    b.declare_data("x", DType::Real, [2]);
    b.rv("y", normal("x", 1.0));
    let model = read_json(&write_json(&b.build().unwrap())).unwrap();
    let bits = |text: &str| logp_bits(&model, &read_data(text).unwrap()).unwrap();
    assert_eq!(bits(r#"{"x": [1, 2]}"#), bits(r#"{"x": [1.0, 2e0]}"#));
    assert_ne!(bits(r#"{"x": [1, 2]}"#), bits(r#"{"x": [1, 3]}"#));
}

#[test]
fn every_family_reads_back_with_all_its_parameters() {
    for known in FAMILIES {
        let names: Vec<_> = known.parameters().iter().map(|p| p.name).collect();
        // Not every family takes each of these shapes; each takes at least one.
        let mut built = 0;
        for size in [1, 3] {
            let args = known.parameters().iter().enumerate().map(|(k, p)| argument(k, p, size));
            let args: Vec<Expr> = args.collect();
            for shape in [None, Some(vec![3]), Some(vec![3, 3])] {
                let mut b = ModelBuilder::new();
                let rv = b.rv("x", family(known.name(), args.clone()));
                if let Some(shape) = shape {
                    rv.shape(shape);
                }
                // Discrete variables may not stay free, so they are observed at zero.
                if known.support().is_discrete() {
                    b.observe("x_obs", "x", 0.0);
                }
                let Ok(model) = b.build() else { continue };
                built += 1;
                let text = write_json(&model);
                let again = read_json(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
                assert_eq!(write_json(&again), text);
                assert!(names.iter().all(|n| text.contains(&format!("\"{n}\": "))), "{text}");
                let nothing = DataSet::new();
                assert_eq!(logp_bits(&again, &nothing), logp_bits(&model, &nothing), "{text}");
            }
        }
        let impossible = ["multinomial", "uniform", "truncated_normal"];
        assert!(
            built > 0 || impossible.contains(&known.name()),
            "{} was never built",
            known.name()
        );
    }
}

/// A value that the `k`-th parameter can take: later ones are larger, so that limits increase.
fn argument(k: usize, parameter: &Parameter, size: usize) -> Expr {
    match (parameter.rank, parameter.support) {
        (0, Support::Count) => 0.0.into(),
        (0, _) => (0.5 * (k + 1) as f64).min(0.75).max(0.25 * k as f64).into(),
        (1, Support::Simplex) => vec![1.0 / size as f64; size].into(),
        (1, _) => (0..size).map(|i| 0.25 + i as f64).collect::<Vec<_>>().into(),
        _ => {
            let on_diagonal = |i: usize| f64::from(u8::from(i.is_multiple_of(size + 1)));
            let identity: Vec<f64> = (0..size * size).map(on_diagonal).collect();
            Tensor::real([size, size], identity).unwrap().into()
        }
    }
}
