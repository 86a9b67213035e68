//! Controllers and classes, both ways, over every number of classes.

use features::{Action, BUTTONS, COMPONENTS, Controller, Discretiser};

#[test]
fn classes_go_to_values_and_back_unchanged() {
    for axis in 2..=256_u16 {
        for trigger in [2, 3, 5, 256] {
            let discretiser = Discretiser { axis, trigger };
            for class in 0..axis {
                let class = class as u8;
                let mut action = Action([0; 13]);
                action.0[8..12].fill(class);
                action.0[12] = class.min((trigger - 1) as u8);
                action.0[usize::from(class) % 8] = 1;
                let controller = discretiser.controller(action);
                assert_eq!(discretiser.action(&controller), action, "{axis} classes");
            }
        }
    }
}

#[test]
fn values_come_back_within_half_a_class() {
    for axis in [2, 5, 17, 161, 256] {
        let discretiser = Discretiser { axis, trigger: axis };
        // The game's sticks have steps of 1/80, its triggers of 1/140.
        for step in -80..=80 {
            let stick = step as f32 / 80.0;
            let controller = Controller {
                stick_x: stick,
                c_stick_y: -stick,
                trigger: stick.abs(),
                ..Controller::default()
            };
            let back = discretiser.controller(discretiser.action(&controller));
            // Half a class and the rounding of a few operations on numbers up to 1.
            let half = 1.0 / f32::from(axis - 1) + 4.0 * f32::EPSILON;
            assert!((back.stick_x - stick).abs() <= half);
            assert!((back.c_stick_y + stick).abs() <= half);
            assert!((back.trigger - stick.abs()).abs() <= half / 2.0 + f32::EPSILON);
        }
    }
}

#[test]
fn the_default_classes_are_those_of_the_formula() {
    let class = |stick: f32, trigger: f32| {
        let action = Discretiser::default().action(&Controller {
            stick_x: stick,
            trigger,
            ..Controller::default()
        });
        (action.0[8], action.0[12])
    };
    // trunc(16 v + 0.5) with v = (stick + 1) / 2, and trunc(4 v + 0.5): by hand.
    let cases = [
        (-1.0, 0.0, (0, 0)),
        (-0.9375, 0.12, (1, 0)),
        (-0.94, 0.125, (0, 1)),
        (0.0, 0.5, (8, 2)),
        (0.0625, 0.87, (9, 3)),
        (0.2875, 0.875, (10, 4)),
        (1.0, 1.0, (16, 4)),
        (7.0, -3.0, (16, 0)),
        (f32::NAN, f32::NAN, (0, 0)),
    ];
    for (stick, trigger, expected) in cases {
        assert_eq!(class(stick, trigger), expected, "{stick} {trigger}");
    }
    assert_eq!(Discretiser::default().classes().iter().sum::<usize>(), 2 * 8 + 4 * 17 + 5);
    assert_eq!(COMPONENTS[8], "stick_x");
}

#[test]
fn other_buttons_are_left_out() {
    let every = BUTTONS.iter().fold(0, |bits, (_, mask)| bits | mask);
    let controller = Controller { buttons: u16::MAX, ..Controller::default() };
    let discretiser = Discretiser::default();
    let action = discretiser.action(&controller);
    assert_eq!(action.0[..8], [1; 8]);
    // Start and three directions of the pad are no part of an action.
    assert_eq!(discretiser.controller(action).buttons, every);
}
