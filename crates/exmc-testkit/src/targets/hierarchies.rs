//! Hierarchical models: a funnel with closed forms, and posteriors by quadrature
//! (`reference/moments.py`).

use exmc::distributions::{exponential, half_normal, normal};
use exmc::model::{Expr, Tensor};

use super::{Target, known, known_normal};

pub(super) fn targets() -> Vec<Target> {
    vec![
        funnel(),
        funnel().marginalised("funnel-marginal"),
        eight_schools(),
        eight_schools().marginalised("eight-schools-marginal"),
        simple(),
        medium(),
        change_point(),
    ]
}

/// Neal's funnel, non-centred by default. The $x_i$ themselves have too long tails for a gate, so
/// they are seen on their own scale.
fn funnel() -> Target {
    let known = vec![
        known_normal("y", 0, 0.0, 9.0),
        known_normal("scaled", 0, 0.0, 1.0),
        known_normal("scaled", 8, 0.0, 1.0),
    ];
    Target::new("funnel", known, |m| {
        m.rv("y", normal(0.0, 3.0));
        m.rv("x", normal(0.0, (Expr::name("y") / 2.0).exp())).shape([9]);
        m.det("scaled", Expr::name("x") * (-(Expr::name("y") / 2.0)).exp());
    })
}

/// Rubin 1981, with the priors of the benchmark set.
fn eight_schools() -> Target {
    let known = vec![
        known("mu", 0, (4.441_369_516, 10.780_397_2, 3.028_120_6)),
        known("tau", 0, (3.290_366_66, 6.206_502_066, 3.975_245_5)),
        known("theta", 0, (5.939_177_089, 26.109_573_04, 4.941_451_6)),
    ];
    let mut target = Target::new("eight-schools", known, |m| {
        m.rv("mu", normal(0.0, 5.0));
        m.rv("tau", half_normal(5.0));
        m.rv("theta", normal("mu", "tau")).shape([8]);
        m.rv("y", normal("theta", [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]));
        m.observe("y_obs", "y", [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]);
    });
    target.target_accept = 0.9;
    target
}

/// `n` values (n even) with the given mean and sum of squared deviations: the posterior depends on
/// these only.
fn data(n: usize, mean: f64, squares: f64) -> Vec<f64> {
    let deviation = (squares / n as f64).sqrt();
    (0..n).map(|i| if i % 2 == 0 { mean + deviation } else { mean - deviation }).collect()
}

fn simple() -> Target {
    let known = vec![
        known("mu", 0, (3.135_951_722, 0.027_570_155_92, 3.130_838_4)),
        known("sigma", 0, (1.168_143_012, 0.014_344_819_79, 3.521_632_5)),
    ];
    Target::new("simple", known, |m| {
        m.rv("mu", normal(0.0, 10.0));
        m.rv("sigma", exponential(1.0));
        m.rv("y", normal("mu", "sigma")).shape([50]);
        m.observe("y_obs", "y", data(50, 3.136816546, 65.075051432));
    })
}

/// Two groups with a common mean and spread; sampled centred, as the data say much about each
/// group.
fn medium() -> Target {
    let known = vec![
        known("mu_global", 0, (5.233_786_584, 2.100_589_271, 6.442_043)),
        known("sigma_global", 0, (1.883_286_957, 0.814_950_851_7, 7.749_126_5)),
        known("alpha", 0, (3.942_096_9, 0.013_589_454_31, 3.109_717_8)),
        known("beta", 0, (6.747_851_224, 0.013_590_079_25, 3.109_744_8)),
        known("sigma_obs", 0, (0.635_174_946_7, 0.003_559_153_974, 3.435_210_3)),
    ];
    let mut target = Target::new("medium", known, |m| {
        m.rv("mu_global", normal(0.0, 10.0));
        m.rv("sigma_global", exponential(1.0));
        m.rv("alpha", normal("mu_global", "sigma_global")).centred();
        m.rv("beta", normal("mu_global", "sigma_global")).centred();
        m.rv("sigma_obs", exponential(2.0));
        m.rv("y_a", normal("alpha", "sigma_obs")).shape([30]);
        m.rv("y_b", normal("beta", "sigma_obs")).shape([30]);
        m.observe("y_a_obs", "y_a", data(30, 3.933257131, 11.443038595));
        m.observe("y_b_obs", "y_b", data(30, 6.757401056, 11.462142500));
    });
    target.target_accept = 0.9;
    target
}

/// Annual flow of the Nile at Aswan, 1871 to 1970 (Cobb 1978).
const NILE: [f64; 100] = [
    1120.0, 1160.0, 963.0, 1210.0, 1160.0, 1160.0, 813.0, 1230.0, 1370.0, 1140.0, 995.0, 935.0,
    1110.0, 994.0, 1020.0, 960.0, 1180.0, 799.0, 958.0, 1140.0, 1100.0, 1210.0, 1150.0, 1250.0,
    1260.0, 1220.0, 1030.0, 1100.0, 774.0, 840.0, 874.0, 694.0, 940.0, 833.0, 701.0, 916.0, 692.0,
    1020.0, 1050.0, 969.0, 831.0, 726.0, 456.0, 824.0, 702.0, 1120.0, 1100.0, 832.0, 764.0, 821.0,
    768.0, 845.0, 864.0, 862.0, 698.0, 845.0, 744.0, 796.0, 1040.0, 759.0, 781.0, 865.0, 845.0,
    944.0, 984.0, 897.0, 822.0, 1010.0, 771.0, 676.0, 649.0, 846.0, 812.0, 742.0, 801.0, 1040.0,
    860.0, 874.0, 848.0, 890.0, 744.0, 749.0, 838.0, 1050.0, 918.0, 986.0, 797.0, 923.0, 975.0,
    815.0, 1020.0, 906.0, 901.0, 1170.0, 912.0, 746.0, 919.0, 718.0, 714.0, 740.0,
];

/// One change of mean, its year summed out: every year's likelihood is a running sum of one
/// segment's log densities plus the rest of the other's.
fn change_point() -> Target {
    let known = vec![
        known("mu1", 0, (1_094.418_405, 611.557_431_5, 3.074_011_4)),
        known("mu2", 0, (851.215_051_9, 236.391_207_5, 3.065_043_2)),
        known("sigma", 0, (129.819_269_1, 90.332_785_03, 3.261_051_6)),
    ];
    let mut target = Target::new("change-point", known, |m| {
        m.data("flow", Tensor::vector(&NILE));
        m.rv("mu1", normal(919.35, 200.0));
        m.rv("mu2", normal(919.35, 200.0));
        m.rv("sigma", half_normal(200.0));
        let density = |mean: &str| {
            let z = (Expr::name("flow") - mean) / Expr::name("sigma");
            -0.5 * z.square() - Expr::name("sigma").log()
        };
        let (before, after) = (density("mu1"), density("mu2"));
        let until = |density: &Expr| density.clone().cumulative_sum().slice(0, 99);
        let years = until(&before) + (after.clone().sum() - until(&after));
        m.potential("year", years.log_sum_exp());
    });
    // Two modes of the segments' order would be another question; start on the side with the mass.
    let start_value = |name: &str, value: f64| (name.to_owned(), Tensor::scalar(value));
    target.start =
        [start_value("mu1", 1100.0), start_value("mu2", 850.0), start_value("sigma", 130.0)].into();
    target
}
