//! Functions of single numbers, which containers take element by element: one row a function.
//!
//! A row has the name, the arguments' shapes, the form on graphs, the value on the host and the
//! slope on its tape. The three forms are written apart from each other, as each judges the others.
//! **Reference**: Stan functions reference, "Real-valued basic functions".
#![expect(clippy::neg_cmp_op_on_partial_ord, reason = "checks are written so that NaN fails them")]

mod angles;
mod bessel;
pub(crate) mod exponentials;
mod factorials;
pub(crate) mod gamma;
mod gaussian;
pub(crate) mod powers;
mod rounding;

use std::sync::LazyLock;

use exmc_graph::{Graph, NodeId};
use rustc_hash::FxHashMap;

/// A function of one number as nodes.
pub(crate) type One = fn(&mut Graph, NodeId) -> NodeId;
/// A function of two numbers as nodes.
pub(crate) type Two = fn(&mut Graph, NodeId, NodeId) -> NodeId;
/// A function of three numbers as nodes.
pub(crate) type Three = fn(&mut Graph, NodeId, NodeId, NodeId) -> NodeId;

/// The derivative at x, where the function gives y.
pub(crate) type SlopeOfOne = fn(f64, f64) -> f64;
/// The derivatives at two numbers (each with whether it is wanted), and the function's value there.
pub(crate) type SlopesOfTwo = fn((f64, bool), (f64, bool), f64) -> (f64, f64);

/// One row: everything that exmc knows of a function of numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScalarFunction {
    /// Stan's name.
    pub(crate) name: &'static str,
    /// Names that Stan no longer has, or has for the compiler only.
    pub(crate) aliases: &'static [&'static str],
    /// Which arguments it takes; none where the rules of `check::signatures` say it.
    pub(crate) shapes: Option<Shapes>,
    /// As nodes.
    pub(crate) graph: GraphForm,
    /// On values; none where the host evaluates the graph's form or has a function of its own.
    pub(crate) values: Option<Values>,
    /// Its derivative in closed form; where there is none, the tape differentiates the graph.
    pub(crate) slope: Slope,
}

/// How a function is made of nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GraphForm {
    /// Of one number.
    One(One),
    /// Of two numbers.
    Two(Two),
    /// Of three numbers.
    Three(Three),
    /// By a function of `library` that sees the whole call.
    Called,
}

/// A function on values.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Values {
    /// Of one number.
    Real1(fn(f64) -> f64),
    /// The same, with an error outside of these limits (NaN passes).
    Within(fn(f64) -> f64, f64, f64),
    /// Of two numbers.
    Real2(fn(f64, f64) -> f64),
    /// Of three numbers.
    Real3(fn(f64, f64, f64) -> f64),
}

/// A derivative in closed form.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slope {
    /// Not here.
    None,
    /// Zero wherever there is one.
    Flat,
    /// Of one number.
    One(SlopeOfOne),
    /// Of two numbers.
    Two(SlopesOfTwo),
}

/// The containers that a function takes, as a pattern of signatures (`check::signatures::pattern`).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shapes {
    /// One container of numbers; integers become reals.
    Containers,
    /// Two containers of one shape, or a container and a number.
    Pairs,
    /// The same for real numbers.
    Reals,
    /// An integer and a real: each a scalar, or arrays of integers of the real container's shape.
    IntAndReal,
    /// The same the other way round.
    RealAndInt,
}

impl Shapes {
    /// The pattern.
    pub(crate) const fn pattern(self) -> &'static str {
        match self {
            Self::Containers => "int{0..7} -> real{d}; R{0..7} -> R{d}",
            Self::Pairs => {
                "int|real, int|real -> real; int{1..8}, int{d} -> real{d}; real{1..8}, real{d} -> real{d};
                 V{0..7}, V{d} -> V{d}; int{1..8}, int|real -> real{d}; real{1..8}, int|real -> real{d};
                 V{0..7}, int|real -> V{d}; int|real, int{1..8} -> real{d}; int|real, real{1..8} -> real{d};
                 int|real, V{0..7} -> V{d}"
            }
            Self::Reals => {
                "real, real -> real; real{1..8}, real{d}|real -> real{d}; V{0..7}, V{d}|real -> V{d};
                 real, real{1..8} -> real{d}; real, V{0..7} -> V{d}"
            }
            Self::IntAndReal => {
                "int, real{1..8} -> real{d}; int, V{0..7} -> V{d}; int{0..7}, real -> real{d};
                 int{1..8}, real{d} -> real{d}; int{d+1}, vector{0..7} -> vector{d};
                 int{d+1}, row_vector{0..7} -> row_vector{d}; int{d+2}, matrix{0..7} -> matrix{d}"
            }
            Self::RealAndInt => {
                "real{1..8}, int -> real{d}; V{0..7}, int -> V{d}; real, int{0..7} -> real{d};
                 real{1..8}, int{d} -> real{d}; vector{0..7}, int{d+1} -> vector{d};
                 row_vector{0..7}, int{d+1} -> row_vector{d}; matrix{0..7}, int{d+2} -> matrix{d}"
            }
        }
    }
}

impl ScalarFunction {
    const fn new(name: &'static str, graph: GraphForm) -> Self {
        Self { name, aliases: &[], shapes: None, graph, values: None, slope: Slope::None }
    }

