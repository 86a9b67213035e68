//! Chains ask their model for as many threads as the settings give them.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use std::sync::Mutex;

use crate::common::{correlated, hash};
use exmc_density::DensityModel;
use exmc_infer::{SamplerConfig, Silent, sample};

/// Another model, and how many threads its instances were asked for.
struct Asked<M> {
    model: M,
    threads: Mutex<Vec<usize>>,
}

impl<M: DensityModel> DensityModel for Asked<M> {
    type Instance = M::Instance;

    fn dim(&self) -> usize {
        self.model.dim()
    }

    fn instance(&self) -> M::Instance {
        self.model.instance()
    }

    fn threaded_instance(&self, threads: usize) -> M::Instance {
        self.threads.lock().unwrap().push(threads);
        self.model.threaded_instance(threads)
    }
}

#[test]
fn every_chain_asks_for_its_threads() {
    let run = |threads, threads_per_chain| {
        let model = Asked { model: correlated(3, 0.8), threads: Mutex::default() };
        let mut config = SamplerConfig::default();
        (config.chains, config.warmup, config.draws) = (3, 50, 20);
        (config.threads, config.threads_per_chain) = (threads, threads_per_chain);
        let run = sample(&model, &[], &config, &Silent).unwrap();
        let draws: Vec<u64> = run.chains.iter().map(|chain| hash(&chain.draws)).collect();
        (model.threads.into_inner().unwrap(), draws)
    };
    let (asked, draws) = run(1, 0);
    assert_eq!(asked, [1, 1, 1]);
    assert_eq!(run(7, 0), (vec![2, 2, 2], draws.clone()));
    assert_eq!(run(2, 5), (vec![5, 5, 5], draws));
}
