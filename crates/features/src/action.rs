//! Controllers <-> classes: what a policy predicts is one class for each of 13 components.

use crate::state::{BUTTONS, Controller};

/// Components of an action in their fixed order: eight buttons, four axes, the trigger.
pub const COMPONENTS: [&str; 13] = [
    "A",
    "B",
    "X",
    "Y",
    "Z",
    "L",
    "R",
    "D_UP",
    "stick_x",
    "stick_y",
    "c_stick_x",
    "c_stick_y",
    "trigger",
];

/// A class for each of [`COMPONENTS`]; a button's is 0 or 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Action(pub [u8; 13]);

/// How many classes axes and the trigger have.
///
/// With n + 1 classes, an axis at s in [-1, 1] has the class floor(n (s + 1) / 2 + 1/2), the
/// trigger at t in [0, 1] floor(n t + 1/2); back, class k is 2 k / n - 1 and k / n. So a class goes
/// to a value and back unchanged, and a value comes back within half a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discretiser {
    /// Classes of each axis, from 2 to 256.
    pub axis: u16,
    /// Classes of the trigger, from 2 to 256.
    pub trigger: u16,
}

impl Default for Discretiser {
    /// 17 classes an axis and 5 for the trigger, so that the neutral stick is a class.
    fn default() -> Self {
        Self { axis: 17, trigger: 5 }
    }
}

fn class(unit: f32, classes: u16) -> u8 {
    // What is no number becomes class 0, as conversions of NaN do.
    let steps = f32::from(classes.clamp(2, 256) - 1);
    (unit.clamp(0.0, 1.0) * steps + 0.5) as u8
}

fn value(class: u8, classes: u16) -> f32 {
    let steps = classes.clamp(2, 256) - 1;
    f32::from(u16::from(class).min(steps)) / f32::from(steps)
}

impl Discretiser {
    /// Classes of each component, in the order of [`COMPONENTS`].
    #[must_use]
    pub fn classes(&self) -> [usize; 13] {
        let axis = usize::from(self.axis.clamp(2, 256));
        let trigger = usize::from(self.trigger.clamp(2, 256));
        [2, 2, 2, 2, 2, 2, 2, 2, axis, axis, axis, axis, trigger]
    }

    /// The classes of a controller.
    #[must_use]
    pub fn action(&self, controller: &Controller) -> Action {
        let mut classes = [0; 13];
        for (class, (_, mask)) in classes.iter_mut().zip(BUTTONS) {
            *class = u8::from(controller.buttons & mask != 0);
        }
        let axes =
            [controller.stick_x, controller.stick_y, controller.c_stick_x, controller.c_stick_y];
        for (place, axis) in classes[8..].iter_mut().zip(axes) {
            *place = class((axis + 1.0) / 2.0, self.axis);
        }
        classes[12] = class(controller.trigger, self.trigger);
        Action(classes)
    }

    /// The controller of classes; a class behind the last counts as the last.
    #[must_use]
    pub fn controller(&self, action: Action) -> Controller {
        let classes = action.0;
        let pressed = BUTTONS.iter().zip(classes).filter(|(_, class)| *class != 0);
        let axis = |k: usize| value(classes[k], self.axis) * 2.0 - 1.0;
        Controller {
            buttons: pressed.fold(0, |buttons, ((_, mask), _)| buttons | mask),
            stick_x: axis(8),
            stick_y: axis(9),
            c_stick_x: axis(10),
            c_stick_y: axis(11),
            trigger: value(classes[12], self.trigger),
        }
    }
}
