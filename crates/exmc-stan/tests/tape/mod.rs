//! The tape against closed forms, and against differences of the host's log density.

mod closed_forms;
mod collapse;
mod differences;
mod harness;
mod solvers;
