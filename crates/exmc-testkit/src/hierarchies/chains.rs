//! Latents whose elements hold each other: vectors with a factor, and random walks, as plain data
//! -> their statements in a Stan program, and their rows of the exact density.

use exmc_math::random::ChainRng;

use super::exact::{Affine, Row};
use super::spec::{Amount, Hierarchy, amount, below, between, number, numbers, one_in, positive};
use super::stan::{self, Writer};

/// The names of their parameters.
pub(super) const VECTORS: &str = "v";
pub(super) const WALK: &str = "x";

#[derive(Clone, Debug, Default)]
pub(super) struct Chains {
    vectors: Option<Vectors>,
    walk: Option<Walk>,
}

/// Vectors with a mean and a lower triangular factor, whose sums have normal outcomes.
#[derive(Clone, Debug)]
struct Vectors {
    mean: Vec<Amount>,
    /// The factor's rows are multiplied by these.
    scales: Vec<Amount>,
    /// Its rows before that.
    factor: Vec<Vec<f64>>,
    style: VectorStyle,
    outcomes: Vec<f64>,
    scale: Amount,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum VectorStyle {
    /// `multi_normal_cholesky`, of all or one after the other.
    Factor,
    Loop,
    /// `multi_normal`.
    Covariance,
    /// The mean and the factor times standard normal numbers, whose transpose it is or not.
    Product,
    ProductOfRows,
}

impl VectorStyle {
    fn is_centred(self) -> bool {
        !matches!(self, Self::Product | Self::ProductOfRows)
    }
}

/// $x_1$ and steps from there, with normal outcomes of some elements.
#[derive(Clone, Debug)]
struct Walk {
    len: usize,
    /// What the first element is around, and the others come back to.
    mean: Amount,
    first: f64,
    /// What multiplies the distance from the mean; none where it is one.
    slope: Option<Amount>,
    step: Amount,
    style: WalkStyle,
    /// Places that have outcomes, and these.
    seen: Vec<usize>,
    outcomes: Vec<f64>,
    scale: Amount,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum WalkStyle {
    Slices,
    Loop,
    /// A running sum of all steps, which the mean is added to: the first step is one of them.
    RunningSum,
    /// The same in a loop, from element to element, or as a state that begins at the mean.
    Elements,
    State,
}

impl WalkStyle {
    fn is_centred(self) -> bool {
        matches!(self, Self::Slices | Self::Loop)
    }
}

pub(super) fn random(rng: &mut ChainRng, model: &Hierarchy) -> Chains {
    Chains {
        vectors: one_in(rng, 4).then(|| vectors(rng, model)),
        walk: one_in(rng, 4).then(|| walk(rng, model)),
    }
}

fn vectors(rng: &mut ChainRng, model: &Hierarchy) -> Vectors {
    let rows = 2 + below(rng, 5);
    let groups = 1 + below(rng, 4);
    let style = match below(rng, 6) {
        0 => VectorStyle::Loop,
        1 => VectorStyle::Covariance,
        2 => VectorStyle::Product,
        3 => VectorStyle::ProductOfRows,
        _ => VectorStyle::Factor,
    };
    let row = |rng: &mut ChainRng, k: usize| {
        let mut row = numbers(rng, k, 0.5);
        row.push(between(rng, 0.5, 1.5));
        row
    };
    Vectors {
        mean: (0..rows).map(|_| amount(rng, model)).collect(),
        scales: (0..rows).map(|_| positive(rng, model)).collect(),
        factor: (0..rows).map(|k| row(rng, k)).collect(),
        style,
        outcomes: numbers(rng, groups, 2.0),
        scale: positive(rng, model),
    }
}

fn walk(rng: &mut ChainRng, model: &Hierarchy) -> Walk {
    let style = match below(rng, 6) {
        0 => WalkStyle::Slices,
        1 => WalkStyle::Loop,
        2 => WalkStyle::Elements,
        3 => WalkStyle::State,
        _ => WalkStyle::RunningSum,
    };
    // Shorter loops are written out.
    let is_loop = matches!(style, WalkStyle::Elements | WalkStyle::State);
    let len = if is_loop { 20 } else { 4 } + below(rng, 6);
    let is_plain = style == WalkStyle::RunningSum || one_in(rng, 2);
    let slope = (!is_plain).then(|| match below(rng, 2) {
        0 => Amount::Number(number(rng, 0.5) + 0.005),
        _ => Amount::Affine(0.3, below(rng, model.scalars.len()), 0.2),
    });
    let seen: Vec<usize> = (0..len).filter(|_| rng.uniform() < 0.7).collect();
    Walk {
        len,
        mean: amount(rng, model),
        first: between(rng, 0.5, 2.0),
        slope,
        step: positive(rng, model),
        style,
        outcomes: numbers(rng, seen.len(), 2.0),
        seen,
        scale: positive(rng, model),
    }
}

impl Chains {
    /// Names of parameters and numbers of their elements, in the order of rows.
    pub(super) fn parameters(&self) -> Vec<(&'static str, usize)> {
        let vectors = self.vectors.iter().map(|v| (VECTORS, v.mean.len() * v.outcomes.len()));
        vectors.chain(self.walk.iter().map(|walk| (WALK, walk.len))).collect()
    }

