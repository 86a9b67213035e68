//! Priors of penalties: densities that integrate to one, and constants that do not matter to a
//! mode.

use penalties::{Centre, Penalty, Prior, Reduce};

/// $\int e^{\text{log density}}$ over [-l, l] by Simpson's rule.
fn integral(prior: &Prior, l: f64, count: usize) -> f64 {
    let h = 2.0 * l / count as f64;
    (0..=count)
        .map(|i| {
            let x = -l + h * i as f64;
            let weight = if i == 0 || i == count {
                1.0
            } else if i % 2 == 1 {
                4.0
            } else {
                2.0
            };
            weight * prior.log_density(&[x], &[1]).exp() * h / 3.0
        })
        .sum()
}

#[test]
fn densities_integrate_to_one() {
    let elastic = |ratio| Penalty::ElasticNet { reduce: Reduce::Sum, l1_ratio: ratio };
    let about = Penalty::L2 { reduce: Reduce::Sum, centre: Centre::At(0.5), clip: None };
    for weight in [0.3, 1.0, 7.0] {
        for penalty in
            [Penalty::L1, Penalty::L2, about.clone(), elastic(0.3), elastic(1.0), elastic(0.999)]
        {
            let prior = penalty.prior(weight).unwrap();
            // The kink at 0 is a node, so Simpson's error is of fourth order on each side.
            let total = integral(&prior, 120.0, 400_000);
            assert!((total - 1.0).abs() < 1e-8, "{prior:?}: {total}");
        }
    }
}

#[test]
fn a_group_of_two_integrates_to_one() {
    // In polar coordinates: 2 pi r times the density.
    let prior = Penalty::GroupLasso { axis: 0, size_weighted: true }.prior(1.3).unwrap();
    let (count, l) = (200_000, 60.0);
    let h = l / f64::from(count);
    let total: f64 = (0..count)
        .map(|i| {
            let r = h * (f64::from(i) + 0.5);
            std::f64::consts::TAU * r * prior.log_density(&[r, 0.0], &[1, 2]).exp() * h
        })
        .sum();
    assert!((total - 1.0).abs() < 1e-6, "{total}");
}

#[test]
fn a_penalty_is_the_negative_log_density_but_for_a_constant() {
    let (x, y) = ([0.3, -1.2, 2.0, 0.1], [1.0, 0.5, -0.25, 3.0]);
    let device = burn::tensor::Device::flex();
    let value = |penalty: &Penalty, x: &[f64]| {
        let data = burn::tensor::TensorData::new(x.to_vec(), [2, 2]);
        let x = burn::tensor::Tensor::<2>::from_data(data, (&device, burn::tensor::DType::F64));
        penalty.value(x).unwrap().try_into_scalar::<f64>().unwrap()
    };
    for penalty in [
        Penalty::L1,
        Penalty::L2,
        Penalty::ElasticNet { reduce: Reduce::Sum, l1_ratio: 0.7 },
        Penalty::GroupLasso { axis: 0, size_weighted: false },
        Penalty::GroupLasso { axis: 1, size_weighted: true },
    ] {
        let prior = penalty.prior(1.7).unwrap();
        let logs = prior.log_density(&x, &[2, 2]) - prior.log_density(&y, &[2, 2]);
        let penalties = 1.7 * (value(&penalty, &x) - value(&penalty, &y));
        assert!((logs + penalties).abs() < 1e-13, "{penalty:?}: {logs} {penalties}");
    }
}

#[test]
fn potentials_have_no_prior() {
    for penalty in [
        Penalty::L1 { reduce: Reduce::Mean },
        Penalty::L2 { reduce: Reduce::Sum, centre: Centre::Zero, clip: Some(1.0) },
        Penalty::L2 { reduce: Reduce::Sum, centre: Centre::Mean, clip: None },
        Penalty::SpectralNorm,
        Penalty::Simplex,
    ] {
        assert_eq!(penalty.prior(1.0), None);
    }
    assert_eq!(Penalty::L1.prior(0.0), None);
    let text = Penalty::L1.prior(4.0).unwrap().stan("beta");
    assert_eq!(text, "beta ~ double_exponential(0, 0.25);");
}
