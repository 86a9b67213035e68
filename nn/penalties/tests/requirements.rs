//! The numbers of the requirement tables, on every device in `f64`.
//!
//! They were computed by hand or with scalar arithmetic, not with this library; ten digits are
//! written there, so 1e-9 is the bar where a number is irrational.

mod common;

use common::{all_close, close, devices, number, read, tensor, with_gradient};
use penalties::{
    Centre, Direction, Dual, EntropyMode, Metric, Orthogonality, Outputs, Over, PairPenalty, Pairs,
    Penalty, Pipeline, Reduce, RowReduce, RowsOf, Schedule, Transform, Validity, consistency,
    elastic_net, entropy, gradient_penalty, interpolated, js, kl, l1, l2, orthogonality,
    output_magnitude, validate,
};

const DIGITS: f64 = 1e-9;

fn logs(p: &[f64]) -> Vec<f64> {
    p.iter().map(|p| p.ln()).collect()
}

const P: [f64; 4] = [0.4, 0.3, 0.2, 0.1];
const U: [f64; 4] = [0.25; 4];

#[test]
fn primitives() {
    for (_, d) in devices() {
        let x = |v: &[f64]| tensor(v, [v.len()], &d);
        let sum = Reduce::Sum;
        close(0.1 * number(l1(x(&[1.0, -2.0, 0.5, -0.5]), sum)), 0.4, 1e-15);
        close(number(l1(x(&[1.0, 2.0, 3.0]), Reduce::Mean)), 2.0, 1e-15);
        let (_, slope) = with_gradient(&[2.0, -3.0, 0.5, 0.0], [4], &d, |x| l1(x, sum));
        assert_eq!(slope, [1.0, -1.0, 1.0, 0.0]);
        let two = |v: &[f64], c, k, r| number(l2(x(v), r, c, k));
        close(0.1 * two(&[1.0, 2.0, 3.0], Centre::Zero, None, sum), 1.4, 1e-15);
        close(0.01 * two(&[1000.0, 2000.0], Centre::Zero, Some(100.0), sum), 200.0, 1e-15);
        let (_, slope) =
            with_gradient(&[1000.0, 2000.0], [2], &d, |x| l2(x, sum, Centre::Zero, Some(100.0)));
        assert_eq!(slope, [0.0, 0.0]);
        close(two(&[1.0, 2.0, 3.0], Centre::Mean, None, sum), 2.0, 1e-15);
        close(two(&[1.0, 2.0, 3.0], Centre::At(1.0), None, sum), 5.0, 1e-15);
        close(two(&[1.0, 2.0, 3.0], Centre::At(-1.0), None, sum), 29.0, 1e-15);
        let far = [100.0, 200.0, 300.0];
        close(two(&far, Centre::At(200.0), Some(50.0), sum), 5000.0, 1e-15);
        close(two(&far, Centre::At(200.0), Some(50.0), Reduce::Mean), 5000.0 / 3.0, 1e-15);
        let square = tensor(&[1.0, 2.0, 3.0, 4.0], [2, 2], &d);
        close(number(l2(square, sum, Centre::Mean, None)), 5.0, 1e-15);
        let (_, slope) = with_gradient(&[1.0, 2.0, 3.0], [3], &d, |x| {
            l2(x, sum, Centre::Zero, None).mul_scalar(0.5)
        });
        all_close(&slope, &[1.0, 2.0, 3.0], 1e-15);
        close(number(elastic_net(x(&[1.0, 2.0]), sum, 0.5)), 4.0, 1e-15);
        close(0.1 * number(elastic_net(x(&[1.0, -2.0, 3.0]), sum, 0.5)), 1.0, 1e-15);
        close(number(elastic_net(x(&[1.0, 2.0, 3.0]), Reduce::Mean, 0.5)), 10.0 / 3.0, 1e-15);
        let (_, slope) = with_gradient(&[2.0, -3.0], [2], &d, |x| elastic_net(x, sum, 0.5));
        all_close(&slope, &[2.5, -3.5], 1e-15);
        let v = [0.3, -1.7, 2.5];
        assert_eq!(number(elastic_net(x(&v), sum, 1.0)), number(l1(x(&v), sum)));
        assert_eq!(
            number(elastic_net(x(&v), sum, 0.0)),
            number(l2(x(&v), sum, Centre::Zero, None))
        );
    }
}

