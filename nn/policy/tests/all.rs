//! Everything about policies: one test program, so that Burn is linked once.

mod charts;
mod data;
mod loss;
mod mistakes;
mod networks;
mod playing;
mod program;
mod support;
mod training;