    /// Adds rows and recorded values at these scalars. Returns the log density's other terms.
    pub(super) fn exact(
        &self,
        scalars: &[f64],
        values: &mut Vec<Affine>,
        rows: &mut Vec<Row>,
    ) -> f64 {
        let vectors = self.vectors.as_ref().map_or(0.0, |v| v.exact(scalars, values, rows));
        if let Some(walk) = &self.walk {
            walk.exact(scalars, values, rows);
        }
        vectors
    }
}

fn coordinate(k: usize) -> Affine {
    Affine { factors: vec![(k, 1.0)], constant: 0.0 }
}

fn row(form: Affine, sd: f64) -> Row {
    Row { form, sd, weight: 1.0 }
}

impl Vectors {
    fn exact(&self, scalars: &[f64], values: &mut Vec<Affine>, rows: &mut Vec<Row>) -> f64 {
        let value = |amount: &Amount| amount.value(scalars);
        let (n, groups, begin) = (self.mean.len(), self.outcomes.len(), values.len());
        let mean: Vec<f64> = self.mean.iter().map(value).collect();
        let scales: Vec<f64> = self.scales.iter().map(value).collect();
        let factor = |k: usize, i: usize| scales[k] * self.factor[k][i];
        let mut rest = 0.0;
        for (j, outcome) in self.outcomes.iter().enumerate() {
            let place = |k: usize| match self.style {
                VectorStyle::Product => begin + k * groups + j,
                _ => begin + j * n + k,
            };
            let mut sum = Affine { factors: Vec::new(), constant: -outcome };
            let mut standard: Vec<Affine> = Vec::new();
            for (k, centre) in mean.iter().enumerate() {
                if self.style.is_centred() {
                    // Row k of F z = v - m.
                    let mut residual = coordinate(place(k));
                    residual.constant = -centre;
                    for (i, z) in standard.iter().enumerate() {
                        residual.add(-factor(k, i), z);
                    }
                    let mut z = Affine::default();
                    z.add(1.0 / factor(k, k), &residual);
                    standard.push(z);
                    sum.add(1.0, &coordinate(place(k)));
                    rest -= exmc_math::log(factor(k, k));
                } else {
                    standard.push(coordinate(place(k)));
                    sum.constant += centre;
                    for (i, z) in standard.iter().enumerate() {
                        sum.add(factor(k, i), z);
                    }
                }
            }
            rows.extend(standard.into_iter().map(|z| row(z, 1.0)));
            rows.push(row(sum, value(&self.scale)));
        }
        values.extend((begin..begin + n * groups).map(coordinate));
        rest
    }
}

impl Walk {
    fn exact(&self, scalars: &[f64], values: &mut Vec<Affine>, rows: &mut Vec<Row>) {
        let value = |amount: Amount| amount.value(scalars);
        let (mean, step) = (value(self.mean), value(self.step));
        let slope = self.slope.map_or(1.0, value);
        let begin = values.len();
        let mut locations: Vec<Affine> = Vec::new();
        for t in 0..self.len {
            let state = coordinate(begin + t);
            if !self.style.is_centred() {
                // A state that begins at the mean is multiplied before its first step too.
                let around = if self.style == WalkStyle::State { 0.0 } else { mean };
                let mut next = Affine { factors: Vec::new(), constant: around - slope * around };
                match locations.last() {
                    Some(before) => next.add(slope, before),
                    None if self.style == WalkStyle::State => next.constant = slope * mean,
                    None => next.constant = mean,
                }
                next.add(step, &state);
                rows.push(row(state, 1.0));
                locations.push(next);
                continue;
            }
            let mut innovation = state.clone();
            innovation.constant -= mean;
            if let Some(before) = locations.last() {
                let mut before = before.clone();
                before.constant -= mean;
                innovation.add(-slope, &before);
            }
            rows.push(row(innovation, if t == 0 { self.first } else { step }));
            locations.push(state);
        }
        for (&t, outcome) in self.seen.iter().zip(&self.outcomes) {
            let mut form = locations[t].clone();
            form.constant -= outcome;
            rows.push(row(form, value(self.scale)));
        }
        values.extend((begin..begin + self.len).map(coordinate));
    }
}

impl Writer {
    /// The statements, and the parameters' declarations.
    pub(super) fn chains(&mut self, chains: &Chains, keeps_constants: bool) -> String {
        let mut declared = String::new();
        if let Some(vectors) = &chains.vectors {
            declared += &self.vectors(vectors, keeps_constants);
        }
        if let Some(walk) = &chains.walk {
            declared += &self.walk(walk, keeps_constants);
        }
        declared
    }

