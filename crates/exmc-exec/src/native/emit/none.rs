//! Where no machine code is generated: every instruction stays a call.

use super::{Ends, Item};
use crate::native::program::Code;
use crate::native::run::block::{Position, Results, Step};
use crate::native::run::scan_loop::CarryMoves;
use exmc_graph::Flow;
use exmc_math::simd::Level;

/// Never made.
#[derive(Debug)]
pub(in crate::native) enum Emitter {}

/// Never made.
#[derive(Debug)]
pub(in crate::native) enum Pages {}

impl Emitter {
    pub(in crate::native) fn new(_: Level, _: [usize; 2]) -> Option<Self> {
        None
    }

    pub(in crate::native) fn is_elementwise(_: Code) -> bool {
        false
    }

    pub(super) fn has(_: Code, _: &Step) -> bool {
        false
    }

    pub(super) fn has_in_line(_: Code, _: &Step) -> bool {
        false
    }

    pub(super) fn run_in_loop(_: &[Item]) -> usize {
        0
    }

    pub(super) fn emit_loop(&mut self, _: &[Item], _: &[Item], _: usize) -> usize {
        match *self {}
    }

    pub(in crate::native) fn emit_turns(&mut self, _: &CarryMoves, _: &[Item]) -> Option<usize> {
        match *self {}
    }

    pub(super) fn emit(&mut self, _: &[(Code, Step)]) -> usize {
        match *self {}
    }

    pub(in crate::native) fn emit_whole(
        &mut self,
        _: &[(Code, Step)],
        _: Ends<'_>,
    ) -> Option<usize> {
        match *self {}
    }

    pub(in crate::native) fn has_flow(_: &Flow) -> bool {
        false
    }

    pub(in crate::native) fn flow_width(_: &Flow) -> usize {
        0
    }

    pub(in crate::native) fn emit_flow(&mut self, _: &Flow, _: *const f64) -> usize {
        match *self {}
    }

    pub(in crate::native) fn finish(&self) -> Option<Pages> {
        match *self {}
    }
}

impl Pages {
    pub(in crate::native) unsafe fn run(&self, _: usize, _: usize, _: usize, _: bool) {
        match *self {}
    }

    pub(in crate::native) unsafe fn run_flow(&self, _: usize, _: &[f64], _: &mut [f64]) {
        match *self {}
    }

    pub(in crate::native) unsafe fn run_whole(&self, _: usize, _: &Position, _: &Results) {
        match *self {}
    }
}
