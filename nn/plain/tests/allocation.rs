//! Acting allocates nothing: counted by an allocator that counts. This file has one test, because
//! the count is that of the whole process.

mod common;

use common::{backbones, checkpoint};
use environment::{Environment, StubGame, StubSettings};
use plain::policy::{Agent, AgentSettings, HeadKind};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

#[test]
fn acting_allocates_nothing_with_any_backbone() {
    let mut game = StubGame::new(StubSettings::default());
    let state = game.reset(1).expect("a game").state;
    let probe = Region::new(ALLOCATOR);
    drop(vec![0_u8; 100]);
    assert!(probe.change().allocations >= 1, "the allocator does not count");
    for backbone in backbones() {
        for kind in [HeadKind::Autoregressive, HeadKind::Independent] {
            let checkpoint = checkpoint(backbone.clone(), kind);
            let mut agent = Agent::of(&checkpoint, AgentSettings::default()).expect("an agent");
            // The program of tests has a thread of its own that may allocate now and then; actions
            // that allocated would do so in every round.
            let quiet = (0..10).any(|_| {
                let region = Region::new(ALLOCATOR);
                let pressed = (0..100).filter(|_| agent.act(&state, game.view()).is_ok()).count();
                let change = region.change();
                (change.allocations, change.reallocations, pressed) == (0, 0, 100)
            });
            assert!(quiet, "{backbone:?} {kind:?} allocates");
        }
    }
}
