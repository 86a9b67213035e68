//! Expressions as a user writes them: names, numbers and function calls, before shapes are known.
//!
//! `Expr` is a tree with shared branches. Building a model turns it into graph nodes
//! ([`crate::function`]).

use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::Arc;

use exmc_graph::{Shape, Tensor};

use crate::scan::{Output, Scan};

/// An expression over the names of a model.
///
/// Names, numbers, slices and arrays (nested ones too) convert into it; arithmetic, by value or by
/// reference, and the methods build larger ones.
///
/// ```
/// use exmc_model::Expr;
/// let eta = "alpha" + Expr::name("X").matmul("beta");
/// let clipped = (2 * &eta + 1).max(0).min([[1, 2], [3, 4]]);
/// let table = Expr::stack([&eta, &clipped]);
/// assert_eq!(table.references(), ["X", "alpha", "beta"]);
/// ```
#[derive(Clone, Debug)]
pub struct Expr(pub(crate) Arc<ExprKind>);

#[derive(Debug)]
pub(crate) enum ExprKind {
    Constant(Tensor),
    Reference(String),
    Call {
        function: String,
        args: Vec<Expr>,
        attributes: Attributes,
    },
    Scan {
        scan: Scan,
        output: Output,
    },
    /// What is no value, with why: building reports it.
    Mistake(String),
}

impl ExprKind {
    /// Moves the expressions that it is made of out.
    fn take(&mut self, to: &mut Vec<Expr>) {
        match self {
            Self::Constant(_) | Self::Reference(_) | Self::Mistake(_) => {}
            Self::Call { args, .. } => to.append(args),
            Self::Scan { scan, output } => {
                to.extend(scan.take());
                if let Output::Each(value) = std::mem::replace(output, Output::Last(String::new()))
                {
                    to.push(value);
                }
            }
        }
    }
}

/// Dropping a long chain of operations needs no stack: arguments that nobody else holds are taken
/// apart one by one.
impl Drop for ExprKind {
    fn drop(&mut self) {
        let mut rest = Vec::new();
        self.take(&mut rest);
        while let Some(mut expr) = rest.pop() {
            if let Some(kind) = Arc::get_mut(&mut expr.0) {
                kind.take(&mut rest);
            }
        }
    }
}

/// Named settings of a call that are not values: axes, shapes, limits of a slice.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Attributes(pub(crate) Vec<(String, Vec<usize>)>);

impl Attributes {
    pub(crate) fn get(&self, name: &str) -> Option<&[usize]> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_slice())
    }
}

impl Expr {
    /// A reference to a node's constrained value, or to data.
    pub fn name(name: impl Into<String>) -> Self {
        Self(Arc::new(ExprKind::Reference(name.into())))
    }

    /// A constant.
    pub fn constant(tensor: Tensor) -> Self {
        Self(Arc::new(ExprKind::Constant(tensor)))
    }

    /// A function by name, as the JSON form has it.
    pub fn call(function: impl Into<String>, args: impl IntoIterator<Item = Expr>) -> Self {
        Self::call_with(function, args, Attributes::default())
    }

    pub(crate) fn call_with(
        function: impl Into<String>,
        args: impl IntoIterator<Item = Expr>,
        attributes: Attributes,
    ) -> Self {
        let args = args.into_iter().collect();
        Self(Arc::new(ExprKind::Call { function: function.into(), args, attributes }))
    }

    pub(crate) fn of(kind: ExprKind) -> Self {
        Self(Arc::new(kind))
    }

    fn with(self, function: &str, attributes: &[(&str, &[usize])]) -> Self {
        let attributes = attributes.iter().map(|(n, v)| ((*n).to_owned(), v.to_vec())).collect();
        Self::call_with(function, [self], Attributes(attributes))
    }

    /// Every name that the expression refers to, sorted.
    pub fn references(&self) -> Vec<String> {
        let mut seen = std::collections::BTreeSet::new();
        let mut names = std::collections::BTreeSet::new();
        let mut stack = vec![self];
        while let Some(expr) = stack.pop() {
            if !seen.insert(Arc::as_ptr(&expr.0)) {
                continue;
            }
            match &*expr.0 {
                ExprKind::Constant(_) | ExprKind::Mistake(_) => {}
                ExprKind::Reference(name) => {
                    names.insert(name.clone());
                }
                ExprKind::Call { args, .. } => stack.extend(args),
                ExprKind::Scan { scan, output } => {
                    stack.extend(scan.before());
                    let each = if let Output::Each(value) = output { Some(value) } else { None };
                    for inside in scan.inside().chain(each) {
                        let is_local = |name: &String| scan.names().any(|local| local == name);
                        names
                            .extend(inside.references().into_iter().filter(|name| !is_local(name)));
                    }
                }
            }
        }
        names.into_iter().collect()
    }

    /// Rows chosen by zero-based integers: `alpha.gather("county")`.
    pub fn gather(self, index: impl Into<Expr>) -> Self {
        Self::call("gather", [self, index.into()])
    }

    /// Element or row `index` (zero-based) along the first axis.
    pub fn at(self, index: usize) -> Self {
        self.with("at", &[("index", &[index])])
    }

    /// Elements `start..stop` along the first axis.
    pub fn slice(self, start: usize, stop: usize) -> Self {
        self.with("slice", &[("axis", &[0]), ("start", &[start]), ("stop", &[stop])])
    }

    /// Matrix product.
    pub fn matmul(self, other: impl Into<Expr>) -> Self {
        Self::call("matmul", [self, other.into()])
    }