#[test]
fn divergences() {
    for (_, d) in devices() {
        let x = |v: &[f64]| tensor(&logs(v), [v.len()], &d);
        let mean = RowReduce::Mean;
        let f = |p: &[f64], q: &[f64], how| number(kl(x(p), x(q), how, mean).unwrap());
        close(f(&P, &U, Direction::Forward), 0.1064401353, DIGITS);
        close(f(&P, &U, Direction::Reverse), 0.1217772743, DIGITS);
        close(f(&P, &U, Direction::Symmetric), 0.1141087048, DIGITS);
        assert_eq!(f(&[1.0, 0.0], &[0.0, 1.0], Direction::Forward), 100.0);
        close(f(&P, &P, Direction::Forward), 0.0, 1e-15);
        let rows = [P, [0.7, 0.1, 0.1, 0.1]].concat();
        let two = |how| {
            let (p, q) = (logs(&rows), logs(&[U, U].concat()));
            let (p, q) = (tensor(&p, [2, 4], &d), tensor(&q, [2, 4], &d));
            read(kl(p, q, Direction::Forward, how).unwrap())
        };
        close(two(RowReduce::Mean)[0], 0.2761432539, DIGITS);
        close(two(RowReduce::Sum)[0], 0.5522865078, DIGITS);
        close(two(RowReduce::None)[0], 0.1064401353, DIGITS);
        assert_eq!(two(RowReduce::None).len(), 2);
        close(number(js(x(&P), x(&U), mean).unwrap()), 0.0278656135, DIGITS);
        let apart = number(js(x(&[1.0, 0.0]), x(&[0.0, 1.0]), mean).unwrap());
        close(apart, std::f64::consts::LN_2, 1e-15);
        let h = |p: &[f64], normalise, t| {
            number(entropy(x(p), EntropyMode::Bonus, normalise, t, mean).unwrap())
        };
        close(h(&P, false, 1.0), 1.2798542258, DIGITS);
        close(h(&P, true, 1.0), 0.9232196723, DIGITS);
        close(h(&P, false, 0.5), 1.0784767751, DIGITS);
        close(h(&P, false, 2.0), 1.3557520682, DIGITS);
        close(h(&U, true, 1.0), 1.0, 1e-15);
        let one_hot = tensor(&[0.0, -100.0, -100.0, -100.0], [4], &d);
        let value = entropy(one_hot, EntropyMode::Bonus, false, 1.0, mean).unwrap();
        assert_eq!(number(value), 0.0);
        let penalty = entropy(x(&P), EntropyMode::Penalty, false, 1.0, mean).unwrap();
        close(number(penalty), -1.2798542258, DIGITS);
    }
}

#[test]
fn constraints() {
    for (_, d) in devices() {
        let soft = Orthogonality::Soft;
        let modes = [soft, Orthogonality::Hard, Orthogonality::Spectral];
        let f = |v: &[f64], shape: [usize; 2], mode, normalise| {
            number(orthogonality(tensor(v, shape, &d), mode, normalise, RowsOf::Rows))
        };
        let x = [1.0, 0.0, 1.0, 1.0];
        for (mode, bare) in modes.into_iter().zip([2.0, 3.0, 3.0]) {
            close(f(&x, [2, 2], mode, true), 1.0, 1e-14);
            close(f(&x, [2, 2], mode, false), bare, 1e-14);
        }
        let cube: Vec<f64> = (1..=8).map(f64::from).collect();
        let g = |rows_of| number(orthogonality(tensor(&cube, [2, 2, 2], &d), soft, true, rows_of));
        close(g(RowsOf::Rows), 11.6859144059, DIGITS);
        close(g(RowsOf::Sequence), 1.9402722881, DIGITS);
        close(g(RowsOf::Vocabulary), 1.9841269841, DIGITS);
        let hard = Orthogonality::Hard;
        close(f(&[2.0, 0.0, 0.0, 1.0], [2, 2], hard, false), 9.0, 1e-15);
        close(f(&[2.0, 0.0, 0.0, 1.0], [2, 2], hard, true), 0.0, 1e-15);
        close(f(&[0.3, -2.0, 5.0], [1, 3], soft, true), 0.0, 1e-15);
        close(f(&[1.0, 2.0].repeat(4), [4, 2], soft, true), 12.0, 1e-14);

        let c = |a: &[f64], b: &[f64], metric, how| {
            read(
                consistency(tensor(a, [a.len()], &d), tensor(b, [b.len()], &d), metric, how)
                    .unwrap(),
            )
        };
        let (mean, sum) = (RowReduce::Mean, RowReduce::Sum);
        let (a, b) = ([1.0, 2.0], [2.0, 4.0]);
        assert_eq!(c(&a, &b, Metric::Mse, mean), [2.5]);
        assert_eq!(c(&a, &b, Metric::Mse, sum), [5.0]);
        assert_eq!(c(&a, &b, Metric::Mse, RowReduce::None), [1.0, 4.0]);
        assert_eq!(c(&a, &b, Metric::L1, mean), [1.5]);
        all_close(&c(&a, &b, Metric::Cosine, mean), &[0.0], 1e-15);
        all_close(&c(&[3.0, 4.0], &[4.0, 3.0], Metric::Cosine, mean), &[0.04], 1e-15);
        all_close(&c(&[1.0, 0.0], &[0.0, 1.0], Metric::Cosine, mean), &[1.0], 1e-15);
        all_close(&c(&[1.0, 0.0], &[-1.0, 0.0], Metric::Cosine, sum), &[2.0], 1e-15);
        all_close(&c(&logs(&P), &logs(&U), Metric::Kl, mean), &[0.1141087048], DIGITS);
        let peaked = c(&[0.0, -50.0, -50.0, -50.0], &[-1.386; 4], Metric::Kl, mean)[0];
        assert!(peaked.is_finite() && peaked > 0.0, "{peaked}");

        let y = |v: &[f64], t, how| number(output_magnitude(tensor(v, [v.len()], &d), t, how));
        close(y(&[3.0, 4.0], 1.0, Reduce::Mean), 6.4289322, 1e-7);
        close(y(&[3.0, 4.0], 1.0, Reduce::Sum), 16.0, 1e-15);
        close(y(&[3.0, 4.0], 5.0, Reduce::Sum), 0.0, 1e-15);
    }
}

