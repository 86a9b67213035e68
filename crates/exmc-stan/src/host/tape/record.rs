//! The tape: operations in the order in which they ran, each with what it was computed from and its
//! partial derivatives there -> adjoints, from the last to the first.

/// A number's place on the tape; 0 for what is constant.
pub(super) type Id = u32;

/// Given the adjoints of a group's numbers, adds to those of what it was computed from (by their
/// places).
pub(super) type Pull = Box<dyn Fn(&[f64], &mut [f64]) + Send>;

/// Numbers that were computed together, whose adjoints are handed on together.
struct Group {
    first: Id,
    count: u32,
    held: usize,
    pull: Pull,
}

/// Operations so far.
pub(super) struct Tape {
    /// For each number the end of its edges; number 0 is the constant, which has none.
    ends: Vec<u32>,
    parents: Vec<Id>,
    partials: Vec<f64>,
    /// In the order of their places.
    groups: Vec<Group>,
    /// How many numbers the groups hold.
    held: usize,
}

/// What an edge and a number take, in bytes.
const EDGE: u64 = 12;
const NUMBER: u64 = 4;

impl Default for Tape {
    fn default() -> Self {
        Self {
            ends: vec![0],
            parents: Vec::new(),
            partials: Vec::new(),
            groups: Vec::new(),
            held: 0,
        }
    }
}

impl Tape {
    /// Forgets everything and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.ends.truncate(1);
        self.parents.clear();
        self.partials.clear();
        self.groups.clear();
        self.held = 0;
    }

    /// The largest absolute partial derivative of an operation, infinite where one is NaN. Parts
    /// that were collapsed and operations of many numbers are not looked at.
    pub(super) fn largest_partial(&self) -> f64 {
        let size = |x: &f64| if x.is_nan() { f64::INFINITY } else { x.abs() };
        self.partials.iter().map(size).fold(0.0, f64::max)
    }

    /// Bytes in use; as many as there can be, where places are used up.
    pub(super) fn bytes(&self) -> u64 {
        // Some numbers may still come in an iteration.
        const LAST: usize = (u32::MAX - (1 << 24)) as usize;
        if self.parents.len() > LAST || self.ends.len() > LAST {
            return u64::MAX;
        }
        let edges = (self.parents.len() + self.held) as u64;
        EDGE * edges + NUMBER * self.ends.len() as u64
    }

    /// How much was written.
    #[inline]
    pub(super) fn size(&self) -> usize {
        self.parents.len() + self.ends.len() + self.held
    }

    /// The place that the next number will have.
    pub(super) fn mark(&self) -> Id {
        self.last() + 1
    }

    fn last(&self) -> Id {
        (self.ends.len() - 1) as Id
    }

    fn close(&mut self) -> Id {
        self.ends.push(self.parents.len() as u32);
        self.last()
    }

    #[inline]
    fn edge(&mut self, parent: Id, partial: f64) {
        self.parents.push(parent);
        self.partials.push(partial);
    }

    /// A number that derivatives are taken by.
    pub(super) fn leaf(&mut self) -> Id {
        self.close()
    }

    /// What is computed from one number.
    #[inline]
    pub(super) fn one(&mut self, parent: Id, partial: f64) -> Id {
        if parent == 0 {
            return 0;
        }
        self.edge(parent, partial);
        self.close()
    }

    /// What is computed from two numbers.
    #[inline]
    pub(super) fn two(&mut self, a: (Id, f64), b: (Id, f64)) -> Id {
        if a.0 == 0 || b.0 == 0 {
            return if a.0 == 0 { self.one(b.0, b.1) } else { self.one(a.0, a.1) };
        }
        self.edge(a.0, a.1);
        self.edge(b.0, b.1);
        self.close()
    }

    /// What is computed from any numbers.
    pub(super) fn many(&mut self, edges: impl IntoIterator<Item = (Id, f64)>) -> Id {
        let before = self.parents.len();
        for (parent, partial) in edges {
            if parent != 0 {
                self.edge(parent, partial);
            }
        }
        if self.parents.len() == before { 0 } else { self.close() }
    }

    /// `count` numbers that are computed together, by a function that holds so many numbers; the
    /// place of the first.
    pub(super) fn group(&mut self, count: usize, held: usize, pull: Pull) -> Id {
        self.held += held;
        let first = self.last() + 1;
        for _ in 0..count {
            self.close();
        }
        self.groups.push(Group { first, count: count as u32, held, pull });
        first
    }

    /// The derivatives of number `output` by all numbers: `adjoints[k]` is that by number `k`.
    pub(super) fn sweep(&self, output: Id, adjoints: &mut Vec<f64>) {
        adjoints.clear();
        adjoints.resize(self.ends.len(), 0.0);
        if output == 0 {
            return;
        }
        adjoints[output as usize] = 1.0;
        self.hand_on(1, adjoints);
    }

    /// Hands the adjoints of all numbers from `first` on to those that they were computed from.
    fn hand_on(&self, first: Id, adjoints: &mut [f64]) {
        let mut groups = self.groups.iter().rev().peekable();
        let mut k = self.ends.len();
        while k > first as usize {
            k -= 1;
            if let Some(group) = groups.peek()
                && k == (group.first + group.count - 1) as usize
            {
                k = group.first as usize;
                let (below, group_adjoints) = adjoints.split_at_mut(k);
                let group_adjoints = &group_adjoints[..group.count as usize];
                // Where nothing flows, nothing is multiplied: 0 times infinity is no slope.
                if group_adjoints.iter().any(|adjoint| *adjoint != 0.0) {
                    (group.pull)(group_adjoints, below);
                    below[0] = 0.0;
                }
                groups.next();
                continue;
            }
            let adjoint = adjoints[k];
            if adjoint == 0.0 {
                continue;
            }
            let edges = self.ends[k - 1] as usize..self.ends[k] as usize;
            for (parent, partial) in self.parents[edges.clone()].iter().zip(&self.partials[edges]) {
                adjoints[*parent as usize] += adjoint * partial;
            }
        }
    }
}

