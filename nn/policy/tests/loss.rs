//! The loss against numbers from its formulas.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use policy::{Auto, LossConfig, PositiveWeight, positive_weight};

const CLASSES: [usize; 13] = [2, 2, 2, 2, 2, 2, 2, 2, 17, 17, 17, 17, 5];
const NONE: [f64; 8] = [1.0; 8];

/// One frame: logits of each component, all 0 but where `set` says, and the true classes.
fn value(config: &LossConfig, set: &[(usize, usize, f64)], targets: [i32; 13], w: [f64; 8]) -> f64 {
    let device = Device::flex();
    let mut logits = Vec::new();
    let mut classes = Vec::new();
    for (component, count) in CLASSES.iter().enumerate() {
        let mut row = vec![0.0; *count];
        for (_, class, logit) in set.iter().filter(|(c, ..)| *c == component) {
            row[*class] = *logit;
        }
        let data = TensorData::new(row, [1, *count]);
        logits.push(Tensor::<2>::from_data(data, (&device, DType::F64)));
        let data = TensorData::new(vec![targets[component]], [1, 1]);
        classes.push(Tensor::<2, Int>::from_data(data, &device));
    }
    let loss = config.of(&logits, &classes, None, &w);
    loss.total.try_into_scalar::<f64>().expect("a number")
}

fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} instead of {expected}");
}

/// A loss of one button's and one axis's logits alone: the other components' parts are taken away.
fn beyond(
    config: &LossConfig,
    set: &[(usize, usize, f64)],
    targets: [i32; 13],
    w: [f64; 8],
) -> f64 {
    let component = set[0].0;
    let (buttons, axes, trigger) = (2.0_f64.ln(), 17.0_f64.ln(), 5.0_f64.ln());
    let all = 8.0 * buttons + 4.0 * axes + trigger;
    let component_loss = if component < 8 { buttons } else { axes };
    value(config, set, targets, w) - (all - component_loss)
}

#[test]
fn equal_logits_cost_the_logarithms_of_the_classes() {
    let all = 8.0 * 2.0_f64.ln() + 4.0 * 17.0_f64.ln() + 5.0_f64.ln();
    near(value(&LossConfig::default(), &[], [0; 13], NONE), all, 1e-12);
    // With the mean over buttons: ln 2 + 4 ln 17 + ln 5, and with twice that weight.
    let mut config = LossConfig::default();
    config.button_weight = 1.0 / 8.0;
    near(value(&config, &[], [1; 13], NONE), 13.635_438_5, 1e-7);
    config.button_weight = 2.0 / 8.0;
    near(value(&config, &[], [0; 13], NONE), 14.328_585_6, 1e-7);
}

#[test]
fn a_button_costs_its_binary_cross_entropy() {
    let config = LossConfig::default();
    let (mut pressed, released) = ([0; 13], [0; 13]);
    pressed[3] = 1;
    // ln(1 + e^-2) and ln(1 + e^2).
    near(beyond(&config, &[(3, 1, 2.0)], pressed, NONE), 0.126_928_011, 1e-9);
    near(beyond(&config, &[(3, 1, 2.0)], released, NONE), 2.126_928_011, 1e-9);
    let mut weights = NONE;
    weights[3] = 4.0;
    // 4 ln(1 + e); what is released is not weighed.
    near(beyond(&config, &[(3, 1, -1.0)], pressed, weights), 5.253_046_75, 1e-8);
    near(beyond(&config, &[(3, 1, -1.0)], released, weights), 0.313_261_688, 1e-9);
}

