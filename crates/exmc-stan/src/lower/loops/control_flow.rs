//! Which lanes go on after a statement, and which left it by `continue`, `break` or `return`.

use super::lanes::Mask;

/// Some lanes of a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::lower) enum LaneSet {
    /// All of them.
    All,
    /// These, ascending.
    Some(Vec<u32>),
}

impl LaneSet {
    /// None of them.
    pub(in crate::lower) fn none() -> Self {
        Self::Some(Vec::new())
    }

    /// Whether it is empty.
    pub(in crate::lower) fn is_none(&self) -> bool {
        matches!(self, Self::Some(lanes) if lanes.is_empty())
    }

    /// The lanes, of `count`.
    pub(in crate::lower) fn to_vec(&self, count: usize) -> Vec<u32> {
        match self {
            Self::All => (0..count as u32).collect(),
            Self::Some(lanes) => lanes.clone(),
        }
    }

    /// From lanes of `count`.
    pub(in crate::lower) fn from_vec(mut lanes: Vec<u32>, count: usize) -> Self {
        lanes.sort_unstable();
        lanes.dedup();
        if lanes.len() == count { Self::All } else { Self::Some(lanes) }
    }

    /// The same lanes as `kept` numbers them in the level around; `inner` lanes there are.
    pub(in crate::lower) fn outside(&self, kept: &[u32]) -> Vec<u32> {
        match self {
            Self::All => kept.to_vec(),
            Self::Some(lanes) => lanes.iter().map(|lane| kept[*lane as usize]).collect(),
        }
    }
}

/// When something happens, by a condition on parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lower) enum Cond {
    /// It does not.
    Never,
    /// It does in all lanes.
    Always,
    /// It does where the mask holds.
    When(Mask),
}

/// What all lanes do under conditions on parameters, which exclude each other; where none holds
/// they return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lower) struct Left {
    /// Go on with the next statement.
    pub(in crate::lower) next: Cond,
    /// Go on with the loop's next iteration.
    pub(in crate::lower) continued: Cond,
    /// Leave the loop.
    pub(in crate::lower) broke: Cond,
}

impl Left {
    /// All go on.
    pub(in crate::lower) fn on() -> Self {
        Self { next: Cond::Always, continued: Cond::Never, broke: Cond::Never }
    }
}

/// Where lanes go after a statement. Lanes that are in none of the sets have returned.
#[derive(Clone, Debug)]
pub(in crate::lower) struct LaneFlow {
    /// Those that go on with the next statement.
    pub(in crate::lower) next: LaneSet,
    /// Those that go on with the loop's next iteration.
    pub(in crate::lower) continued: LaneSet,
    /// Those that left the loop.
    pub(in crate::lower) broke: LaneSet,
    /// What they do by conditions on parameters; the sets then have all lanes going on.
    pub(in crate::lower) mask: Option<Left>,
}

impl LaneFlow {
    /// All go on.
    pub(in crate::lower) fn on() -> Self {
        let (continued, broke) = (LaneSet::none(), LaneSet::none());
        Self { next: LaneSet::All, continued, broke, mask: None }
    }

    /// All have returned.
    pub(in crate::lower) fn returned() -> Self {
        Self { next: LaneSet::none(), ..Self::on() }
    }

    /// Whether nothing special happened.
    pub(in crate::lower) fn is_plain(&self) -> bool {
        self.next == LaneSet::All && self.mask.is_none()
    }
}

/// Flows of parts of a level's lanes, put together.
#[derive(Debug, Default)]
pub(in crate::lower) struct FlowParts {
    next: Vec<u32>,
    continued: Vec<u32>,
    broke: Vec<u32>,
}

impl FlowParts {
    /// Adds what the lanes `kept` did; where they still go on is returned.
    pub(in crate::lower) fn add(&mut self, flow: &LaneFlow, kept: &[u32]) {
        self.next.extend(flow.next.outside(kept));
        self.leave(flow, kept);
    }

    /// Adds only those that left.
    pub(in crate::lower) fn leave(&mut self, flow: &LaneFlow, kept: &[u32]) {
        self.continued.extend(flow.continued.outside(kept));
        self.broke.extend(flow.broke.outside(kept));
    }

    /// The flow of all `count` lanes.
    pub(in crate::lower) fn finish(self, count: usize) -> LaneFlow {
        LaneFlow {
            next: LaneSet::from_vec(self.next, count),
            continued: LaneSet::from_vec(self.continued, count),
            broke: LaneSet::from_vec(self.broke, count),
            mask: None,
        }
    }
}
