//! Signals -> a flag that commands look at between draws.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::{Exit, Failure};

/// Whether someone asked the program to stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on the first Ctrl-C (or SIGTERM) sets the flag, and a second one ends the program at
    /// once. A write beyond the limit on file sizes becomes an error instead of a signal.
    pub(crate) fn on_signals() -> Result<Self, Failure> {
        let stop = Self::default();
        let install = || -> std::io::Result<()> {
            for signal in [SIGINT, SIGTERM] {
                // In this order: the first signal finds the flag unset.
                flag::register_conditional_shutdown(
                    signal,
                    i32::from(Exit::Interrupted as u8),
                    Arc::clone(&stop.0),
                )?;
                flag::register(signal, Arc::clone(&stop.0))?;
            }
            #[cfg(unix)]
            flag::register(signal_hook::consts::SIGXFSZ, Arc::default())?;
            Ok(())
        };
        install().map_err(|e| Failure::new(Exit::Io, format!("cannot listen to signals: {e}")))?;
        Ok(stop)
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