#[test]
fn options_are_their_formulas() {
    let mut pressed = [0; 13];
    pressed[3] = 1;
    let mut focal = LossConfig::default();
    focal.focal = 2.0;
    // All other parts shrink to (1 - 1/K)^2 ln K.
    let others = 7.0 * 0.25 * 2.0_f64.ln()
        + 4.0 * (16.0_f64 / 17.0).powi(2) * 17.0_f64.ln()
        + 0.64 * 5.0_f64.ln();
    near(value(&focal, &[(3, 1, 2.0)], pressed, NONE) - others, 0.001_803_6, 1e-7);

    let mut smooth = LossConfig::default();
    smooth.label_smoothing = 0.1;
    near(
        beyond(&smooth, &[(9, 4, 5.0)], [4; 13].map(|c| c.min(1)), NONE),
        5.102_382_5 - 0.1 / 16.0 * 5.0,
        1e-6,
    );
    let mut targets = [0; 13];
    targets[9] = 4;
    near(beyond(&smooth, &[(9, 4, 5.0)], targets, NONE), 0.602_382_5, 1e-6);
    // Buttons are never smoothed.
    near(beyond(&smooth, &[(3, 1, 2.0)], pressed, NONE), 0.126_928_011, 1e-9);

    let mut edges = LossConfig::default();
    edges.edge_weight = 3.0;
    let mut neutral = [0; 13];
    neutral[8..12].fill(8);
    let plain = 8.0 * 2.0_f64.ln() + 5.0_f64.ln();
    near(value(&edges, &[], neutral, NONE), plain + 4.0 * 17.0_f64.ln(), 1e-12);
    neutral[8..12].copy_from_slice(&[0, 16, 4, 12]);
    near(value(&edges, &[], neutral, NONE), plain + (3.0 + 3.0 + 2.0 + 2.0) * 17.0_f64.ln(), 1e-12);

    let mut bonus = LossConfig::default();
    bonus.entropy_bonus = 0.5;
    let all = 8.0 * 2.0_f64.ln() + 4.0 * 17.0_f64.ln() + 5.0_f64.ln();
    near(value(&bonus, &[], [0; 13], NONE), 0.5 * all, 1e-12);

    let mut normal = LossConfig::default();
    normal.normalise_heads = true;
    near(value(&normal, &[], [0; 13], NONE), 13.0, 1e-12);
}

#[test]
fn weights_of_pressed_buttons_stay_within_1_and_30() {
    near(positive_weight(0.1), 3.0, 1e-12);
    near(positive_weight(0.9), 1.0, 1e-12);
    near(positive_weight(0.0), 30.0, 1e-12);
    // 1e-3: sqrt(999) = 31.6 is too much.
    near(positive_weight(1e-3), 30.0, 1e-12);
}

#[test]
fn weights_of_frames_follow_changes_and_leave_the_first_out() {
    let mut config = LossConfig::default();
    assert_eq!(config.frame_weights(&[0; 39], 3), None);
    (config.change_weight, config.warm_frames) = (4.0, 1);
    let mut targets = [0_u8; 13 * 6];
    targets[13 * 2] = 1;
    targets[13 * 3] = 1;
    // Frames 2 and 5 of the two windows: 2 changes; 3 begins a window; 4 changes back.
    let weights = config.frame_weights(&targets, 3).expect("there are weights");
    assert_eq!(weights, [0.0, 1.0, 4.0, 0.0, 4.0, 1.0]);
}

#[test]
fn settings_out_of_range_are_named() {
    let mut config = LossConfig::default();
    config.focal = 0.5;
    let error = config.check(32).expect_err("a focal exponent below 1 has no gradient at 1");
    assert!(error.to_string().contains("`loss.focal` is 0.5"), "{error}");
    assert_eq!(error.exit_code(), 2);
    config.focal = 0.0;
    config.warm_frames = 32;
    assert!(config.check(32).expect_err("no frame is left").to_string().contains("warm_frames"));
    config.warm_frames = 31;
    config.positive_weight = PositiveWeight::Auto(Auto::Auto);
    config.check(32).expect("the settings are fine");
    let text = serde_json::to_string(&config).expect("settings have a text");
    assert!(text.contains(r#""positive_weight":"auto""#), "{text}");
}
