//! Functions that take parts of a variable (`segment`, `sub_col`, `head` …) -> the index that reads
//! the same.
//!
//! An index reads only the elements that it names, so a loop that fills a variable may read what
//! earlier iterations wrote without the whole being put together each time.

use crate::typed::{BinaryOp, Expr, ExprKind, Index, Type};

/// The index expression that a call stands for, if it takes a part of a variable; `extent` is the
/// first extent of a variable.
pub(super) fn as_index(
    name: &str,
    args: &[Expr],
    ty: &Type,
    extent: impl Fn(&Expr) -> Option<usize>,
) -> Option<Expr> {
    let (base, rest) = args.split_first()?;
    let mut root = base;
    while let ExprKind::Index(inner, _) = &root.kind {
        root = inner;
    }
    if !matches!(root.kind, ExprKind::Variable(_)) {
        return None;
    }
    let single = |expr: &Expr| Index::Single(expr.clone());
    // From `first` on, `count` elements.
    let run = |first: &Expr, count: &Expr| {
        let end = sum(BinaryOp::Add, first, count);
        Index::Range(Some(first.clone()), Some(sum(BinaryOp::Subtract, &end, &int(1, first))))
    };
    let indices = match (name, rest) {
        ("sub_col", [i, j, n]) => vec![run(i, n), single(j)],
        ("sub_row", [i, j, n]) => vec![single(i), run(j, n)],
        ("block", [i, j, n, m]) => vec![run(i, n), run(j, m)],
        ("col", [j]) => vec![Index::Range(None, None), single(j)],
        ("row", [i]) => vec![single(i)],
        ("segment", [i, n]) => vec![run(i, n)],
        ("head", [n]) => vec![run(&int(1, n), n)],
        ("tail", [n]) => {
            let after = int(extent(base)? as i64 + 1, n);
            vec![run(&sum(BinaryOp::Subtract, &after, n), n)]
        }
        _ => return None,
    };
    let kind = ExprKind::Index(Box::new(base.clone()), indices);
    Some(Expr::new(kind, ty.clone(), base.span))
}

fn int(value: i64, near: &Expr) -> Expr {
    Expr::new(ExprKind::Int(value), Type::Int, near.span)
}

fn sum(op: BinaryOp, a: &Expr, b: &Expr) -> Expr {
    let kind = ExprKind::Binary(op, Box::new(a.clone()), Box::new(b.clone()));
    Expr::new(kind, Type::Int, a.span)
}
