//! Recipes: files, checks, ways to act, metrics, spans.
#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod common;

use std::sync::{Arc, Mutex};

use burn::module::{Module, ParamGroup};
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Distribution, Tensor};
use common::model::{Layers, Weights};
use common::{all_close, close, devices, number, read, tensor};
use penalties::{
    Act, Centre, Custom, Error, Line, Outputs, Over, PairPenalty, Penalty, Recipe, Reduce,
    Schedule, gradient_penalty,
};

fn group(pattern: &str) -> ParamGroup {
    ParamGroup::from_regex(pattern).unwrap()
}

#[test]
fn a_recipe_survives_a_file() {
    let recipe = Recipe::new([
        Line::parameters(
            "sparse",
            Schedule::WarmUp { to: 1e-3, steps: 10 },
            Penalty::L1,
            group("weight$"),
        )
        .act(Act::Prox),
        Line::output(
            "spread",
            -0.5,
            Penalty::Entropy {
                mode: Default::default(),
                normalise: true,
                temperature: 2.0,
                reduce: Reduce::Mean,
            },
            "logits",
        ),
        Line::pair("same", 1.0, PairPenalty::Js { reduce: Reduce::Mean }, "a", "b"),
        Line::computed("gradient", 10.0, "gp"),
    ]);
    let text = serde_json::to_string_pretty(&recipe).unwrap();
    let again: Recipe = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string_pretty(&again).unwrap(), text);
    let short: Penalty = serde_json::from_str(r#"{"l1": {}}"#).unwrap();
    assert_eq!(short, Penalty::L1);
    let typo = serde_json::from_str::<Penalty>(r#"{"l7": {}}"#).unwrap_err().to_string();
    assert!(typo.contains("elastic_net"), "{typo}");
}

#[test]
fn a_line_that_matches_nothing_names_what_is_near() {
    let (_, d) = &devices()[0];
    let model = Layers::new(d);
    let recipe = Recipe::new([Line::parameters(
        "sparse",
        1.0,
        Penalty::L1,
        ParamGroup::from_path("encodr.weight"),
    )]);
    let error = recipe.check(&model).unwrap_err().to_string();
    assert!(
        error.starts_with("line `sparse` matches no parameter: nothing like `encodr.weight` (there are `encoder.weight`"),
        "{error}"
    );
    let wrong = [
        (
            Line::parameters("a", 1.0, Penalty::SpectralNorm, ParamGroup::all()).act(Act::Prox),
            "only as loss",
        ),
        (Line::parameters("a", f64::NAN, Penalty::L1, ParamGroup::all()), "schedule is NaN"),
        (
            Line::parameters(
                "a",
                1.0,
                Penalty::GroupLasso { axis: 1, size_weighted: false },
                group("bias$"),
            ),
            "line `a`: group lasso of a tensor of shape [6]: expected an axis 1",
        ),
        (Line::output("a", 1.0, Penalty::Custom("mine".into()), "x"), "`mine` is not registered"),
        (
            Line::parameters(
                "a",
                1.0,
                Penalty::MaxNorm { axis: 0, limit: -1.0 },
                ParamGroup::all(),
            ),
            "limit is -1",
        ),
    ];
    for (line, expected) in wrong {
        let error = Recipe::new([line]).check(&model).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let twice = [1.0, 2.0].map(|w| Line::parameters("a", w, Penalty::L1, ParamGroup::all()));
    assert_eq!(Recipe::new(twice).check(&model), Err(Error::Duplicate { line: "a".into() }));
    let fine = Recipe::new([Line::parameters("a", 1.0, Penalty::L1, group(r"^heads\..*weight$"))]);
    fine.check(&model).unwrap();
    let paths = vec!["heads.0.weight".to_owned(), "heads.1.weight".to_owned()];
    assert_eq!(fine.matches(&model), [("a".to_owned(), paths)]);
}

#[test]
fn loss_and_decay_have_one_gradient() {
    let values: Vec<f64> = (0..12).map(|i| (f64::from(i) - 5.0) / 4.0).collect();
    let penalties = [
        Penalty::L1,
        Penalty::L1 { reduce: Reduce::Mean },
        Penalty::L2,
        Penalty::L2 { reduce: Reduce::Mean, centre: Centre::At(0.3), clip: Some(0.8) },
        Penalty::L2 { reduce: Reduce::Sum, centre: Centre::Mean, clip: Some(0.8) },
        Penalty::ElasticNet { reduce: Reduce::Sum, l1_ratio: 0.3 },
        Penalty::GroupLasso { axis: 0, size_weighted: true },
        Penalty::GroupLasso { axis: 1, size_weighted: false },
    ];
    for (name, d) in devices() {
        for penalty in &penalties {
            let model = Weights::new(&values, [3, 4], &d);
            let line = Line::parameters("p", 0.7, penalty.clone(), ParamGroup::all());
            let zero = || model.beta.val().mul_scalar(0.0).sum();
            let run = |recipe: Recipe| {
                let total = recipe.evaluate(&model, &Outputs::new(), 0).unwrap().total;
                let loss = zero() + total;
                let gradients = GradientsParams::from_grads(loss.backward(), &model);
                let gradients = recipe.transform(&model, gradients, 0).unwrap();
                read(gradients.get::<2>(model.beta.id).unwrap())
            };
            let (loss, decay) =
                (run(Recipe::new([line.clone()])), run(Recipe::new([line.act(Act::Decay)])));
            assert!(loss.iter().any(|g| *g != 0.0), "{name} {penalty:?}");
            all_close(&decay, &loss, 1e-14);
        }
    }
}

#[test]
fn proximal_steps_reach_known_optima() {
    // min 1/2 |z - x|^2 + w R(z) is what one proximal step of size w solves; gradient steps of
    // 1/2 |z - x|^2 with proximal steps in between must find the same point.
    let x = [1.5, -0.2, 0.4, -2.0, 0.05, 0.9];
    for (name, d) in devices() {
        for penalty in [
            Penalty::L1,
            Penalty::L2,
            Penalty::L2 { reduce: Reduce::Sum, centre: Centre::Mean, clip: None },
            Penalty::ElasticNet { reduce: Reduce::Mean, l1_ratio: 0.5 },
            Penalty::GroupLasso { axis: 0, size_weighted: false },
            Penalty::NuclearNorm,
            Penalty::MaxNorm { axis: 1, limit: 1.0 },
            Penalty::Simplex,
        ] {
            let mut model = Weights::new(&[0.0; 6], [2, 3], &d);
            let target = tensor(&x, [2, 3], &d);
            let recipe =
                Recipe::new([
                    Line::parameters("p", 0.5, penalty.clone(), ParamGroup::all()).act(Act::Prox)
                ]);
            recipe.check(&model).unwrap();
            let mut optimiser = SgdConfig::new().init();
            for step in 0..120 {
                let away = model.beta.val() - target.clone();
                let loss = (away.clone() * away).sum().mul_scalar(0.5);
                let gradients = GradientsParams::from_grads(loss.backward(), &model);
                model = recipe.project(optimiser.step(0.4, model, gradients), 0.4, step).unwrap();
            }
            let expected = read(penalty.prox(target.inner(), 0.5).unwrap());
            all_close(&model.values(), &expected, 1e-10);
            if penalty == Penalty::L1 {
                assert_eq!(model.values()[1..3], [0.0, 0.0], "{name}: exact zeros");
                all_close(&expected, &[1.0, 0.0, 0.0, -1.5, 0.0, 0.4], 1e-15);
            }
        }
    }
}

#[test]
fn constraints_act_in_a_loss_by_distance() {
    for (_, d) in devices() {
        let x = [3.0, 4.0, 0.3, 0.4];
        let (value, slope) = common::with_gradient(&x, [2, 2], &d, |x| {
            Penalty::MaxNorm { axis: 0, limit: 2.5 }.value(x).unwrap()
        });
        close(value, 0.5 * 2.5 * 2.5, 1e-15);
        all_close(&slope, &[1.5, 2.0, 0.0, 0.0], 1e-15);
    }
}

#[test]
fn weights_follow_the_step_and_lines_can_be_switched_off() {
    let (_, d) = &devices()[0];
    let model = Weights::new(&[1.0, -2.0], [1, 2], d);
    let mut recipe = Recipe::new([
        Line::parameters(
            "l1",
            Schedule::Linear { from: 0.0, to: 1.0, steps: 5 },
            Penalty::L1,
            ParamGroup::all(),
        ),
        Line::parameters("l2", 2.0, Penalty::L2, ParamGroup::all()),
    ]);
    let total = |r: &Recipe, step| number(r.evaluate(&model, &Outputs::new(), step).unwrap().total);
    close(total(&recipe, 0), 10.0, 1e-15);
    close(total(&recipe, 2), 11.5, 1e-15);
    close(total(&recipe, 4), 13.0, 1e-15);
    recipe.line_mut("l2").unwrap().enabled = false;
    close(total(&recipe, 4), 3.0, 1e-15);
    let norms = recipe.gradient_norms(&model, &Outputs::new(), 2).unwrap();
    close(norms["l1"], 2f64.sqrt(), 1e-15);
    close(norms["total"], 0.5 * 2f64.sqrt(), 1e-15);
    assert!(!norms.contains_key("l2"));
}

#[test]
fn gradient_norms_are_over_all_parameters_of_a_line() {
    for (_, d) in devices() {
        let model = Layers::new(&d);
        let x = Tensor::<2>::random([5, 4], Distribution::Default, &d);
        let out = model.forward(x);
        let recipe = Recipe::new([
            Line::parameters("w", 0.1, Penalty::L1, group("weight$")),
            Line::output("size", 1.0, Penalty::L2, "out"),
        ]);
        let norms =
            recipe.gradient_norms(&model, &Outputs::new().with("out", out.clone()), 0).unwrap();
        // Signs: one for each weight, 4 * 6 + 2 * 6 * 3 of them.
        close(norms["w"], 60f64.sqrt(), 1e-5);
        let size: f64 = read(out.inner()).iter().map(|y| 4.0 * y * y).sum();
        close(norms["size"], size.sqrt(), 1e-5);
        close(norms["total"], (0.01 * 60.0 + size).sqrt(), 1e-5);
    }
}

#[test]
fn what_is_not_finite_is_named() {
    let (_, d) = &devices()[0];
    let recipe = Recipe::new([
        Line::output("fine", 1.0, Penalty::L1, "a"),
        Line::output("huge", 1.0, Penalty::L1, "b"),
        Line::output("bad", 0.0, Penalty::L1, "c"),
    ]);
    let run = |c: f64| {
        let outputs = Outputs::new()
            .with("a", tensor(&[1.0], [1], d))
            .with("b", tensor(&[f64::INFINITY], [1], d))
            .with("c", tensor(&[c], [1], d));
        recipe.evaluate_outputs(&outputs, 0).unwrap().check().unwrap_err().to_string()
    };
    assert_eq!(run(f64::NAN), "line `bad` is NaN");
    assert_eq!(run(1.0), "line `huge` is infinite");
}

#[test]
fn computed_lines_carry_gradient_penalties() {
    let (_, d) = &devices()[0];
    let x = tensor(&[1.0, 2.0], [1, 2], d).require_grad();
    let f = |x: penalties::Dual<2>| x.square().sum_each();
    let penalty = gradient_penalty(f, x.clone(), 1.0, Over::Whole).unwrap();
    let recipe = Recipe::new([Line::computed("gradient", 2.0, "gp")]);
    let outputs = Outputs::new().gradient_penalty("gp", &penalty);
    let found = recipe.evaluate_outputs(&outputs, 0).unwrap();
    close(found.metrics().unwrap()["gradient"], 12.0557281, 1e-8);
    let grads = found.total.backward();
    all_close(&read(x.grad(&grads).unwrap()), &[2.0 * 6.2111456, 2.0 * 12.4222912], 1e-7);
}

#[derive(Debug)]
struct Largest;

impl Custom for Largest {
    fn value(&self, flat: Tensor<1>, _dims: &[usize]) -> Result<Tensor<1>, Error> {
        Ok(flat.abs().max())
    }
}

#[test]
fn a_custom_penalty_has_a_name_in_files_and_a_value() {
    let (_, d) = &devices()[0];
    let model = Weights::new(&[1.0, -3.0, 2.0], [1, 3], d);
    let line = Line::parameters("top", 0.5, Penalty::Custom("largest".into()), ParamGroup::all());
    let text = serde_json::to_string(&Recipe::new([line])).unwrap();
    let bare: Recipe = serde_json::from_str(&text).unwrap();
    assert!(bare.check(&model).unwrap_err().to_string().contains("`largest` is not registered"));
    let recipe = bare.register("largest", Arc::new(Largest));
    recipe.check(&model).unwrap();
    close(number(recipe.evaluate(&model, &Outputs::new(), 0).unwrap().total), 1.5, 1e-15);
}

#[test]
fn parameters_stay_trainable_and_others_keep_their_bits() {
    let (_, d) = &devices()[0];
    let model = Layers::new(d);
    let bias = read(model.encoder.bias.as_ref().unwrap().val().inner());
    let recipe = Recipe::new([Line::parameters(
        "sparse",
        1.0,
        Penalty::L1,
        ParamGroup::from_path("encoder.weight"),
    )
    .act(Act::Prox)]);
    let after = recipe.project(model.clone(), 0.1, 0).unwrap();
    assert!(after.encoder.weight.val().is_require_grad());
    assert_eq!(after.encoder.weight.id, model.encoder.weight.id);
    assert_eq!(read(after.encoder.bias.as_ref().unwrap().val().inner()), bias);
    assert_ne!(read(after.encoder.weight.val().inner()), read(model.encoder.weight.val().inner()));
    let frozen = recipe.project(model.freeze(), 0.1, 0).unwrap();
    assert!(!frozen.encoder.weight.val().is_require_grad());
}

/// Counts spans and events by name.
#[derive(Clone, Default)]
struct Count(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Count {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        self.0.lock().unwrap().push(format!("span {}", span.metadata().name()));
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        self.0.lock().unwrap().push(format!("event {}", event.metadata().name()));
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn an_evaluation_is_a_span_with_an_event_for_each_line() {
    let (_, d) = &devices()[0];
    let count = Count::default();
    tracing::subscriber::with_default(count.clone(), || {
        let recipe = Recipe::new([
            Line::output("a", 1.0, Penalty::L1, "x"),
            Line::output("b", 1.0, Penalty::L2, "x"),
        ]);
        recipe.evaluate_outputs(&Outputs::new().with("x", tensor(&[1.0], [1], d)), 0).unwrap();
    });
    let seen: Vec<String> = count
        .0
        .lock()
        .unwrap()
        .iter()
        .filter(|s| s.contains("recipe") || s.contains("line"))
        .cloned()
        .collect();
    assert_eq!(seen, ["span recipe", "event line", "event line"]);
}
