//! Values that stand for expressions: names, numbers and arrays of Rust -> [`Expr`].
//!
//! Whole numbers make integers, which may stand wherever a real number may and are what indexes
//! take. Nested arrays make matrices; one whose rows differ in length is a mistake that building
//! the model reports.

use exmc_graph::{Shape, Tensor};

use crate::expr::{Expr, ExprKind};

impl From<&Expr> for Expr {
    fn from(expr: &Expr) -> Self {
        expr.clone()
    }
}

impl From<&str> for Expr {
    fn from(name: &str) -> Self {
        Self::name(name)
    }
}

impl From<&String> for Expr {
    fn from(name: &String) -> Self {
        Self::name(name.as_str())
    }
}

impl From<String> for Expr {
    fn from(name: String) -> Self {
        Self::name(name)
    }
}

impl From<Tensor> for Expr {
    fn from(tensor: Tensor) -> Self {
        Self::constant(tensor)
    }
}

impl From<&Tensor> for Expr {
    fn from(tensor: &Tensor) -> Self {
        Self::constant(tensor.clone())
    }
}

/// Expressions that broadcast to one shape, as the rows of an array.
impl From<Vec<Expr>> for Expr {
    fn from(parts: Vec<Expr>) -> Self {
        Self::stack(parts)
    }
}

impl<const N: usize> From<[Expr; N]> for Expr {
    fn from(parts: [Expr; N]) -> Self {
        Self::stack(parts)
    }
}

/// A number of Rust that a tensor can hold.
trait Number: Copy {
    /// Integers of a tensor, or why they are none.
    fn tensor(shape: Shape, values: Vec<Self>) -> Result<Tensor, String>;
}

impl Number for f64 {
    fn tensor(shape: Shape, values: Vec<Self>) -> Result<Tensor, String> {
        Ok(Tensor::real(shape, values).expect("one number an element"))
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Number for $type {
            fn tensor(shape: Shape, values: Vec<Self>) -> Result<Tensor, String> {
                // An integer beyond 2^53 may become another number, which is then refused too.
                let numbers: Vec<f64> = values.iter().map(|x| *x as f64).collect();
                Tensor::int(shape, numbers).ok_or_else(|| {
                    "an integer of magnitude 2^53 or more is no exact number".to_owned()
                })
            }
        }
    )*};
}

integers!(i32, u32, i64, usize);

fn array<T: Number>(shape: impl Into<Shape>, values: Vec<T>) -> Expr {
    Expr::of(match T::tensor(shape.into(), values) {
        Ok(tensor) => ExprKind::Constant(tensor),
        Err(message) => ExprKind::Mistake(message),
    })
}

/// A matrix from its rows.
fn matrix<'a, T: Number + 'a>(rows: impl ExactSizeIterator<Item = &'a [T]>) -> Expr {
    let (n_rows, mut n_columns, mut values) = (rows.len(), None, Vec::new());
    for (k, row) in rows.enumerate() {
        let expected = *n_columns.get_or_insert(row.len());
        if row.len() != expected {
            let found = row.len();
            let message = format!(
                "a nested array is not rectangular: row 0 has {expected} numbers, row {k} has {found}"
            );
            return Expr::of(ExprKind::Mistake(message));
        }
        values.extend_from_slice(row);
    }
    array([n_rows, n_columns.unwrap_or(0)], values)
}

macro_rules! arrays {
    ($($type:ty),*) => {$(
        impl From<$type> for Expr {
            fn from(value: $type) -> Self { array(Shape::scalar(), vec![value]) }
        }
        impl From<&[$type]> for Expr {
            fn from(values: &[$type]) -> Self { array(values.len(), values.to_vec()) }
        }
        impl From<Vec<$type>> for Expr {
            fn from(values: Vec<$type>) -> Self { array(values.len(), values) }
        }
        impl From<&Vec<$type>> for Expr {
            fn from(values: &Vec<$type>) -> Self { Self::from(values.as_slice()) }
        }
        impl<const N: usize> From<[$type; N]> for Expr {
            fn from(values: [$type; N]) -> Self { Self::from(values.as_slice()) }
        }
        impl<const N: usize> From<&[$type; N]> for Expr {
            fn from(values: &[$type; N]) -> Self { Self::from(values.as_slice()) }
        }
        impl<const N: usize> From<&[[$type; N]]> for Expr {
            fn from(rows: &[[$type; N]]) -> Self { matrix(rows.iter().map(|row| row.as_slice())) }
        }
        impl<const N: usize, const M: usize> From<[[$type; N]; M]> for Expr {
            fn from(rows: [[$type; N]; M]) -> Self { Self::from(rows.as_slice()) }
        }
        impl<const N: usize, const M: usize> From<&[[$type; N]; M]> for Expr {
            fn from(rows: &[[$type; N]; M]) -> Self { Self::from(rows.as_slice()) }
        }
        impl<const N: usize> From<Vec<[$type; N]>> for Expr {
            fn from(rows: Vec<[$type; N]>) -> Self { Self::from(rows.as_slice()) }
        }
        impl From<&[Vec<$type>]> for Expr {
            fn from(rows: &[Vec<$type>]) -> Self { matrix(rows.iter().map(Vec::as_slice)) }
        }
        impl From<Vec<Vec<$type>>> for Expr {
            fn from(rows: Vec<Vec<$type>>) -> Self { Self::from(rows.as_slice()) }
        }
        impl From<&Vec<Vec<$type>>> for Expr {
            fn from(rows: &Vec<Vec<$type>>) -> Self { Self::from(rows.as_slice()) }
        }
    )*};
}

arrays!(f64, i32, u32, i64, usize);