#[test]
fn gradient_penalties() {
    for (_, d) in devices() {
        let square = |x: Dual<1>| {
            let n = x.p.dims()[0];
            x.square().reshape([1, n]).sum_each()
        };
        let x = tensor(&[1.0, 2.0], [2], &d).require_grad();
        let found = gradient_penalty(square, x.clone(), 1.0, Over::Whole).unwrap();
        close(number(found.value.clone()), 12.0557281, 1e-8);
        let grads = found.term().backward();
        all_close(&read(x.grad(&grads).unwrap()), &[6.2111456, 12.4222912], 1e-8);
        close(number(found.term().inner()), 12.0557281, 1e-8);
        let plain = |x: Dual<1>| x.reshape([1, 3]).sum_each();
        let x = tensor(&[0.2, -1.0, 3.0], [3], &d);
        let found = gradient_penalty(plain, x, 3f64.sqrt(), Over::Whole).unwrap();
        close(number(found.value), 0.0, 1e-15);
        let (a, b) = (tensor(&[0.0, 0.0], [2], &d), tensor(&[1.0, 2.0], [2], &d));
        let once = read(interpolated(a.clone(), b.clone(), Over::Whole, 3).unwrap());
        assert_eq!(once, read(interpolated(a, b, Over::Whole, 3).unwrap()));
        close(once[1], 2.0 * once[0], 1e-15);
        assert!(once[0] > 0.0 && once[0] < 1.0);
    }
}

#[test]
fn pipelines() {
    for (_, d) in devices() {
        let x = |v: &[f64]| tensor(v, [v.len()], &d);
        let both = Pipeline::new().with("l1", Penalty::L1, 0.1).with("l2", Penalty::L2, 0.01);
        let metrics = both.compute(x(&[1.0, 2.0])).unwrap().metrics().unwrap();
        close(metrics["total"], 0.35, 1e-15);
        close(metrics["l1"], 3.0, 1e-15);
        close(metrics["l2_weighted"], 0.05, 1e-15);
        let (_, slope) = with_gradient(&[1.0, 2.0, 3.0], [3], &d, |x| {
            Pipeline::new().with("l2", Penalty::L2, 0.01).compute(x).unwrap().total
        });
        all_close(&slope, &[0.02, 0.04, 0.06], 1e-15);
        let empty = Pipeline::new().compute(x(&[1.0])).unwrap();
        assert_eq!(number(empty.total.clone()), 0.0);
        assert!(empty.metrics().unwrap().is_empty());
        let mut off = both.clone();
        for name in ["l1", "l2"] {
            off.line_mut(name).unwrap().enabled = false;
        }
        assert!(off.compute(x(&[1.0])).unwrap().metrics().unwrap().is_empty());
        let mut twice = Pipeline::new().with("l1", Penalty::L1, 2.0).with("l1", Penalty::L1, 1.0);
        close(number(twice.compute(x(&[1.0, -2.0])).unwrap().total), 9.0, 1e-15);
        twice.line_mut("l1").unwrap().weight = Schedule::Constant(0.0);
        close(number(twice.compute(x(&[1.0, -2.0])).unwrap().total), 3.0, 1e-15);
        let gone = twice.without("l1").without("nothing of this name");
        close(number(gone.compute(x(&[1.0, -2.0])).unwrap().total), 3.0, 1e-15);

        let norms = |p: Pipeline, v: &[f64]| p.gradient_norms(x(v), 0).unwrap();
        let one = norms(Pipeline::new().with("l1", Penalty::L1, 5.0), &[1.0, -2.0, 3.0]);
        close(one["l1_grad_norm"], 3f64.sqrt(), 1e-15);
        close(one["total_grad_norm"], 5.0 * 3f64.sqrt(), 1e-15);
        let two = norms(Pipeline::new().with("l2", Penalty::L2, 1.0), &[1.0, 2.0, 3.0]);
        close(two["l2_grad_norm"], 56f64.sqrt(), 1e-15);
        let half = Pipeline::new().with("l1", Penalty::L1, 0.5).with("l2", Penalty::L2, 0.5);
        close(norms(half.clone(), &[1.0, 1.0])["total_grad_norm"], 4.5f64.sqrt(), 1e-15);
        close(
            norms(Pipeline::new().with("l2", Penalty::L2, 1.0), &[3.0])["l2_grad_norm"],
            6.0,
            1e-15,
        );
        let mut quiet = half;
        quiet.line_mut("l1").unwrap().tracked = false;
        assert!(!norms(quiet, &[1.0]).contains_key("l1_grad_norm"));

        let mse = PairPenalty::Consistency { metric: Metric::Mse, reduce: Reduce::Mean };
        let pairs = Pairs::new().with_pair("mse", mse, 1.0, ["a", "b"]);
        let inputs = Outputs::new().with("a", x(&[1.0, 2.0, 3.0])).with("b", x(&[1.1, 2.1, 3.1]));
        close(number(pairs.compute(&inputs, 0).unwrap().total), 0.01, 1e-14);
        let error = pairs.compute(&Outputs::new().with("a", x(&[1.0])), 0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line `mse` needs an output `b`, which was not given (there are `a`)"
        );
    }
}

