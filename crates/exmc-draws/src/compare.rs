//! Chains of a run, side by side -> what one of them went through that the others did not, in
//! words.

use exmc_diagnose::Warning;
use exmc_infer::{ChainOutcome, Restart, RestartReason};

use crate::posterior::{ChainDraws, Posterior};

/// Times the median chain's leapfrog steps from which on a chain's share is told.
const MUCH_WORK: u64 = 3;
/// Standard deviations of the log density within a chain, and nats, that the means of chains which
/// are in the same place do not differ by.
const DEVIATIONS: f64 = 5.0;
const NATS: f64 = 2.0;
/// Parts of a chain, of which each must be where the others are.
const PARTS: usize = 4;

impl Posterior {
    /// What is worth knowing of single chains: that they were restarted during warmup, because they
    /// were stuck; that they aim at a larger acceptance than they were asked for, because they
    /// diverged; that one took more than three times as many leapfrog steps as the median chain.
    pub fn notes(&self) -> Vec<String> {
        let restarted = self
            .chains
            .iter()
            .flat_map(|chain| chain.restarts.iter().map(|restart| restarted(chain.chain, restart)));
        restarted.chain(self.raised_targets()).chain(self.much_work()).collect()
    }

    /// A warning that names chains whose log density is far below that of another chain, in all of
    /// their draws or in a quarter of them in a row: they are or were in a mode of their own, or
    /// stuck.
    pub fn apart(&self) -> Option<Warning> {
        let long = |chain: &&ChainDraws| chain.infos.len() >= PARTS;
        let chains: Vec<LogDensities> =
            self.usable_chains().into_iter().filter(long).map(LogDensities::of).collect();
        // The first of those that are as high as any.
        let best = chains.iter().reduce(|a, b| if b.mean > a.mean { b } else { a })?;
        // A chain that changes its mode, or that does not move, has another deviation than the
        // rest.
        let deviation = median(chains.iter().map(|chain| chain.deviation).collect())?;
        let is_far = |gap: f64| gap > DEVIATIONS * deviation + NATS;
        let all = chains.iter().filter(|chain| is_far(best.mean - chain.mean));
        let in_part = chains.iter().filter(|chain| {
            !is_far(best.mean - chain.mean) && is_far(best.mean - chain.lowest_part)
        });
        let told: [(Vec<(u32, f64)>, &str); 2] = [
            (all.map(|chain| (chain.chain, best.mean - chain.mean)).collect(), "on average"),
            (
                in_part.map(|chain| (chain.chain, best.mean - chain.lowest_part)).collect(),
                "over a quarter of the draws",
            ),
        ];
        let sentences: Vec<String> =
            told.iter().filter_map(|(far, when)| below(far, when, best.chain)).collect();
        (!sentences.is_empty()).then(|| Warning::apart(sentences.join("; ")))
    }

    fn raised_targets(&self) -> Option<String> {
        let raised: Vec<String> = self
            .chains
            .iter()
            .filter_map(|c| Some(format!("chain {} to {}", c.chain, c.raised_target?)))
            .collect();
        if raised.is_empty() {
            return None;
        }
        let raised = raised.join(", ");
        Some(format!(
            "warmup raised the target acceptance, because transitions diverged or nearly did: {raised}"
        ))
    }

    /// Nothing of a run that did not end: its chains made different numbers of draws.
    fn much_work(&self) -> Vec<String> {
        if self.chains.iter().any(|chain| chain.outcome != ChainOutcome::Completed) {
            return Vec::new();
        }
        let total = self.leapfrogs();
        let mut sorted: Vec<u64> = self.chains.iter().map(|chain| chain.leapfrogs).collect();
        sorted.sort_unstable();
        // Of two chains in the middle the one with less.
        let median = match sorted.len() {
            0 | 1 => return Vec::new(),
            n => sorted[(n - 1) / 2].max(1),
        };
        let told = |chain: &ChainDraws| {
            let (number, steps) = (chain.chain, chain.leapfrogs);
            let ratio = steps as f64 / median as f64;
            format!(
                "chain {number} took {steps} of the run's {total} leapfrog steps, {ratio:.1} times as many as the median chain"
            )
        };
        let many = self.chains.iter().filter(|chain| chain.leapfrogs > MUCH_WORK * median);
        many.map(told).collect()
    }
}

fn restarted(chain: u32, restart: &Restart) -> String {
    let why = match restart.reason {
        RestartReason::OnItsWay => "which was still on its way",
        RestartReason::Still => "which did not move",
        RestartReason::TinySteps => "whose steps were tiny",
        RestartReason::LowMode => "whose mode has next to none of the mass",
        _ => "which was stuck",
    };
    let (n, gain) = (restart.iteration, nats(restart.logp_after - restart.logp_before));
    format!(
        "chain {chain}, {why}, was restarted after {n} warmup draws: its log density was {gain} below that of where it went on"
    )
}

/// The log densities of a chain's draws.
struct LogDensities {
    chain: u32,
    mean: f64,
    deviation: f64,
    /// The smallest mean of a quarter of the draws.
    lowest_part: f64,
}

impl LogDensities {
    fn of(chain: &ChainDraws) -> Self {
        let logps: Vec<f64> = chain.infos.iter().map(|info| info.logp).collect();
        let mean = |logps: &[f64]| logps.iter().sum::<f64>() / logps.len() as f64;
        let overall_mean = mean(&logps);
        let square = logps.iter().map(|logp| (logp - overall_mean).powi(2)).sum::<f64>();
        let parts = logps.chunks_exact(logps.len() / PARTS).map(mean);
        Self {
            chain: chain.chain,
            mean: overall_mean,
            deviation: (square / logps.len() as f64).sqrt(),
            lowest_part: parts.fold(f64::INFINITY, f64::min),
        }
    }
}

