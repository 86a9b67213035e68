//! Planted faults (internal, unstable): a name -> whether that known bug is switched on in this process.
//!
//! A test gate is worth as much as the bugs that it catches. Each [`Fault`] names one bug that a
//! sampler, density or adaptation once shipped with somewhere; the code that would contain it asks
//! [`planted`]. Without the feature `planted` that question is the constant `false` and costs
//! nothing, so a release build cannot be made faulty. With it, the environment variable
//! `EXMC_FAULT=<name>` switches exactly one fault on; `cargo xtask mutants` walks [`Fault::ALL`] and
//! shows that a gate fails for each.

macro_rules! faults {
    ($($variant:ident = $name:literal : $what:literal),* $(,)?) => {
        /// One known bug that can be switched on in a test build.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault { $(#[doc = $what] $variant),* }

        impl Fault {
            /// Every fault, in declaration order.
            pub const ALL: &'static [Fault] = &[$(Fault::$variant),*];

            /// The name that `EXMC_FAULT` takes.
            pub const fn name(self) -> &'static str { match self { $(Fault::$variant => $name),* } }

            /// What goes wrong, in one sentence.
            pub const fn describe(self) -> &'static str { match self { $(Fault::$variant => $what),* } }
        }
    };
}

faults! {
    AcceptInvalidSubtree = "accept-invalid-subtree": "A proposal is taken from a turning or divergent new subtree.",
    UniformMergeWeight = "uniform-merge-weight": "The outer merge accepts the new subtree with probability one half, whatever its weight.",
    BiasedInnerMerge = "biased-inner-merge": "Merges inside a subtree use the biased rule of the outer merge.",
    StaleMomentum = "stale-momentum": "The momentum is not refreshed at the start of a transition.",
    UturnSign = "uturn-sign": "One end of the U-turn criterion has its sign reversed.",
    SkipSubtreeUturnChecks = "skip-subtree-uturn-checks": "The two checks across the seam of merged subtrees are left out.",
    CappedLeafWeight = "capped-leaf-weight": "Leaf weights are capped at one, as an acceptance probability would be.",
    DivergentDrawsInMetric = "divergent-draws-in-metric": "Rejected divergent end points enter the metric estimate.",
    StreamReuse = "stream-reuse": "All chains use the random stream of chain 0.",
    WarmupDrawsLeak = "warmup-draws-leak": "The last warmup draws are returned as if they were draws.",
    HalfStepOmitted = "half-step-omitted": "The second half step of the momentum is left out of the leapfrog.",
    KineticEnergyWrongMetric = "kinetic-energy-wrong-metric": "Kinetic energy ignores the inverse metric.",
    MomentumVariance = "momentum-variance": "Momenta are drawn with the inverse metric's scale instead of the metric's.",
    AdaptDuringSampling = "adapt-during-sampling": "The step size keeps adapting after warmup, without averaging.",
    MissingJacobian = "missing-jacobian": "The log transform's Jacobian is left out of the log density.",
    IntervalJacobianSign = "interval-jacobian-sign": "The interval transform's Jacobian has the wrong sign in one of its terms.",
    SimplexJacobianOffByOne = "simplex-jacobian-off-by-one": "The simplex transform's Jacobian leaves out its last factor.",
    NonCentredKeepsScaleTerm = "non-centred-keeps-scale-term": "A non-centred density keeps the -log(scale) term of the centred one.",
    ObservationCountedTwice = "observation-counted-twice": "An observed variable's density is added a second time as if it were free.",
    WrongTailMask = "wrong-tail-mask": "The mask of a loop's last vector lets one padding lane through.",
    StaleCarry = "stale-carry": "Generated loops hand on the state of the first step.",
    ExponentialTail = "exponential-tail": "The exponential in generated code is 1 % too large for arguments below -30.",
    LostLane = "lost-lane": "The eighth lane of every sum is left out.",
    StaleRegister = "stale-register": "A block register is given away while its value is still to be read.",
    WrongTailMaskInLoops = "wrong-tail-mask-in-loops": "Sums of more than one vector let one padding lane through, in routines and in generated code.",
    WrongTailMaskSingle = "wrong-tail-mask-single": "Sums of `f32` let one padding lane through, in routines and in generated code.",
    WrongTailMaskGenerated = "wrong-tail-mask-generated": "Sums of `f32` let one padding lane through, in generated code only.",
    LostLaneSingle = "lost-lane-single": "The eighth lane of every sum of `f32` is left out, in routines and in generated code.",
    StaleRegisterSingle = "stale-register-single": "A block register of `f32` is given away while its value is still to be read.",
    StaleNumberSingle = "stale-number-single": "Generated loops in `f32` take the first number for every number.",
    LaneOrder = "lane-order": "A gradient for several positions at once adds the eight lanes of a sum in another order.",
    NeighboursLane = "neighbours-lane": "Of chains side by side, the leaf of one becomes the proposal of its neighbour.",
    ExtremeFactor = "extreme-factor": "The product of which a log density takes the logarithm has factors of any size.",
    MarginalDeterminant = "marginal-determinant": "What is left of a density when a variable is integrated out lacks the variable's own width.",
    ConditionalVariance = "conditional-variance": "What was integrated out is drawn with its variance for its deviation.",
    GradientGatherOverwrites = "gradient-gather-overwrites": "The gradient of a gather overwrites instead of adding where an index repeats.",
    TapeQuotientSign = "tape-quotient-sign": "On the interpreter's tape the slope of a quotient by its denominator lacks its sign.",
    TapeLostPlace = "tape-lost-place": "On the interpreter's tape a part of a variable that is assigned keeps the place of what it held.",
    TapeForgetsTarget = "tape-forgets-target": "On the interpreter's tape the density so far is a constant for what reads it.",
}

/// Whether `fault` is switched on in this process; always `false` without the feature `planted`.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub const fn planted(_fault: Fault) -> bool {
    false
}

/// Whether `fault` is switched on in this process by `EXMC_FAULT`.
#[cfg(feature = "planted")]
pub fn planted(fault: Fault) -> bool {
    use std::sync::OnceLock;
    static NAME: OnceLock<Option<String>> = OnceLock::new();
    NAME.get_or_init(|| std::env::var("EXMC_FAULT").ok()).as_deref() == Some(fault.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = Fault::ALL.iter().map(|f| f.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Fault::ALL.len());
    }
}