#[test]
fn names_of_a_pipeline() {
    let known = ["l1", "l2", "elastic_net", "entropy", "orthogonality", "output_magnitude"];
    for name in known {
        assert!(Pipeline::new().named(name, 1.0).is_ok(), "{name}");
    }
    let error = Pipeline::new().named("l3", 1.0).unwrap_err().to_string();
    assert!(error.contains("`l3`") && error.contains("`l1`"), "{error}");
}

#[test]
fn validity() {
    for (_, d) in devices() {
        let v = |v: &[f64]| validate(tensor(v, [v.len()], &d)).unwrap();
        assert_eq!(v(&[1.0, 0.0]), Validity::Finite);
        assert_eq!(v(&[f64::INFINITY, f64::NAN]), Validity::Nan);
        assert_eq!(v(&[1.0, f64::INFINITY]), Validity::Infinite);
        assert_eq!(v(&[1.0, f64::NEG_INFINITY]), Validity::Infinite);
    }
}

#[test]
fn schedules() {
    let linear = Schedule::Linear { from: 0.0, to: 1.0, steps: 10 };
    close(linear.at(4), 4.0 / 9.0, 1e-15);
    assert_eq!((linear.at(9), linear.at(100)), (1.0, 1.0));
    assert_eq!(Schedule::Linear { from: 2.0, to: 3.0, steps: 1 }.at(0), 2.0);
    let warm = Schedule::WarmUp { to: 1.0, steps: 5 };
    close(warm.at(2), 0.4, 1e-15);
    assert_eq!((warm.at(5), warm.at(9)), (1.0, 1.0));
    close(Schedule::Decay { from: 1.0, rate: 0.5 }.at(2), 0.25, 1e-15);
    assert_eq!(Schedule::Constant(0.3).at(77), 0.3);
    let cosine = Schedule::Cosine { from: 1.0, to: 0.0, steps: 11 };
    close(cosine.at(0), 1.0, 1e-15);
    close(cosine.at(5), 0.5, 1e-15);
    close(cosine.at(10), 0.0, 1e-15);
    let pieces = Schedule::Piecewise(vec![(2, 1.0), (5, 0.5)]);
    assert_eq!([0, 2, 4, 5, 9].map(|step| pieces.at(step)), [0.0, 1.0, 1.0, 0.5, 0.5]);
    let wrong = Schedule::Piecewise(vec![(5, 1.0), (5, 0.5)]).check().unwrap_err();
    assert!(wrong.to_string().contains("step 5 after step 5"), "{wrong}");
    assert!(Schedule::Constant(f64::NAN).check().is_err());
}

#[test]
fn noise_decays() {
    let noise = Transform::noise(1);
    close(noise.noise_variance(0), 0.01, 1e-15);
    close(noise.noise_variance(1), 0.0068302, 1e-7);
    close(noise.noise_variance(9), 0.0028184, 1e-7);
}
