//! Replays that tests make of the stub game, and folders for them.

use std::path::{Path, PathBuf};

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
    policy::demonstration(seed, 0.0).expect("the game is whole")
}

/// Writes games of an expert whose hand slips.
pub(crate) fn write_slipping_games(folder: &Path, count: u64) {
    for seed in 0..count {
        let game = policy::demonstration(seed, 0.2).expect("the game is whole");
        std::fs::write(folder.join(format!("game-{seed}.slp")), game).expect("it is written");
    }
}

/// Writes games of the expert into a folder.
pub(crate) fn write_games(folder: &Path, count: u64) {
    for seed in 0..count {
        std::fs::write(folder.join(format!("game-{seed}.slp")), expert_game(seed))
            .expect("the game is written");
    }
}

/// The folder of real replays, or nothing after saying why.
#[expect(clippy::print_stdout, reason = "a test that skips must say so")]
pub(crate) fn real_replays() -> Option<PathBuf> {
    let folder = std::env::var_os("EXMC_REPLAYS").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: EXMC_REPLAYS does not name a folder of replays");
    }
    folder
}
