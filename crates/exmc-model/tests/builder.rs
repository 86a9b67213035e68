//! The builder's spellings: each means what the JSON form means, and what has no meaning is told.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use exmc_graph::{Tensor, evaluate};
use exmc_model::distributions::{ar, gaussian_random_walk, mixture, normal, std_normal, uniform};
use exmc_model::{DataSet, Expr, Kind, Model, ModelBuilder, read_json, write_json};

/// The value of an expression over `x = [1, -2, 3]`.
fn value(expr: Expr) -> Tensor {
    let mut model = ModelBuilder::new();
    model.data("x", Tensor::vector(&[1.0, -2.0, 3.0]));
    model.det("found", expr);
    let model = model.build().unwrap();
    let Kind::Det(root) = &model.nodes()["found"].kind else { panic!("it is deterministic") };
    let data = DataSet::new().bind(&model).unwrap();
    let found = evaluate(model.graph(), &[*root], &|name| data.get(name).cloned());
    found.unwrap().swap_remove(0)
}

fn is(expr: Expr, expected: &[f64]) {
    assert_eq!(value(expr).values(), expected);
}

#[test]
fn arithmetic_takes_references_numbers_and_names() {
    let x = &Expr::name("x");
    is(x + x, &[2.0, -4.0, 6.0]);
    is(2 * x - 1, &[1.0, -5.0, 5.0]);
    is(2 * x.clone(), &[2.0, -4.0, 6.0]);
    is(1.0 / x, &[1.0, -0.5, 1.0 / 3.0]);
    is("x" * x, &[1.0, 4.0, 9.0]);
    is(x - "x", &[0.0; 3]);
    is(-x + [1, 2, 3], &[0.0, 4.0, 0.0]);
    is(10 - x, &[9.0, 12.0, 7.0]);
}

#[test]
fn comparisons_are_zero_or_one() {
    let x = || Expr::name("x");
    is(x().max(0), &[1.0, 0.0, 3.0]);
    is(x().min(1), &[1.0, -2.0, 1.0]);
    is(x().lt(1), &[0.0, 1.0, 0.0]);
    is(x().le(1), &[1.0, 1.0, 0.0]);
    is(x().gt(1), &[0.0, 0.0, 1.0]);
    is(x().ge(1), &[1.0, 0.0, 1.0]);
    is(x().eq(1), &[1.0, 0.0, 0.0]);
    is(x().ne(1), &[0.0, 1.0, 1.0]);
    is(x().max_over(0), &[3.0]);
    is(x().min_over(0), &[-2.0]);
}

#[test]
fn arrays_nest_and_join() {
    let x = &Expr::name("x");
    let stacked = value(Expr::stack([x, &(2 * x)]));
    assert_eq!(stacked.shape().extents(), [2, 3]);
    assert_eq!(stacked.values(), [1.0, -2.0, 3.0, 2.0, -4.0, 6.0]);
    assert_eq!(value(Expr::stack(["x", "x"])).shape().extents(), [2, 3]);
    assert_eq!(value(Expr::from(vec![x.clone(), 7.into()])).values()[3..], [7.0; 3]);
    is(Expr::concat([x.clone(), [9].into()]), &[1.0, -2.0, 3.0, 9.0]);
    let matrix = Expr::from([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]]);
    is(matrix.matmul("x"), &[7.0, -2.0]);
    let rows: Vec<Vec<f64>> = vec![vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]];
    let made = value(Expr::from(&rows));
    assert_eq!((made.shape().extents(), made.values()[3]), (&[3, 2][..], 4.0));
    assert_eq!(value(Expr::from([[1, 2], [3, 4]])).dtype(), exmc_graph::DType::Int);
    is(x.clone().gather([2, 0]), &[3.0, 1.0]);
    is(x.clone().gather(vec![1_usize]), &[-2.0]);
    is(Expr::from(5_i64) + 6_u32 + 7_usize, &[18.0]);
}

#[test]
fn what_is_no_value_is_told_with_its_place() {
    let message = |expr: Expr| {
        let mut model = ModelBuilder::new();
        model.det("made", expr);
        let text = model.build().unwrap_err().to_string();
        assert!(text.contains("`made`") || text.contains("builder.rs:"), "{text}");
        text
    };
    let ragged = message(vec![vec![1.0], vec![2.0, 3.0]].into());
    assert!(ragged.contains("row 0 has 1 numbers, row 1 has 2"), "{ragged}");
    let large = message((1_i64 << 60).into());
    assert!(large.contains("2^53"), "{large}");
    let mut model = ModelBuilder::new();
    model.rv("y", mixture([0.5, 0.5], [normal(0, 1), normal(1, 1)]).with("nu", 3));
    model.observe("o", "y", 0);
    let text = model.build().unwrap_err().to_string();
    assert!(text.contains("a wrapper has no parameter `nu`"), "{text}");
}

/// Parameters with defaults, by name: the same model as the JSON form's.
#[test]
fn parameters_with_defaults_have_names() {
    let mut model = ModelBuilder::new();
    model.rv("scale", uniform(0.5, 1));
    model.rv("walk", gaussian_random_walk("scale", 5).with("initial_mean", 100)).shape(3);
    let series = ar([0.5, 0.25], 1).with("constant", 2).with("initial_scale", "scale");
    model.rv("series", series).shape(4);
    model.rv("z", std_normal()).shape([2, 2]);
    let json = r#"{"exmc": 1, "nodes": [
        {"rv": "scale", "dist": "uniform", "params": {"lower": 0.5}},
        {"rv": "walk", "dist": "gaussian_random_walk", "shape": [3],
         "params": {"sigma": "scale", "initial_scale": 5, "initial_mean": 100}},
        {"rv": "series", "dist": "ar", "shape": [4],
         "params": {"coefficients": [0.5, 0.25], "sigma": 1, "constant": 2, "initial_scale": "scale"}},
        {"rv": "z", "dist": "std_normal", "shape": [2, 2]}]}"#;
    let text = |model: &Model| {
        // Integers and reals of the same value are the same parameter.
        write_json(model).replace("1.0", "1").replace("5.0", "5")
    };
    let expected = read_json(json).unwrap();
    let (found, expected) = (text(&model.build().unwrap()), text(&expected));
    assert_eq!(found.replace("100.0", "100"), expected.replace("100.0", "100"));
}
