//! Planted faults: a name -> whether that known mistake is switched on in this process.
//!
//! Without the feature `planted` the question is the constant `false`. With it, the environment
//! variable `PENALTIES_FAULT=<name>` switches one mistake on; `cargo xtask nn mutants` walks
//! [`ALL`] and shows that the tests fail for each.

/// Every planted fault: its name and what goes wrong.
pub const ALL: &[(&str, &str)] = &[
    ("sum-for-mean", "A mean is returned as a sum."),
    ("norm-without-mask", "The gradient of a norm is not masked where the norm is zero."),
    ("sign-at-zero", "The sign of zero is one."),
    ("clip-before-centre", "L2 is clipped before it is centred."),
    ("mask-after", "Terms of probability zero are masked after they were computed, not before."),
    ("reverse-is-forward", "The reverse divergence is the forward one."),
    ("entropy-sign", "An entropy bonus has the sign of the penalty."),
    (
        "temperature-without-normalisation",
        "Log probabilities at a temperature are not normalised again.",
    ),
    ("diagonal-kept", "Soft orthogonality counts the diagonal."),
    ("surrogate-half", "The surrogate of a gradient penalty lacks its factor of two."),
    ("scalar-division", "A tracked tensor is divided by a scalar."),
    ("schedule-off-by-one", "A linear schedule reaches its end one step late."),
    ("weight-twice", "A line's weight is applied twice."),
    ("disabled-counts", "A line that is switched off still counts."),
    ("prox-without-step", "The proximal step ignores the learning rate."),
    ("soft-threshold-keeps-small", "Soft thresholding leaves small values as they are."),
    ("clip-each-tensor", "The global norm is taken tensor by tensor."),
    ("transforms-in-order", "Transforms run in the order in which they were added."),
    ("noise-ignores-step", "Gradient noise is the same in every step."),
    ("average-of-tracked", "A moving average takes the old weight for the new one."),
];

/// Whether the fault of this name is switched on.
#[cfg(feature = "planted")]
#[must_use]
pub fn planted(name: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    debug_assert!(ALL.iter().any(|(known, _)| *known == name), "no such fault: {name}");
    let chosen = CHOSEN.get_or_init(|| std::env::var("PENALTIES_FAULT").ok());
    chosen.as_deref() == Some(name)
}

/// Whether the fault of this name is switched on: never in this build.
#[cfg(not(feature = "planted"))]
#[inline]
#[must_use]
pub const fn planted(_name: &str) -> bool {
    false
}
