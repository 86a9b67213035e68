//! The program `exmc`: arguments -> a command's output, its messages and an exit code.
#![forbid(unsafe_code)]

mod commands;
mod display;
mod drive;
mod evidence;
mod failure;
mod fix;
mod likelihood;
mod outcomes;
mod panics;
mod points;
mod progress;
mod replicated;
mod report;
mod rules;
mod settings;
mod signals;
mod source;
mod watch;

use std::process::ExitCode;

fn main() -> ExitCode {
    keep_freed_memory();
    let args: Vec<String> =
        std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    // By its name, or by the program behind its image, this file is one of CmdStan's.
    if let Ok(image) = std::env::current_exe()
        && let Some(code) = exmc_cmdstan::dispatch(&image, &args)
    {
        return code;
    }
    panics::guard(commands::run)
}

/// Glibc hands every large block back to the system when it is freed, until it has seen one that
/// was larger: from then on blocks up to that size are kept and used again. Compiling and sampling
/// free many, and a page that comes back costs more than what is written to it. Where the allocator
/// is another one, nothing happens.
fn keep_freed_memory() {
    /// Just below the largest size that changes the rule (`mallopt(3)`, `M_MMAP_THRESHOLD`).
    const LARGE: usize = 31 << 20;
    let mut block = Vec::<u8>::new();
    // Where there is no such block the rule stays as it is.
    let _ = block.try_reserve_exact(LARGE);
    drop(std::hint::black_box(block));
}
