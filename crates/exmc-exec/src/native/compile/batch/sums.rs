//! Sums and products of a program for one position -> additions in the order of their routines.
//!
//! Those keep eight lanes, which stand for eight sums here, and add them up as `((0+4)+(2+6)) +
//! ((1+5)+(3+7))`. Lanes without elements hold zeros, which only change the sign of a zero: one
//! more zero at the end stands for all of them.

use exmc_fault::{Fault, planted};

use super::Writer;
use crate::native::program::{Code, Instruction, LANES, Place};
use crate::native::run::pack::PackedIndex;

/// The sums of eight lanes; nothing where that is zero.
type Sums = [Option<Place>; LANES];

impl Writer<'_> {
    fn add(&mut self, a: Place, b: Place) -> Place {
        self.result(Code::Add, [a, b, Place::NONE])
    }

    /// The sum of all lanes, and of a zero besides where one of them is nothing or
    /// `begins_at_zero`.
    fn total(&mut self, mut sums: Sums, begins_at_zero: bool) -> Place {
        let with_zero = begins_at_zero || sums.contains(&None);
        if planted(Fault::LaneOrder) {
            sums.swap(1, 4);
        }
        for apart in [4, 2, 1] {
            for k in 0..apart {
                sums[k] = match (sums[k], sums[k + apart]) {
                    (Some(a), Some(b)) => Some(self.add(a, b)),
                    (a, b) => a.or(b),
                };
            }
        }
        let zero = self.constant(0.0);
        match sums[0] {
            Some(total) if with_zero => self.add(total, zero),
            total => total.unwrap_or(zero),
        }
    }

    /// The sum of the first `n` elements.
    pub(super) fn sum(&mut self, n: usize, a: Place) -> Option<Place> {
        let sums = self.lanes(0..n, a)?;
        Some(self.total(sums, n > LANES))
    }

    /// The product of the first `n` elements; a factor of one where a lane has none changes
    /// nothing.
    pub(super) fn product(&mut self, n: usize, a: Place) -> Option<Place> {
        let mut products = Sums::default();
        for k in 0..n {
            let factor = self.read(a, k)?;
            let lane = products[k % LANES];
            products[k % LANES] = Some(lane.map_or(factor, |lane| self.multiply(lane, factor)));
        }
        for apart in [4, 2, 1] {
            for k in 0..apart {
                products[k] = match (products[k], products[k + apart]) {
                    (Some(a), Some(b)) => Some(self.multiply(a, b)),
                    (a, b) => a.or(b),
                };
            }
        }
        products[0]
    }

    fn multiply(&mut self, a: Place, b: Place) -> Place {
        self.result(Code::Mul, [a, b, Place::NONE])
    }

    /// The sums of these elements' lanes, as if they did not begin at zero.
    fn lanes(&mut self, range: std::ops::Range<usize>, a: Place) -> Option<Sums> {
        let mut sums = Sums::default();
        for (k, lane) in range.zip((0..LANES).cycle()) {
            let term = self.read(a, k)?;
            sums[lane] = Some(match sums[lane] {
                Some(sum) => self.add(sum, term),
                None => term,
            });
        }
        Some(sums)
    }

    /// The sum of products of the first `n` elements. Those of whole vectors are added without
    /// rounding, but for a vector that is the only one.
    pub(super) fn dot(&mut self, n: usize, [a, b]: [Place; 2]) -> Option<Place> {
        let zero = self.constant(0.0);
        let full_len = if n > LANES { n / LANES * LANES } else { 0 };
        let mut sums = Sums::default();
        for k in 0..n {
            let (a, b) = (self.read(a, k)?, self.read(b, k)?);
            let sum = &mut sums[k % LANES];
            *sum = Some(match *sum {
                sum if k < full_len => self.result(Code::MulAdd, [a, b, sum.unwrap_or(zero)]),
                sum => {
                    let product = self.result(Code::Mul, [a, b, Place::NONE]);
                    sum.map_or(product, |sum| self.add(sum, product))
                }
            });
        }
        Some(self.total(sums, !n.is_multiple_of(LANES)))
    }

    /// The sum of signed products of up to three scalars, which begins at zero.
    pub(super) fn terms(&mut self, terms: &[([Place; 3], bool)]) -> Option<Place> {
        let mut sum = self.constant(0.0);
        for &(factors, negative) in terms {
            let mut read_factors = factors;
            for factor in read_factors.iter_mut().filter(|factor| **factor != Place::NONE) {
                *factor = self.read(*factor, 0)?;
            }
            let [a, b, c] = read_factors;
            sum = match (b, c) {
                (Place::NONE, _) => {
                    let code = if negative { Code::Sub } else { Code::Add };
                    self.result(code, [sum, a, Place::NONE])
                }
                (b, Place::NONE) => {
                    let code = if negative { Code::NegMulAdd } else { Code::MulAdd };
                    self.result(code, [a, b, sum])
                }
                (b, c) => {
                    let product = self.result(Code::Mul, [a, b, Place::NONE]);
                    self.result(Code::MulAdd, [product, c, sum])
                }
            };
        }
        Some(sum)
    }

    /// Where element `(row, column)` of a packed matrix is.
    fn entry(
        &mut self,
        (offset, columns): (usize, usize),
        row: usize,
        column: usize,
    ) -> Option<Place> {
        let index = offset + (row / LANES * columns + column) * LANES + row % LANES;
        let value = *super::read_elements(&self.packed.lines).get(index)?;
        Some(self.constant(value))
    }

    /// The first `n` rows of a matrix times a vector.
    pub(super) fn mat_vec(
        &mut self,
        n: usize,
        matrix: (usize, usize),
        i: &Instruction,
    ) -> Option<()> {
        for row in 0..n {
            let mut sum = self.constant(0.0);
            for column in 0..matrix.1 {
                let entry = self.entry(matrix, row, column)?;
                let factor = self.factor(i.a, column)?;
                sum = self.result(Code::MulAdd, [entry, factor, sum]);
            }
            self.write(i.out, row, sum);
        }
        Some(())
    }

    /// The transpose of a matrix of `n` rows times a vector.
    pub(super) fn mat_t_vec(
        &mut self,
        n: usize,
        matrix: (usize, usize),
        i: &Instruction,
    ) -> Option<()> {
        let zero = self.constant(0.0);
        for column in 0..matrix.1 {
            let mut sums = Sums::default();
            for row in 0..n {
                let (entry, factor) = (self.entry(matrix, row, column)?, self.read(i.a, row)?);
                let sum = sums[row % LANES].unwrap_or(zero);
                sums[row % LANES] = Some(self.result(Code::MulAdd, [entry, factor, sum]));
            }
            let total = self.total(sums, !n.is_multiple_of(LANES));
            self.write(i.out, column, total);
        }
        Some(())
    }

    /// Number `k` of an array that is read as numbers, whatever its step.
    fn factor(&mut self, place: Place, k: usize) -> Option<Place> {
        self.read(Place { step: 8, ..place }, k)
    }

    /// The first `n` elements added to an array of `len` zeros by index.
    pub(super) fn scatter(
        &mut self,
        index: &PackedIndex,
        n: usize,
        len: usize,
        i: &Instruction,
    ) -> Option<()> {
        let zero = self.constant(0.0);
        let mut sums = vec![zero; len];
        let elements = index.elements.get(..n)?;
        if elements.iter().any(|&k| k as usize >= len) {
            return None;
        }
        if index.first_runs.is_empty() || index.rises {
            for (j, &k) in elements.iter().enumerate() {
                let term = self.read(i.a, j)?;
                sums[k as usize] = self.add(sums[k as usize], term);
            }
        } else {
            for run in &index.runs {
                let lanes = self.lanes(run.start as usize..run.end as usize, i.a)?;
                let total = self.total(lanes, true);
                let sum = &mut sums[run.target as usize];
                // The total is no negative zero, to which adding zero would not be nothing.
                *sum = if *sum == zero { total } else { self.add(*sum, total) };
            }
        }
        for (k, sum) in sums.into_iter().enumerate() {
            self.write(i.out, k, sum);
        }
        Some(())
    }
}
