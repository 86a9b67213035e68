//! The program `exmc` as its users see it: arguments in, standard output, standard error, exit code
//! and files out.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod check;
mod commands;
mod demo;
mod durability;
mod ends;
mod evidence;
mod export;
mod harness;
mod hostile;
mod installations;
mod library;
mod limits;
mod man;
mod modes;
mod outcomes;
mod plot;
mod predictions;
mod progress;
mod resume;
mod sample;
mod stan;
mod usage;
mod watch;
