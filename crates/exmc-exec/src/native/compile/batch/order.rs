//! The order of instructions that write each number once: one element after the other -> each
//! number right before it is read.
//!
//! Instructions stand depth first from the roots, of which the first, to which most of them lead,
//! comes last. Of an instruction's operands, the one that takes most registers to compute comes
//! first (Sethi and Ullman 1970). An instruction whose operands are there comes at once if it is
//! the last that reads one of them, or if nobody reads its result: that costs no register.
//! Instructions that no root needs are left out.

use crate::native::program::{Instruction, LANES, Place, Region};

/// Who needs whom among instructions, by their numbers.
struct Order {
    /// Instructions that compute an instruction's operands, and those whose operands it computes,
    /// each once.
    operands: Vec<Vec<usize>>,
    users: Vec<Vec<usize>>,
    /// Operands that are not there yet, and users that still come.
    missing: Vec<usize>,
    uses: Vec<usize>,
    is_there: Vec<bool>,
    order: Vec<usize>,
}

/// The instructions that roots need, each behind those that compute its operands. In `body`, each
/// number of the arena's `end` is a line, and is written by one instruction at most, before it is
/// read.
pub(super) fn order(
    body: &[Instruction],
    roots: &[(Place, usize)],
    end: usize,
) -> Vec<Instruction> {
    let mut writers = vec![None; end / LANES];
    let mut operands: Vec<Vec<usize>> = Vec::with_capacity(body.len());
    for (k, i) in body.iter().enumerate() {
        let second = i.code.results()[0];
        let read = [Some(i.a), (!second).then_some(i.b), Some(i.c)];
        let mut sources: Vec<usize> =
            read.into_iter().flatten().filter_map(|place| writers[number(place)?]).collect();
        sources.sort_unstable();
        sources.dedup();
        operands.push(sources);
        for place in [Some(i.out), second.then_some(i.b)].into_iter().flatten() {
            if let Some(number) = number(place) {
                writers[number] = Some(k);
            }
        }
    }
    let places = roots.iter().skip(1).chain(roots.first());
    let roots: Vec<usize> = places.filter_map(|&(place, _)| writers[number(place)?]).collect();
    let order = Order::new(operands, &roots).visit(&roots);
    order.into_iter().map(|k| body[k]).collect()
}

/// The number of a place in the arena.
fn number(place: Place) -> Option<usize> {
    (place.region == Region::Arena && place != Place::NONE).then_some(place.offset as usize / LANES)
}

/// Which of the instructions the roots need; operands stand before who reads them.
fn needed(operands: &[Vec<usize>], roots: &[usize]) -> Vec<bool> {
    let mut needed = vec![false; operands.len()];
    roots.iter().for_each(|&root| needed[root] = true);
    for k in (0..operands.len()).rev() {
        if needed[k] {
            operands[k].iter().for_each(|&operand| needed[operand] = true);
        }
    }
    needed
}

impl Order {
    fn new(mut operands: Vec<Vec<usize>>, roots: &[usize]) -> Self {
        let needed = needed(&operands, roots);
        let mut users = vec![Vec::new(); operands.len()];
        // Registers that it takes to compute each as if nothing were read twice.
        let mut registers = vec![1; operands.len()];
        for k in 0..operands.len() {
            let sources = &mut operands[k];
            sources.sort_by_key(|&operand| std::cmp::Reverse(registers[operand]));
            let held =
                sources.iter().enumerate().map(|(before, &operand)| before + registers[operand]);
            registers[k] = held.max().unwrap_or(1);
            if needed[k] {
                sources.iter().for_each(|&operand| users[operand].push(k));
            }
        }
        let missing = operands.iter().map(Vec::len).collect();
        let uses = users.iter().map(Vec::len).collect();
        let (is_there, order) = (vec![false; operands.len()], Vec::new());
        Self { operands, users, missing, uses, is_there, order }
    }

    fn visit(mut self, roots: &[usize]) -> Vec<usize> {
        let mut stack: Vec<usize> = roots.iter().rev().copied().collect();
        while let Some(&k) = stack.last() {
            let next = self.operands[k].iter().find(|&&operand| !self.is_there[operand]);
            match next {
                Some(&operand) if !self.is_there[k] => stack.push(operand),
                _ => {
                    stack.pop();
                    self.put(k);
                }
            }
        }
        self.order
    }

