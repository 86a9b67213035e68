//! Numbers of actions -> 25 kinds of action, which is what a policy needs to know of the second of
//! the Ice Climbers.

/// Names of the kinds, and the last action of each; the last kind has no end.
pub const CATEGORIES: [(&str, u16); 25] = [
    ("dead", 0x0a),
    ("entry", 0x0d),
    ("idle", 0x14),
    ("walk", 0x18),
    ("dash or run", 0x1e),
    ("jump squat", 0x22),
    ("jump", 0x2c),
    ("fall", 0x36),
    ("land", 0x3c),
    ("crouch", 0x42),
    ("ground attack", 0x54),
    ("smash", 0x60),
    ("aerial", 0x6b),
    ("neutral special", 0x7f),
    ("side special", 0x93),
    ("up special", 0xa7),
    ("down special", 0xbb),
    ("grab", 0xc7),
    ("throw", 0xd3),
    ("grabbed", 0xdf),
    ("shield", 0xed),
    ("dodge", 0xff),
    ("damage", 0x130),
    ("down or tech", 0x160),
    ("ledge", u16::MAX),
];

/// The place of an action's kind in [`CATEGORIES`].
///
/// ```
/// use features::{CATEGORIES, action_category};
/// assert_eq!(CATEGORIES[action_category(14)].0, "idle");
/// assert_eq!(CATEGORIES[action_category(0xbc)].0, "grab");
/// ```
#[must_use]
pub fn action_category(action: u16) -> usize {
    CATEGORIES.partition_point(|(_, last)| *last < action)
}

pub(crate) fn is_attack(category: usize) -> bool {
    (10..=16).contains(&category)
}

pub(crate) fn is_grab(category: usize) -> bool {
    matches!(category, 17 | 18)
}

pub(crate) fn can_act(category: usize) -> bool {
    matches!(category, 2 | 3 | 4 | 6 | 7 | 9)
}