    /// Inner product of two vectors.
    pub fn dot(self, other: impl Into<Expr>) -> Self {
        Self::call("dot", [self, other.into()])
    }

    /// Power.
    pub fn pow(self, exponent: impl Into<Expr>) -> Self {
        Self::call("pow", [self, exponent.into()])
    }

    /// `a` where this is non-zero, else `b`.
    pub fn select(self, a: impl Into<Expr>, b: impl Into<Expr>) -> Self {
        Self::call("select", [self, a.into(), b.into()])
    }

    /// The larger of two, by element.
    pub fn max(self, other: impl Into<Expr>) -> Self {
        Self::call("max", [self, other.into()])
    }

    /// The smaller of two, by element.
    pub fn min(self, other: impl Into<Expr>) -> Self {
        Self::call("min", [self, other.into()])
    }

    /// 1 where this is smaller than `other`, else 0.
    pub fn lt(self, other: impl Into<Expr>) -> Self {
        Self::call("lt", [self, other.into()])
    }

    /// 1 where this is at most `other`, else 0.
    pub fn le(self, other: impl Into<Expr>) -> Self {
        Self::call("le", [self, other.into()])
    }

    /// 1 where this is larger than `other`, else 0.
    pub fn gt(self, other: impl Into<Expr>) -> Self {
        Self::call("lt", [other.into(), self])
    }

    /// 1 where this is at least `other`, else 0.
    pub fn ge(self, other: impl Into<Expr>) -> Self {
        Self::call("le", [other.into(), self])
    }

    /// 1 where this equals `other`, else 0.
    pub fn eq(self, other: impl Into<Expr>) -> Self {
        Self::call("eq", [self, other.into()])
    }

    /// 1 where this differs from `other`, else 0.
    pub fn ne(self, other: impl Into<Expr>) -> Self {
        Self::call("ne", [self, other.into()])
    }

    /// Expressions that broadcast to one shape, side by side along a new first axis.
    pub fn stack(parts: impl IntoIterator<Item: Into<Expr>>) -> Self {
        Self::call("stack", parts.into_iter().map(Into::into))
    }

    /// Arrays behind each other along the first axis.
    pub fn concat(parts: impl IntoIterator<Item: Into<Expr>>) -> Self {
        Self::call("concat", parts.into_iter().map(Into::into))
    }

    /// Largest element over one axis.
    pub fn max_over(self, axis: usize) -> Self {
        self.with("max_of", &[("axes", &[axis])])
    }

    /// Smallest element over one axis.
    pub fn min_over(self, axis: usize) -> Self {
        self.with("min_of", &[("axes", &[axis])])
    }

    /// The same elements under another shape.
    pub fn reshape(self, shape: impl Into<Shape>) -> Self {
        self.with("reshape", &[("shape", shape.into().extents())])
    }

    /// $\log\sum e^x$ over one axis.
    pub fn log_sum_exp_over(self, axis: usize) -> Self {
        self.with("log_sum_exp", &[("axes", &[axis])])
    }

    /// Sum over one axis.
    pub fn sum_over(self, axis: usize) -> Self {
        self.with("sum", &[("axes", &[axis])])
    }
}

macro_rules! methods {
    ($($(#[$meta:meta])* $name:ident),* $(,)?) => {
        impl Expr {
            $($(#[$meta])*
            pub fn $name(self) -> Self { Self::call(stringify!($name), [self]) })*
        }
    };
}

methods!(
    /// $e^x$.
    exp,
    /// Natural logarithm.
    log,
    /// $\log(1+x)$.
    log1p,
    /// $e^x-1$.
    expm1,
    /// Square root.
    sqrt,
    /// Square.
    square,
    /// Absolute value.
    abs,
    /// Hyperbolic tangent.
    tanh,
    /// Sine.
    sin,
    /// Cosine.
    cos,
    /// $1/(1+e^{-x})$.
    inv_logit,
    /// $\log(x/(1-x))$.
    logit,
    /// $\log(1+e^x)$.
    softplus,
    /// Sum of all elements.
    sum,
    /// Mean of all elements.
    mean,
    /// $\log\sum e^x$ over all elements.
    log_sum_exp,
    /// $e^{x}/\sum e^{x}$ over the last axis.
    softmax,
    /// Running sum along the first axis.
    cumulative_sum,
    /// Lower Cholesky factor.
    cholesky,
    /// Transpose of a matrix.
    transpose,
);

macro_rules! operators {
    ($($trait:ident $method:ident $name:literal),* $(,)?) => {$(
        impl<T: Into<Expr>> $trait<T> for Expr {
            type Output = Expr;
            fn $method(self, other: T) -> Expr { Expr::call($name, [self, other.into()]) }
        }
        impl<T: Into<Expr>> $trait<T> for &Expr {
            type Output = Expr;
            fn $method(self, other: T) -> Expr { Expr::call($name, [self.clone(), other.into()]) }
        }
        operators!(@left $trait $method $name: f64, i32, &str);
    )*};
    (@left $trait:ident $method:ident $name:literal: $($left:ty),*) => {$(
        impl $trait<Expr> for $left {
            type Output = Expr;
            fn $method(self, other: Expr) -> Expr { Expr::call($name, [self.into(), other]) }
        }
        impl $trait<&Expr> for $left {
            type Output = Expr;
            fn $method(self, other: &Expr) -> Expr {
                Expr::call($name, [self.into(), other.clone()])
            }
        }
    )*};
}

operators!(Add add "add", Sub sub "sub", Mul mul "mul", Div div "div");

impl Neg for Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        Expr::call("neg", [self])
    }
}

impl Neg for &Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        Expr::call("neg", [self.clone()])
    }
}
