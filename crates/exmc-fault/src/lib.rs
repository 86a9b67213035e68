//! Planted faults (internal, unstable): a name -> whether that known bug is switched on in this
//! process.
//!
//! A test gate is worth as much as the bugs that it catches. Each [`Fault`] names one bug that a
//! sampler, density or adaptation once shipped with somewhere; the code that would contain it asks
//! [`planted`]. Without the feature `planted` that question is the constant `false` and costs
//! nothing, so a release build cannot be made faulty. With it, the environment variable
//! `EXMC_FAULT=<name>` switches exactly one fault on; `cargo xtask mutants` walks [`Fault::ALL`]
//! and shows that a gate fails for each.
#![forbid(unsafe_code)]

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
    DivergencesKeepTarget = "divergences-keep-target": "The target acceptance stays as it is, however often warmup diverges.",
    PathFactorTransposed = "path-factor-transposed": "Pathfinder draws with the transposed factor of its covariance.",
    RestartWhileSampling = "restart-while-sampling": "A chain that looks stuck is restarted after warmup too.",
    RestartKeepsAdaptation = "restart-keeps-adaptation": "A restarted chain goes on with the step size and metric that it was stuck with.",
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
    LostLocation = "lost-location": "What was integrated out and has no linear term is drawn around zero and not around its location.",
    LostWeight = "lost-weight": "Where a variable is integrated out, a factor of each row multiplies squares and not what is linear.",
    LostMask = "lost-mask": "Where a variable is integrated out, rows that a condition leaves out count as if they were there.",
    NumberReadOnce = "number-read-once": "A number that several rows read is integrated out as if one of them did.",
    IndependentDraws = "independent-draws": "Of two variables that are integrated out, one is drawn around the other's mean and not around its draw.",
    LostSlope = "lost-slope": "The gradient of what is left does not follow the location of what was integrated out.",
    GroupedOrder = "grouped-order": "Scalars of alike terms are taken in the order of the position, whatever the order of the terms.",
    GroupedFactor = "grouped-factor": "Of alike terms with factors of their own, all are summed with the first one's.",
    JoinedNeighbour = "joined-neighbour": "A scalar that lies in a joined input is read at its neighbour's place.",
    NonCentredLocation = "non-centred-location": "A built model's non-centred variable is recorded without its location.",
    NonCentredFactor = "non-centred-factor": "A Stan program's non-centred parameter is restored with the scale's square root.",
    RecentredPower = "recentred-power": "A partly centred value is restored with the scale to the power of the centred share.",
    RecentredJacobian = "recentred-jacobian": "Half of a partly centred coordinate's log Jacobian is left out.",
    RecentredInverse = "recentred-inverse": "The way back to a partly centred coordinate leaves out its share of the location.",
    RecentredFactor = "recentred-factor": "A vector with a factor is restored without what its elements have from those before, where they are partly centred.",
    RecentredWalk = "recentred-walk": "A random walk's element that is centred is followed by elements that begin anew.",
    RecentredBefore = "recentred-before": "The way back to a random walk's innovations takes off the walk's location but not the element before.",
    MergedRowLost = "merged-row-lost": "Equal rows that are merged count one too few.",
    JoinedLogSign = "joined-log-sign": "The logarithm of the product of several has the other sign.",
    CollapsedRest = "collapsed-rest": "A sum of squares that is collapsed lacks what no parameter explains.",
    LanesSwapped = "lanes-swapped": "Of positions side by side, the first two have each other's log density.",
    RecoveredDiverges = "recovered-diverges": "A position where the density cannot be evaluated counts as a divergence, and for the step size.",
    ChecksumIgnored = "checksum-ignored": "A stored draw is read whatever its checksum says.",
    ColumnsSwapped = "columns-swapped": "The first two columns of stored draws are read in each other's place.",
    LastDrawLost = "last-draw-lost": "The last draw of each chain is not read from its file.",
    DrawsInSingle = "draws-in-single": "Stored values have the precision of `f32`.",
    WarmupAsDraws = "warmup-as-draws": "Stored warmup draws are read as draws after warmup.",
    ResumedStream = "resumed-stream": "A chain that goes on from a checkpoint begins its random stream anew.",
    ResumedMetric = "resumed-metric": "A chain that goes on from a checkpoint has the metric of a chain that begins.",
    ResumedWindow = "resumed-window": "A checkpoint that is read back counts one draw too many in the window that adapts the metric.",
    CheckpointAhead = "checkpoint-ahead": "A chain goes on from a checkpoint whose draws are not in its file.",
    TornDrawKept = "torn-draw-kept": "A run that goes on appends behind what is left of a draw that was cut off.",
    ChainsNotSplit = "chains-not-split": "R-hat and effective sample size compare whole chains and not their halves.",
    RanksForgotten = "ranks-forgotten": "R-hat and bulk effective sample size are of the draws and not of their normal scores.",
    LateTruncation = "late-truncation": "The sum of autocorrelations goes on behind the first negative pair.",
    TailIsBulk = "tail-is-bulk": "The tail effective sample size is that of the bulk.",
    AutocorrelationForgotten = "autocorrelation-forgotten": "The standard error of the mean takes draws for independent.",
    TailNotSmoothed = "tail-not-smoothed": "The largest importance ratios keep their values.",
    LooKeepsObservation = "loo-keeps-observation": "Leaving out an observation gives its density with the observation.",
    PopulationError = "population-error": "Standard errors over observations have the divisor n and not n - 1.",
    PopulationVariance = "population-variance": "The penalty of WAIC is a variance with the divisor S and not S - 1.",
    SensitivityUnscaled = "sensitivity-unscaled": "Power-scaling sensitivity is a distance, not one over the change of the power.",
    StaleQuantities = "stale-quantities": "Compiled generated quantities of a draw are those of the draw before.",
    QuantitiesTransposed = "quantities-transposed": "Generated quantities read matrices of parameters column by column.",
    QuantitiesStream = "quantities-stream": "Generated quantities of all draws take the random numbers of draw 0.",
    OuterMaskInside = "outer-mask-inside": "A condition on iterations of an outer loop is taken for one on as many lanes of an inner loop.",
    StepTwiceInLayout = "step-twice-in-layout": "Rows of one step that stand apart count as rows of different steps.",
    StepsUnseenAround = "steps-unseen-around": "A loop around does not see which elements the steps of a loop inside read and write.",
    IndexOfAnotherGraph = "index-of-another-graph": "An index that a loop's body computes is taken from the program's node of the same number.",
    InnerMaskOutside = "inner-mask-outside": "Conditions of an inner loop's lanes stay in force where addresses are found for the iterations around it.",
    OverflowTaken = "overflow-taken": "What a loop hands on counts as read where only branches that are not taken read it.",
    LostBlend = "lost-blend": "A variable that iterations assign to under a condition on parameters has what the last iteration says.",
    DroppedByValue = "dropped-by-value": "`~` leaves out terms of variables whose values are known, not those of data.",
    RangeOffByOne = "range-off-by-one": "A range of indices that does not begin at one begins one element early.",
    InnermostConditionOnly = "innermost-condition-only": "A term in a branch inside of another counts under the inner condition alone.",
    FirstLanesCondition = "first-lanes-condition": "A condition of an outer loop's iterations is read in its first iteration for all.",
    ColumnsForRows = "columns-for-rows": "A loop over a matrix walks it column by column.",
    UnmaskedChoice = "unmasked-choice": "Both sides of a choice on parameters reject and add to the density.",
    MaskEndsAtLoop = "mask-ends-at-loop": "What a branch in a loop reads from outside has a slope where the branch is not taken.",
    BreakIgnored = "break-ignored": "A `break` under a condition on parameters ends the iteration, not the loop.",
    PatternOfTheStepBefore = "pattern-of-the-step-before": "Loops walked as steps choose between the results of branches on data as the step before did.",
    UntakenTerm = "untaken-term": "A term under a condition on data is added by all steps of a loop that is walked as steps.",
    StaleStep = "stale-step": "The last number that a loop walked as steps carries is handed on as it was.",
    StaleState = "stale-state": "The last state of a rolled loop is handed on as it was a step before.",
    LaterReturnWins = "later-return-wins": "A later `return` replaces the value of one before it, whatever the conditions.",
    FirstWriteStays = "first-write-stays": "After a loop whose iterations have copies a variable is what the first of them left.",
    LostElse = "lost-else": "Terms under the opposite of a condition on parameters are added under no condition.",
    RollbackKeepsFirst = "rollback-keeps-first": "Of a frame that a rollback repeats, what it was first remains.",
    FollowerIsLeader = "follower-is-leader": "What the second of the Ice Climbers does is taken for what the first does.",
    FacingIsTrue = "facing-is-true": "The side that a character faces is read as a truth value, for which -1 is true.",
    LiveSidesSwapped = "live-sides-swapped": "In live play the opponent's features come before the player's own.",
    TargetOfSameFrame = "target-of-same-frame": "The inputs to be learned are those that the observed frame already shows.",
    WindowAcrossFiles = "window-across-files": "A window that goes over its file's end goes on in the next file.",
    FactorialSign = "factorial-sign": "Falling and rising factorials are the exponential of their logarithm, without the sign.",
    ClampedLogCdf = "clamped-log-cdf": "The log of a normal distribution function sees no number of deviations below -38.5, where the function itself underflows.",
    TapeQuotientSign = "tape-quotient-sign": "On the interpreter's tape the slope of a quotient by its denominator lacks its sign.",
    TapeLostPlace = "tape-lost-place": "On the interpreter's tape a part of a variable that is assigned keeps the place of what it held.",
    MetricFileOrder = "metric-file-order": "A metric file of CmdStan's is read in the order of the sampler's coordinates.",
    DivergencesUnwritten = "divergences-unwritten": "A model executable writes zero for every divergence.",
    TapeForgetsTarget = "tape-forgets-target": "On the interpreter's tape the density so far is a constant for what reads it.",
    DensityLeaks = "density-leaks": "A density in a figure falls off at the ends of its support, as if draws lay beyond them.",
    BandOfOneChain = "band-of-one-chain": "The rank band of several chains has the false-alarm rate of each one alone.",
    LostDivergences = "lost-divergences": "Figures show divergent transitions as ordinary ones.",
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
