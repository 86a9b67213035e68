//! Warnings of a run: summaries and totals -> plain sentences, each with a hint.

use std::fmt;

use crate::energy::e_bfmi;
use crate::summary::Summary;

/// The sample statistics of one chain's draws after warmup.
#[derive(Clone, Copy, Debug)]
pub struct ChainStatistics<'a> {
    /// Whether each transition diverged.
    pub diverging: &'a [bool],
    /// Whether each transition diverged where the log density is not finite.
    pub non_finite_divergences: &'a [bool],
    /// Whether each transition ended where the log density could not be evaluated.
    pub recovered: &'a [bool],
    /// Tree depth of each transition.
    pub tree_depth: &'a [u32],
    /// Hamiltonian energy of each transition, in nats.
    pub energy: &'a [f64],
}

/// Totals of a run's sample statistics, over all chains, after warmup.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunDiagnostics {
    /// Number of chains.
    pub n_chains: usize,
    /// Number of transitions in all chains together.
    pub n_draws: usize,
    /// Number of transitions that diverged.
    pub divergences: usize,
    /// How many of these met a log density that is not finite: minus infinity where the model gives
    /// no density.
    pub non_finite_divergences: usize,
    /// Number of transitions that ended where the log density could not be evaluated.
    pub recovered: usize,
    /// Number of transitions whose tree depth reached the limit.
    pub depth_hits: usize,
    /// [`e_bfmi`] of each chain.
    pub ebfmi: Vec<f64>,
}

impl RunDiagnostics {
    /// Counts and energies of all chains; `max_depth` is the limit on the tree depth.
    pub fn of(chains: &[ChainStatistics], max_depth: u32) -> Self {
        let mut run = RunDiagnostics {
            n_chains: chains.len(),
            n_draws: 0,
            divergences: 0,
            non_finite_divergences: 0,
            recovered: 0,
            depth_hits: 0,
            ebfmi: Vec::with_capacity(chains.len()),
        };
        for chain in chains {
            run.n_draws += chain.diverging.len();
            run.divergences += chain.diverging.iter().filter(|&&d| d).count();
            run.non_finite_divergences +=
                chain.non_finite_divergences.iter().filter(|&&d| d).count();
            run.recovered += chain.recovered.iter().filter(|&&r| r).count();
            run.depth_hits += chain.tree_depth.iter().filter(|&&d| d >= max_depth).count();
            run.ebfmi.push(e_bfmi(chain.energy));
        }
        run
    }

    /// Whether most divergences are steps to where the log density is not finite: out of a support
    /// that the declarations do not tell of, and not curvature.
    pub fn diverges_outside_support(&self) -> bool {
        2 * self.non_finite_divergences > self.divergences
    }
}

/// Values beyond which a diagnostic becomes a warning. Divergences and depth hits warn from the
/// first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Thresholds {
    /// Largest R-hat; default 1.01 (Vehtari et al. 2021, section 4).
    pub rhat: f64,
    /// Smallest bulk and tail effective sample size for each chain; default 100, so that R-hat and
    /// ESS are themselves reliable (Vehtari et al. 2021, section 4: 400 for four chains).
    pub ess_per_chain: f64,
    /// Smallest E-BFMI; default 0.3 (Stan's `diagnose` and ArviZ; provisional, Betancourt 2016
    /// gives no bound).
    pub ebfmi: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds { rhat: 1.01, ess_per_chain: 100.0, ebfmi: 0.3 }
    }
}

/// What a [`Warning`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WarningKind {
    /// Some draws are NaN or infinite.
    NonFinite,
    /// Some transitions diverged.
    Divergences,
    /// Some transitions ended where the log density could not be evaluated.
    Recovered,
    /// R-hat above its threshold.
    Rhat,
    /// Bulk ESS below its threshold.
    EssBulk,
    /// Tail ESS below its threshold.
    EssTail,
    /// E-BFMI below its threshold.
    Ebfmi,
    /// Some transitions reached the limit on the tree depth.
    DepthHits,
    /// Too few draws for R-hat and ESS.
    TooShort,
    /// Some chains failed or made no draws; found by who ran them.
    Chains,
    /// The density that was sampled is computed in too few digits; found by who computes it.
    Precision,
    /// The log densities of some chains are far below another's; found by who has the chains.
    Apart,
    /// Some chains have a variable's components in another order; found by who has the chains.
    LabelSwitching,
}

/// One thing that is wrong with a run, as a plain sentence, and what to do about it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Warning {
    /// What the warning is about.
    pub kind: WarningKind,
    /// What was found, with counts and the worst parameter.
    pub message: String,
    /// What usually helps.
    pub hint: &'static str,
}