    fn vectors(&mut self, vectors: &Vectors, keeps_constants: bool) -> String {
        let (n, groups) = (vectors.mean.len(), vectors.outcomes.len());
        let list = |all: &[Amount]| {
            all.iter().map(|one| stan::amount(*one)).collect::<Vec<_>>().join(", ")
        };
        let row = |row: &Vec<f64>| {
            let zeros = std::iter::repeat_n(&0.0, n - row.len());
            let row: Vec<String> = row.iter().chain(zeros).map(|x| format!("{x:?}")).collect();
            format!("[{}]", row.join(", "))
        };
        let factor: Vec<String> = vectors.factor.iter().map(row).collect();
        let y = self.data(&vectors.outcomes);
        let scale = stan::amount(vectors.scale);
        let declared = match vectors.style {
            VectorStyle::Product => format!("  matrix[{n}, {groups}] v;\n"),
            VectorStyle::ProductOfRows => format!("  matrix[{groups}, {n}] v;\n"),
            _ => format!("  array[{groups}] vector[{n}] v;\n"),
        };
        let mut text = format!(
            "  {{\n  vector[{n}] vm = [{}]';\n  matrix[{n}, {n}] vl = diag_pre_multiply([{}]', [{}]);\n",
            list(&vectors.mean),
            list(&vectors.scales),
            factor.join(", ")
        );
        let says = |outcome: &str, family: &str, arguments: &str| match keeps_constants {
            true => format!("target += {family}_lpdf({outcome} | {arguments});\n"),
            false => format!("{outcome} ~ {family}({arguments});\n"),
        };
        let standard = match keeps_constants {
            true => "  target += std_normal_lpdf(to_vector(v));\n",
            false => "  to_vector(v) ~ std_normal();\n",
        };
        let mut sum = "sum(v[j])";
        match vectors.style {
            VectorStyle::Factor => {
                text += &format!("  {}", says("v", "multi_normal_cholesky", "vm, vl"));
            }
            VectorStyle::Loop => {
                let each = says("v[j]", "multi_normal_cholesky", "vm, vl");
                text += &format!("  for (j in 1:{groups}) {each}");
            }
            VectorStyle::Covariance => {
                text += &format!("  {}", says("v", "multi_normal", "vm, vl * vl'"));
            }
            VectorStyle::Product | VectorStyle::ProductOfRows => {
                let product =
                    if vectors.style == VectorStyle::Product { "(vl * v)'" } else { "v * vl'" };
                text += &format!(
                    "  matrix[{groups}, {n}] vb = rep_matrix(vm', {groups}) + {product};\n{standard}"
                );
                sum = "sum(vb[j])";
            }
        }
        text += &format!(
            "  for (j in 1:{groups}) target += normal_lpdf({y}[j] | {sum}, {scale});\n  }}\n"
        );
        self.model += &text;
        declared
    }

    fn walk(&mut self, walk: &Walk, keeps_constants: bool) -> String {
        let len = walk.len;
        let (mean, step) = (stan::amount(walk.mean), stan::amount(walk.step));
        let says = |outcome: &str, arguments: &str| match keeps_constants {
            true => format!("  target += normal_lpdf({outcome} | {arguments});\n"),
            false => format!("  {outcome} ~ normal({arguments});\n"),
        };
        let location = |before: &str| match walk.slope {
            None => before.to_owned(),
            Some(slope) => format!("{mean} + {} * ({before} - {mean})", stan::amount(slope)),
        };
        let standard = match keeps_constants {
            true => "  target += std_normal_lpdf(x);\n",
            false => "  x ~ std_normal();\n",
        };
        let first = says("x[1]", &format!("{mean}, {:?}", walk.first));
        let (text, location_name) = match walk.style {
            WalkStyle::RunningSum => {
                let sum = format!("  vector[{len}] xs = {mean} + cumulative_sum({step} * x);\n");
                (sum + standard, "xs")
            }
            WalkStyle::Elements => {
                let next = location("xs[t - 1]");
                let steps = format!(
                    "  vector[{len}] xs;\n  xs[1] = {mean} + {step} * x[1];\n  for (t in 2:{len}) xs[t] = {next} + {step} * x[t];\n"
                );
                (steps + standard, "xs")
            }
            WalkStyle::State => {
                let slope = walk.slope.map_or("1".to_owned(), stan::amount);
                let steps = format!(
                    "  vector[{len}] xs;\n  real h = {mean};\n  for (t in 1:{len}) {{\n    h = {slope} * h + {step} * x[t];\n    xs[t] = h;\n  }}\n"
                );
                (steps + standard, "xs")
            }
            WalkStyle::Slices => {
                let before = location(&format!("x[1:{}]", len - 1));
                (first + &says(&format!("x[2:{len}]"), &format!("{before}, {step}")), "x")
            }
            WalkStyle::Loop => {
                let each = says("x[t]", &format!("{}, {step}", location("x[t - 1]")));
                (format!("{first}  for (t in 2:{len}){each}"), "x")
            }
        };
        let seen: Vec<usize> = walk.seen.iter().map(|t| t + 1).collect();
        let (seen, y) = (self.integers(&seen), self.data(&walk.outcomes));
        let scale = stan::amount(walk.scale);
        self.model += &format!(
            "  {{\n{text}  target += normal_lpdf({y} | {location_name}[{seen}], {scale});\n  }}\n"
        );
        format!("  vector[{len}] x;\n")
    }
}