    const fn aliases(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn shapes(mut self, shapes: Shapes) -> Self {
        self.shapes = Some(shapes);
        self
    }

    const fn values(mut self, values: Values) -> Self {
        self.values = Some(values);
        self
    }

    const fn flat(mut self) -> Self {
        self.slope = Slope::Flat;
        self
    }

    const fn slope(mut self, slope: SlopeOfOne) -> Self {
        self.slope = Slope::One(slope);
        self
    }

    const fn slopes(mut self, slopes: SlopesOfTwo) -> Self {
        self.slope = Slope::Two(slopes);
        self
    }
}

const fn unary(name: &'static str, graph: One) -> ScalarFunction {
    ScalarFunction::new(name, GraphForm::One(graph))
}

const fn binary(name: &'static str, graph: Two) -> ScalarFunction {
    ScalarFunction::new(name, GraphForm::Two(graph))
}

const fn ternary(name: &'static str, graph: Three) -> ScalarFunction {
    ScalarFunction::new(name, GraphForm::Three(graph))
}

const fn called(name: &'static str) -> ScalarFunction {
    ScalarFunction::new(name, GraphForm::Called)
}

/// Whether a function's derivative is zero wherever it has one.
pub(crate) fn is_flat(name: &str) -> bool {
    find(name).is_some_and(|row| matches!(row.slope, Slope::Flat))
}

/// The derivative of a function of one number, in closed form.
pub(crate) fn slope_of_one(name: &str) -> Option<SlopeOfOne> {
    match find(name)?.slope {
        Slope::One(slope) => Some(slope),
        _ => None,
    }
}

/// The derivatives of a function of two numbers, in closed form.
pub(crate) fn slopes_of_two(name: &str) -> Option<SlopesOfTwo> {
    match find(name)?.slope {
        Slope::Two(slopes) => Some(slopes),
        _ => None,
    }
}

/// Every row.
pub(crate) fn all() -> impl Iterator<Item = &'static ScalarFunction> {
    let subjects = [
        rounding::FUNCTIONS,
        exponentials::FUNCTIONS,
        powers::FUNCTIONS,
        angles::FUNCTIONS,
        gaussian::FUNCTIONS,
        gamma::FUNCTIONS,
        factorials::FUNCTIONS,
        bessel::FUNCTIONS,
    ];
    subjects.into_iter().flatten()
}

/// The row of a name or alias.
pub(crate) fn find(name: &str) -> Option<&'static ScalarFunction> {
    static ROWS: LazyLock<FxHashMap<&str, &ScalarFunction>> =
        LazyLock::new(|| all().flat_map(|row| row.names().map(move |name| (name, row))).collect());
    ROWS.get(name).copied()
}

impl ScalarFunction {
    /// Its name and aliases.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use exmc_math as m;

    use super::exponentials::log_difference;
    use super::{GraphForm, ScalarFunction, all, slope_of_one};

    /// A name, its function, and where it is looked at.
    type Case = (&'static str, fn(f64) -> f64, f64);

    /// Against central differences of `exmc_math`'s functions, which the derivatives do not call.
    #[test]
    fn derivatives_are_those_of_differences() {
        let cases: &[Case] = &[
            ("log1m_exp", m::log1m_exp, -0.7),
            ("log1p_exp", m::log1p_exp, -0.7),
            ("inv_logit", m::inv_logit, 1.3),
            ("Phi", m::std_normal_cdf, 0.4),
            ("inv_Phi", m::std_normal_quantile, 0.3),
            ("atanh", m::atanh, -0.4),
            ("acosh", m::acosh, 1.7),
            ("tgamma", m::gamma, 2.3),
            ("lgamma", m::lgamma, 0.6),
            ("erfc", m::erfc, 0.6),
        ];
        for (name, f, x) in cases {
            let h = 1e-5;
            let expected = (f(x + h) - f(x - h)) / (2.0 * h);
            let found = slope_of_one(name).unwrap()(*x, f(*x));
            assert!((found - expected).abs() < 1e-8, "{name}: {found} for {expected}");
        }
        let (dx, dy) = log_difference(1.0, 0.25, 0.0);
        let f = |x, y| m::log_diff_exp(x, y);
        let h = 1e-5;
        assert!((dx - (f(1.0 + h, 0.25) - f(1.0 - h, 0.25)) / (2.0 * h)).abs() < 1e-8);
        assert!((dy - (f(1.0, 0.25 + h) - f(1.0, 0.25 - h)) / (2.0 * h)).abs() < 1e-8);
    }

    /// Functions that other files name too: complex numbers have formulas of their own, a power is
    /// an operator, and these take or give what is no real number.
    const ALSO_ELSEWHERE: &[&str] = &[
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atanh",
        "cos",
        "cosh",
        "exp",
        "log",
        "log10",
        "pow",
        "sin",
        "sinh",
        "sqrt",
        "square",
        "tan",
        "tanh", // complex
        "fma",
        "gamma_p",
        "gamma_q",
        "log2",
        "log_sum_exp", // containers and constants
        "beta",        // the family of that name
    ];

    /// What adding such a function costs: one row here, and rows of the two tables of the tests.
    #[test]
    fn a_function_of_numbers_is_written_in_one_file() {
        let mut named = Vec::new();
        let mut folders =
            vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.ends_with("scalar_functions") {
                } else if path.is_dir() {
                    folders.push(path);
                } else {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let text = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
                    for row in all().filter(|row| row.shapes.is_some()) {
                        let called = matches!(row.graph, GraphForm::Called);
                        let written = text.contains(&format!("\"{}\"", row.name));
                        if written && !called && !ALSO_ELSEWHERE.contains(&row.name) {
                            named.push((row.name, path.clone()));
                        }
                    }
                }
            }
        }
        assert!(named.is_empty(), "{named:?}");
        assert!(all().count() > 90);
    }

    #[test]
    fn every_name_has_one_row() {
        let mut names: Vec<&str> = all().flat_map(ScalarFunction::names).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
