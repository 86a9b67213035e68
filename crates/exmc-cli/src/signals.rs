//! Signals -> a flag that commands look at between draws.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::{Exit, Failure};

/// Signals within this time of the first count as one: `timeout` sends one to its child and then
/// one to the child's group, and whoever wraps a program in another hands Ctrl-C on that the
/// terminal has sent already.
const ONE_REQUEST: Duration = Duration::from_secs(1);

/// Whether someone asked the program to stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on the first Ctrl-C (or SIGTERM, or SIGHUP where it was not ignored) sets the flag,
    /// and one that comes more than a second later ends the program at once. A write beyond the
    /// limit on file sizes becomes an error instead of a signal.
    pub(crate) fn on_signals() -> Result<Self, Failure> {
        let stop = Self::default();
        let install = || -> std::io::Result<()> {
            stop.listen()?;
            #[cfg(unix)]
            flag::register(signal_hook::consts::SIGXFSZ, Arc::default())?;
            Ok(())
        };
        install().map_err(|e| Failure::new(Exit::Io, format!("cannot listen to signals: {e}")))?;
        Ok(stop)
    }

    #[cfg(unix)]
    fn listen(&self) -> std::io::Result<()> {
        use signal_hook::iterator::Signals;

        let signals = signals();
        let mut incoming = Signals::new(&signals)?;
        let flag = Arc::clone(&self.0);
        let listen = move || {
            let mut first: Option<Instant> = None;
            for _ in incoming.forever() {
                flag.store(true, Ordering::Relaxed);
                if first.get_or_insert_with(Instant::now).elapsed() >= ONE_REQUEST {
                    signal_hook::low_level::exit(i32::from(Exit::Interrupted as u8));
                }
            }
        };
        // Without a thread, which a system may refuse, the flag is set all the same; ending at once
        // then takes SIGKILL.
        if thread::Builder::new().name("exmc-signals".to_owned()).spawn(listen).is_err() {
            for signal in signals {
                flag::register(signal, Arc::clone(&self.0))?;
            }
        }
        Ok(())
    }

    #[cfg(not(unix))]
    fn listen(&self) -> std::io::Result<()> {
        for signal in [SIGINT, SIGTERM] {
            // In this order: the first signal finds the flag unset.
            let exit = i32::from(Exit::Interrupted as u8);
            flag::register_conditional_shutdown(signal, exit, Arc::clone(&self.0))?;
            flag::register(signal, Arc::clone(&self.0))?;
        }
        Ok(())
    }

    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// What becomes true when someone asks.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

/// Those that ask the program to stop. A program under `nohup` ignores SIGHUP, and goes on doing
/// so.
#[cfg(unix)]
fn signals() -> Vec<i32> {
    use signal_hook::consts::SIGHUP;

    let mut all = vec![SIGINT, SIGTERM];
    // Where the system does not say, it is not ignored.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    if ignored >> (SIGHUP - 1) & 1 == 0 {
        all.push(SIGHUP);
    }
    all
}
