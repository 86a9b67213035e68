//! A panic -> a plain message that asks for a report, and exit code 70. No memory -> exit code 4.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Exit;

/// Runs the program. A panic anywhere is a bug of exmc's and says so; one inside a chain leaves
/// the other chains alone, and the command reports it when they are done.
pub(crate) fn guard(run: impl FnOnce() -> Exit) -> ExitCode {
    let is_sound = Arc::new(AtomicBool::new(true));
    exit_without_memory(&is_sound);
    std::panic::set_hook(Box::new(move |panic| {
        is_sound.store(false, Ordering::Relaxed);
        // Nothing is left to tell about a message that cannot be written.
        let _ = writeln!(std::io::stderr(), "{}", message(panic));
    }));
    // The program ends after this, so nothing sees a state that the panic left half done.
    let exit = catch_unwind(AssertUnwindSafe(|| {
        if cfg!(debug_assertions) && std::env::var_os("EXMC_TEST_PANIC").is_some() {
            panic!("asked for by EXMC_TEST_PANIC");
        }
        run()
    }));
    ExitCode::from(exit.unwrap_or(Exit::Internal) as u8)
}

/// Where an allocation fails that was not foreseen, the standard library says so (`memory
/// allocation of N bytes failed`) and aborts. That is no bug of ours: the program then ends as one
/// does that lacks memory, unless something panicked before.
fn exit_without_memory(is_sound: &Arc<AtomicBool>) {
    #[cfg(unix)]
    {
        let exit = i32::from(Exit::Io as u8);
        // Where it cannot be, the abort stays one.
        let _ = signal_hook::flag::register_conditional_shutdown(
            signal_hook::consts::SIGABRT,
            exit,
            Arc::clone(is_sound),
        );
    }
    #[cfg(not(unix))]
    let _ = is_sound;
}

fn message(panic: &std::panic::PanicHookInfo<'_>) -> String {
    let payload = panic.payload();
    let text = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    let place =
        panic.location().map(|l| format!(" ({}:{})", l.file(), l.line())).unwrap_or_default();
    format!(
        "internal error, a bug of exmc {}: {text}{place}\n  help: please report it, with this message, \
         the command and, if you can, the model and data",
        env!("CARGO_PKG_VERSION")
    )
}