impl Tape {
    /// Forgets the numbers from `mark` on but for those at `live`, which become numbers computed
    /// from those before `mark`; their new places take the old ones' positions.
    ///
    /// This costs a sweep over what is forgotten for each of them, and a look at each number
    /// before.
    pub(super) fn collapse(&mut self, mark: Id, live: &mut [Id], adjoints: &mut Vec<f64>) {
        let from = mark as usize;
        let mut rows: Vec<Vec<(Id, f64)>> = Vec::with_capacity(live.len());
        adjoints.clear();
        adjoints.resize(self.ends.len(), 0.0);
        for id in live.iter() {
            adjoints[*id as usize] = 1.0;
            self.hand_on(mark, adjoints);
            let numbered = adjoints[..from].iter().enumerate().skip(1);
            let kept = numbered.filter(|(_, adjoint)| **adjoint != 0.0);
            rows.push(kept.map(|(k, adjoint)| (k as Id, *adjoint)).collect());
            adjoints.fill(0.0);
        }
        self.ends.truncate(from);
        let edges = self.ends[from - 1] as usize;
        self.parents.truncate(edges);
        self.partials.truncate(edges);
        while let Some(group) = self.groups.pop_if(|group| group.first >= mark) {
            self.held -= group.held;
        }
        for (id, row) in live.iter_mut().zip(rows) {
            *id = self.many(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjoints_go_back_through_numbers_and_groups() {
        let mut tape = Tape::default();
        let (x, y) = (tape.leaf(), tape.leaf());
        // a = x y at (2, 5), (b, c) = (3 a, 7 x), z = b + c.
        let a = tape.two((x, 5.0), (y, 2.0));
        let pull = move |group_adjoints: &[f64], below: &mut [f64]| {
            below[a as usize] += 3.0 * group_adjoints[0];
            below[x as usize] += 7.0 * group_adjoints[1];
        };
        let b = tape.group(2, 2, Box::new(pull));
        let z = tape.two((b, 1.0), (b + 1, 1.0));
        let mut adjoints = Vec::new();
        tape.sweep(z, &mut adjoints);
        assert_eq!((adjoints[x as usize], adjoints[y as usize]), (22.0, 6.0));
        assert_eq!(tape.two((0, 1.0), (0, 1.0)), 0);
        // Collapsed from a on: b and z by x and y alone, c is gone.
        let mut live = [z, b];
        tape.collapse(a, &mut live, &mut adjoints);
        assert_eq!((tape.ends.len(), tape.groups.len(), tape.parents.len()), (5, 0, 4));
        for (id, expected) in live.into_iter().zip([(22.0, 6.0), (15.0, 6.0)]) {
            tape.sweep(id, &mut adjoints);
            assert_eq!((adjoints[x as usize], adjoints[y as usize]), expected);
        }
        tape.clear();
        assert_eq!((tape.ends.len(), tape.groups.len(), tape.parents.len()), (1, 0, 0));
    }
}