impl Warning {
    /// A warning that some chains are missing, which the others' draws do not show.
    pub fn chains(message: String) -> Self {
        Self { kind: WarningKind::Chains, message, hint: HINT_CHAINS }
    }

    /// A warning that some chains' log densities are far below another's.
    pub fn apart(message: String) -> Self {
        Self { kind: WarningKind::Apart, message, hint: HINT_APART }
    }

    /// A warning that some chains have a variable's components in another order.
    pub fn label_switching(message: String) -> Self {
        Self { kind: WarningKind::LabelSwitching, message, hint: HINT_LABEL_SWITCHING }
    }

    /// A warning that the density was computed in too few digits, which draws alone do not show.
    pub fn precision(message: String) -> Self {
        Self { kind: WarningKind::Precision, message, hint: HINT_PRECISION }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.hint)
    }
}

/// All warnings of a run, the gravest kind first, at most one of a kind.
///
/// Parameters that are constant, exactly or up to rounding, draw no warning for lack of an R-hat or
/// ESS, nor for a bad one.
pub fn warnings(
    parameters: &[(&str, &Summary)],
    run: &RunDiagnostics,
    thresholds: &Thresholds,
) -> Vec<Warning> {
    let varying: Vec<(&str, &Summary)> =
        parameters.iter().copied().filter(|(_, s)| !is_constant(s)).collect();
    let varying = &Among { parameters: &varying, total: parameters.len() };
    let mut found = Vec::new();
    let mut push = |kind, message, hint| found.push(Warning { kind, message, hint });

    let broken = Offenders::new(parameters, |s| {
        let is_constant = s.q5.is_infinite() && s.q5 == s.q95;
        (!s.mean.is_finite() && !is_constant).then_some(1.0)
    });
    if let Some(text) = broken.describe() {
        push(
            WarningKind::NonFinite,
            format!("draws are NaN or infinite for {text}"),
            HINT_NON_FINITE,
        );
    }
    if run.divergences > 0 {
        let mut message = share("diverged", run.divergences, run.n_draws);
        if run.diverges_outside_support() {
            let count = run.non_finite_divergences;
            message += &format!(", {count} of them where the log density is not finite");
        }
        let hint =
            if run.diverges_outside_support() { HINT_OUTSIDE_SUPPORT } else { HINT_DIVERGENCES };
        push(WarningKind::Divergences, message, hint);
    }
    if run.recovered > 0 {
        let what = "ended where the log density could not be evaluated";
        push(WarningKind::Recovered, share(what, run.recovered, run.n_draws), HINT_RECOVERED);
    }
    let apart = Offenders::among(varying, |s| (s.rhat > thresholds.rhat).then_some(s.rhat));
    if let Some(text) = apart.describe_worst("R-hat", 3) {
        let message = format!("R-hat is above {} for {text}", thresholds.rhat);
        push(WarningKind::Rhat, message, HINT_RHAT);
    }
    let needed = thresholds.ess_per_chain * run.n_chains as f64;
    let few_bulk = Offenders::among(varying, |s| (s.ess_bulk < needed).then_some(-s.ess_bulk));
    if let Some(text) = few_bulk.describe_worst("ESS", 0) {
        let message = format!("bulk effective sample size is below {needed:.0} for {text}");
        push(WarningKind::EssBulk, message, HINT_ESS);
    }
    let few_tail = Offenders::among(varying, |s| (s.ess_tail < needed).then_some(-s.ess_tail));
    if let Some(text) = few_tail.describe_worst("ESS", 0) {
        let message = format!("tail effective sample size is below {needed:.0} for {text}");
        push(WarningKind::EssTail, message, HINT_ESS_TAIL);
    }
    let slow = run.ebfmi.iter().copied().filter(|&e| e < thresholds.ebfmi);
    let (count, lowest) = slow.fold((0, f64::INFINITY), |(n, low), e| (n + 1, low.min(e)));
    if count > 0 {
        let message = format!(
            "E-BFMI is below {} in {count} of {} chains (lowest {lowest:.2})",
            thresholds.ebfmi, run.n_chains
        );
        push(WarningKind::Ebfmi, message, HINT_EBFMI);
    }
    if run.depth_hits > 0 {
        let message = share("reached the largest tree depth", run.depth_hits, run.n_draws);
        push(WarningKind::DepthHits, message, HINT_DEPTH);
    }
    let short = Offenders::among(varying, |s| {
        let unknown = s.mean.is_finite() && s.ess_bulk.is_nan();
        unknown.then_some(1.0)
    });
    if let Some(text) = short.describe() {
        let message = format!("R-hat and effective sample size are unknown for {text}");
        push(WarningKind::TooShort, message, HINT_SHORT);
    }
    found
}