    /// Puts an instruction behind the others, and what then costs no register.
    fn put(&mut self, first: usize) {
        let mut candidates = vec![first];
        while let Some(k) = candidates.pop() {
            if self.is_there[k] || !(k == first || self.costs_nothing(k)) {
                continue;
            }
            self.is_there[k] = true;
            self.order.push(k);
            self.users[k].iter().for_each(|&user| self.missing[user] -= 1);
            for &operand in &self.operands[k] {
                self.uses[operand] -= 1;
                if self.uses[operand] == 1 {
                    candidates.extend(&self.users[operand]);
                }
            }
            candidates.extend(&self.users[k]);
        }
    }

    /// Whether an instruction's operands are there, and its result takes the place of one of them
    /// or is not read.
    fn costs_nothing(&self, k: usize) -> bool {
        let ends = self.operands[k].iter().any(|&operand| self.uses[operand] == 1);
        self.missing[k] == 0 && (ends || self.users[k].is_empty())
    }
}

#[cfg(test)]
mod tests {
    use exmc_graph::Precision;

    use super::*;
    use crate::native::program::Code;

    fn place(number: usize) -> Place {
        let offset = u32::try_from(LANES * number).unwrap();
        Place { region: Region::Arena, stream: true, step: 8, offset }
    }

    /// Additions, by the number that each writes and the two that it reads.
    fn additions(all: &[[usize; 3]]) -> Vec<Instruction> {
        let addition = |&[out, a, b]: &[usize; 3]| {
            let [out, a, b] = [out, a, b].map(place);
            let (c, d) = (Place::NONE, Place::NONE);
            Instruction { code: Code::Add, precision: Precision::F64, out, a, b, c, d, extra: None }
        };
        all.iter().map(addition).collect()
    }

    fn ordered(all: &[[usize; 3]], roots: &[usize]) -> Vec<usize> {
        let roots: Vec<_> = roots.iter().map(|&root| (place(root), 4)).collect();
        let found = order(&additions(all), &roots, LANES * (all.len() + 10));
        found.iter().map(|i| i.out.offset as usize / LANES).collect()
    }

    #[test]
    fn instructions_stand_behind_what_they_read_and_only_if_a_root_needs_them() {
        // Numbers 1 and 2 are inputs; nobody needs 5.
        let all = [[3, 1, 2], [4, 2, 2], [5, 3, 4], [6, 4, 1], [7, 6, 3]];
        assert_eq!(ordered(&all, &[3, 7]), [3, 4, 6, 7]);
        assert_eq!(ordered(&all, &[6, 6]), [4, 6]);
        assert_eq!(ordered(&all, &[1]), [0; 0]);
    }

    #[test]
    fn few_numbers_are_held_where_elements_are_independent() {
        // Twice an input for each of eight elements, then all of them doubled, then their sum; the
        // doubles are roots, too.
        let mut all: Vec<_> = (0..8).map(|k| [10 + k, 1, 1 + k]).collect();
        all.extend((0..8).map(|k| [20 + k, 10 + k, 10 + k]));
        all.extend((1..8).map(|k| [30 + k, if k == 1 { 20 } else { 29 + k }, 20 + k]));
        let roots: Vec<usize> = std::iter::once(37).chain(20..28).collect();
        let roots: Vec<_> = roots.iter().map(|&root| (place(root), 4)).collect();
        let found = order(&additions(&all), &roots, LANES * 40);
        assert_eq!(found.len(), all.len());
        let mut held = 0;
        for end in 1..found.len() {
            let (before, after) = found.split_at(end);
            let is_read = |out: Place| after.iter().any(|i| i.a == out || i.b == out);
            held = held.max(before.iter().filter(|i| is_read(i.out)).count());
        }
        assert_eq!(held, 2);
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let all: Vec<_> = (2..100_000).map(|k| [k, k - 1, k - 1]).collect();
        assert_eq!(ordered(&all, &[99_999]).len(), all.len());
    }
}
