//! Replays that tests make of the stub game, and folders for them.

use std::path::{Path, PathBuf};

use environment::{Environment, Expert, StubGame, StubSettings, record};

/// A folder that is removed with the value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("policy-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// The bytes of a game of the expert.
pub(crate) fn expert_game(seed: u64) -> Vec<u8> {
    let settings = StubSettings::default();
    let (mut game, expert) = (StubGame::new(settings), Expert::new(settings));
    let mut step = game.reset(seed).expect("the game begins");
    let mut states = vec![step.state.clone()];
    while !step.is_done {
        step = game.step(&expert.controller(&step.state)).expect("the game goes on");
        states.push(step.state.clone());
    }
    record(&states).write().expect("the game is whole")
}

/// Writes games of the expert into a folder.
pub(crate) fn write_games(folder: &Path, count: u64) {
    for seed in 0..count {
        std::fs::write(folder.join(format!("game-{seed}.slp")), expert_game(seed))
            .expect("the game is written");
    }
}

/// The folder of real replays, or nothing after saying why.
pub(crate) fn real_replays() -> Option<PathBuf> {
    let folder = std::env::var_os("EXMC_REPLAYS").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: EXMC_REPLAYS does not name a folder of replays");
    }
    folder
}