const HINT_PRECISION: &str = "compute in f64 (the default precision), or centre and scale the data";
const HINT_NON_FINITE: &str =
    "look at the model's expressions for that variable: an overflow, log of 0 or division by 0";
const HINT_DIVERGENCES: &str = "the draws may miss regions of high curvature: try a non-centred form of \
                                hierarchical parameters, or a target acceptance closer to 1";
const HINT_OUTSIDE_SUPPORT: &str = "values that the declarations allow have no density: declare the bounds of a parameter that a statement \
                         limits (`real<lower=0, upper=100> b` for `b ~ uniform(0, 100)`), or look for an overflow or log of 0";
const HINT_RECOVERED: &str = "such positions are rejected, so the draws are from the rest: where the posterior goes there, make the \
                              model's functions computable (a solver's tolerances, a matrix that stays positive definite), else \
                              declare the constraint";
const HINT_CHAINS: &str = "the remaining chains agree less reliably: let the run go on longer, give it as many threads as \
                           chains, or look at the errors of the chains that failed";
const HINT_LABEL_SWITCHING: &str = "components that can change places have no numbers of their own: order one of their parameters \
    (`ordered[K] mu` in Stan), give them different priors, or use only what does not change when they are renumbered";
const HINT_APART: &str = "chains that are far below are stuck, or in a mode that has little of the mass if it is no wider: look at \
                          where they are, give initial values, or rule such a mode out by a prior or an ordering";
const HINT_RHAT: &str = "the chains do not agree, so do not use these draws: run longer, or look for \
                         several modes or parameters that the data do not determine";
const HINT_ESS: &str = "means and medians are imprecise: run longer, or reparameterise";
const HINT_ESS_TAIL: &str =
    "the 5 % and 95 % quantiles are imprecise: run longer, or reparameterise";
const HINT_EBFMI: &str = "the chain moves slowly between energies, so tails may be missed: reparameterise \
                          heavy-tailed or funnel-shaped parameters";
const HINT_DEPTH: &str = "each draw was cut short, which costs time but no correctness: raise the largest \
                          tree depth, warm up longer, or rescale the parameters";
const HINT_SHORT: &str = "keep at least 4 draws a chain";

/// "12 of 4000 transitions (0.3 %) diverged".
fn share(what: &str, count: usize, total: usize) -> String {
    let percent = 100.0 * count as f64 / total.max(1) as f64;
    format!("{count} of {total} transitions ({percent:.1} %) {what}")
}

/// The parameters that break one rule, with how badly the worst of them does.
struct Offenders<'a> {
    count: usize,
    total: usize,
    worst: Option<(&'a str, f64)>,
}

/// Some parameters, and how many there are in all.
struct Among<'p, 'a> {
    parameters: &'p [(&'a str, &'p Summary)],
    total: usize,
}

/// Whether draws differ by rounding only: a diagonal of a correlation matrix, computed from a
/// factor, is 1 up to some units of rounding. Such noise has no autocorrelation worth judging.
fn is_constant(s: &Summary) -> bool {
    /// What a sum of some thousand terms is off by.
    const NOISE: f64 = 100.0 * f64::EPSILON;
    s.sd <= NOISE * s.mean.abs()
}

impl<'a> Offenders<'a> {
    /// Of all parameters.
    fn new(parameters: &[(&'a str, &Summary)], badness: impl Fn(&Summary) -> Option<f64>) -> Self {
        Self::among(&Among { parameters, total: parameters.len() }, badness)
    }

    /// `badness` is `None` for a parameter that keeps the rule, and larger for worse ones.
    fn among(among: &Among<'_, 'a>, badness: impl Fn(&Summary) -> Option<f64>) -> Self {
        let Among { parameters, total } = among;
        let mut offenders = Offenders { count: 0, total: *total, worst: None };
        for (name, summary) in *parameters {
            let Some(value) = badness(summary) else { continue };
            offenders.count += 1;
            if offenders.worst.is_none_or(|(_, worst)| value > worst) {
                offenders.worst = Some((name, value));
            }
        }
        offenders
    }

    /// "3 of 10 parameters (first: mu)".
    fn describe(&self) -> Option<String> {
        let (name, _) = self.worst?;
        Some(format!("{} of {} parameters (first: {name})", self.count, self.total))
    }

    /// "3 of 10 parameters (worst: mu, R-hat 1.34)".
    fn describe_worst(&self, what: &str, decimals: usize) -> Option<String> {
        let (name, value) = self.worst?;
        let (count, total, value) = (self.count, self.total, value.abs());
        Some(format!("{count} of {total} parameters (worst: {name}, {what} {value:.decimals$})"))
    }
}