/// That chains are below another one, by at least the smallest of the gaps.
fn below(far: &[(u32, f64)], when: &str, best: u32) -> Option<String> {
    let least = nats(far.iter().map(|(_, gap)| *gap).min_by(f64::total_cmp)?);
    let names: Vec<String> = far.iter().map(|(chain, _)| chain.to_string()).collect();
    let (last, others) = names.split_last()?;
    Some(if others.is_empty() {
        format!("the log density of chain {last} is {when} {least} below that of chain {best}")
    } else {
        let others = others.join(", ");
        format!(
            "the log densities of chains {others} and {last} are {when} {least} or more below that of chain {best}"
        )
    })
}

/// Of an even number the lower one in the middle.
fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len().saturating_sub(1) / 2).copied()
}

fn nats(x: f64) -> String {
    if x < 1e6 { format!("{x:.0}") } else { format!("{x:.0e}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exmc_infer::Info;

    /// Chains with these leapfrog steps and log densities.
    fn posterior(chains: &[(u64, &[f64])]) -> Posterior {
        let chain = |(chain, (leapfrogs, logps)): (usize, &(u64, &[f64]))| ChainDraws {
            chain: chain as u32,
            values: Vec::new(),
            infos: logps.iter().map(|logp| Info::still(*logp, 1.0)).collect(),
            warmup_values: Vec::new(),
            warmup_infos: Vec::new(),
            leapfrogs: *leapfrogs,
            raised_target: None,
            restarts: Vec::new(),
            warmup_seconds: 0.0,
            sampling_seconds: 0.0,
            tuned: None,
            outcome: ChainOutcome::Completed,
        };
        Posterior {
            variables: Vec::new(),
            chains: chains.iter().enumerate().map(chain).collect(),
            seconds: 0.0,
            max_depth: 10,
            warnings: Vec::new(),
        }
    }

    #[test]
    fn chains_that_are_far_below_are_named() {
        let (high, low) = ([-1.0, -3.0, -1.0, -3.0], [-60.0, -64.0, -60.0, -64.0]);
        let message = |chains: &[(u64, &[f64])]| posterior(chains).apart().map(|w| w.message);
        assert_eq!(message(&[(1, &high), (1, &high), (1, &[-4.0, -2.0, -2.0, -2.0])]), None);
        assert_eq!(message(&[(1, &high)]), None);
        assert_eq!(message(&[]), None);
        let one = "the log density of chain 0 is on average 60 below that of chain 1";
        assert_eq!(message(&[(1, &low), (1, &high), (1, &high)]).as_deref(), Some(one));
        let two =
            "the log densities of chains 0 and 2 are on average 60 or more below that of chain 1";
        assert_eq!(message(&[(1, &low), (1, &high), (1, &low)]).as_deref(), Some(two));
        // Chains that change their modes: half way, and soon.
        let (half, soon) = ([-62.0, -62.0, -1.0, -3.0], [-27.0, -1.0, -3.0, -1.0]);
        let both = "the log density of chain 2 is on average 30 below that of chain 0; \
                    the log density of chain 3 is over a quarter of the draws 25 below that of chain 0";
        let chains: &[(u64, &[f64])] = &[(1, &high), (1, &high), (1, &half), (1, &soon)];
        assert_eq!(message(chains).as_deref(), Some(both));
    }

    #[test]
    fn a_chain_that_works_more_than_three_times_as_much_is_told() {
        let notes = |steps: &[u64]| {
            let chains: Vec<(u64, &[f64])> = steps.iter().map(|n| (*n, &[][..])).collect();
            posterior(&chains).notes()
        };
        assert_eq!(notes(&[100, 300, 110, 90]), Vec::<String>::new());
        assert_eq!(notes(&[100]), Vec::<String>::new());
        let mut stopped = posterior(&[(100, &[]), (500, &[]), (100, &[])]);
        stopped.chains[2].outcome = ChainOutcome::Interrupted;
        assert_eq!(stopped.notes(), Vec::<String>::new());
        let told = "chain 1 took 400 of the run's 700 leapfrog steps, 4.0 times as many as the median chain";
        assert_eq!(notes(&[100, 400, 110, 90]), [told]);
    }

    #[test]
    fn raised_targets_are_told() {
        let mut posterior = posterior(&[(1, &[]), (1, &[]), (1, &[])]);
        posterior.chains[0].raised_target = Some(0.9);
        posterior.chains[2].raised_target = Some(0.975);
        let told = "warmup raised the target acceptance, because transitions diverged or nearly did: chain 0 to 0.9, chain 2 to 0.975";
        assert_eq!(posterior.notes(), [told]);
    }

    #[test]
    fn restarts_are_told() {
        let mut posterior = posterior(&[(1, &[]), (1, &[])]);
        posterior.chains[1].restarts =
            vec![Restart::new(100, RestartReason::TinySteps, [-884.0, -14.0], 900)];
        let told = "chain 1, whose steps were tiny, was restarted after 100 warmup draws: its log density was 870 below that of where it \
                    went on";
        assert_eq!(posterior.notes(), [told]);
        let far = Restart::new(50, RestartReason::OnItsWay, [-7.3e101, 0.0], 1);
        assert!(restarted(0, &far).contains("was 7e101 below"), "{}", restarted(0, &far));
    }
}
