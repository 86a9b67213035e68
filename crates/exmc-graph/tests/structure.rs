//! The table of operations on whole arrays: moves, reductions, matrices, loops. One row for each,
//! its value against a plain formula over indices, its derivatives against differences.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "expected values are computed independently")]

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::support::{Build, check_derivatives, expression, values, weights};
use exmc_graph::{DType, Graph, NodeId, Op, Reduction, Role, ScanBody, Shape, SharedBody, Tensor};

/// What every element of the result must be, from its indices and the parameters' elements.
type Formula<'a> = &'a dyn Fn(&[usize], &[Tensor]) -> f64;

struct Table {
    seen: BTreeSet<&'static str>,
}

impl Table {
    /// Checks one operation: shape and value by `formula`, then derivatives up to `order`.
    fn row(
        &mut self,
        op: &'static str,
        parameters: &[Tensor],
        shape: &[usize],
        build: Build<'_>,
        formula: Formula<'_>,
    ) {
        self.seen.insert(op);
        let shapes: Vec<_> = parameters.iter().map(|t| t.shape().clone()).collect();
        let (g, _, output) = expression(&shapes, build);
        assert_eq!(g.shape(output).extents(), shape, "{op}");
        let found = values(&g, &[output], parameters);
        for (k, &value) in found[0].values().iter().enumerate() {
            let mut rest = k;
            let mut index = vec![0; shape.len()];
            for axis in (0..shape.len()).rev() {
                index[axis] = rest % shape[axis];
                rest /= shape[axis];
            }
            let expected = formula(&index, parameters);
            // Another order of a sum of a few terms of scale one.
            let near = value == expected || (value - expected).abs() < 1e-13;
            assert!(near, "{op}{index:?}: {value}, not {expected}");
        }
        check_derivatives(op, parameters, 2, build);
    }
}

fn element(t: &Tensor, index: &[usize]) -> f64 {
    let offset: usize = index.iter().zip(t.shape().strides()).map(|(i, s)| i * s).sum();
    t.values()[offset]
}

fn array(extents: &[usize], salt: f64) -> Tensor {
    weights(&Shape::from(extents), salt)
}

fn apply(op: Op) -> impl Fn(&mut Graph, &[NodeId]) -> NodeId {
    move |g, inputs| g.apply(op.clone(), inputs).unwrap()
}

fn indices(g: &mut Graph, shape: &[usize], values: &[usize]) -> NodeId {
    let index = Tensor::indices(values).reshaped(shape).unwrap();
    g.constant(index)
}

#[test]
fn every_structural_operation_has_its_meaning_and_derivatives() {
    let mut t = Table { seen: BTreeSet::new() };
    moves(&mut t);
    reductions(&mut t);
    matrices(&mut t);
    general_matrices(&mut t);
    loops(&mut t);
    let mut expected: BTreeSet<_> = Reduction::ALL.iter().map(|r| r.name()).collect();
    expected.extend([
        "broadcast",
        "reshape",
        "permute",
        "slice",
        "unslice",
        "concat",
        "gather",
        "scatter_add",
        "cumulative_sum",
        "log_product",
        "matmul",
        "cholesky",
        "cholesky_adjoint",
        "triangular_solve",
        "scan",
        "project",
        "lu",
        "lu_solve",
        "symmetric_eigen",
        "log_abs_det",
    ]);
    assert_eq!(t.seen, expected);
}

fn moves(t: &mut Table) {
    for (from, to) in [
        (vec![], vec![3]),
        (vec![3], vec![2, 3]),
        (vec![2, 1], vec![2, 4]),
        (vec![1, 3, 1], vec![2, 3, 2]),
        (vec![2, 3], vec![2, 3]),
        (vec![1], vec![0]),
    ] {
        t.row(
            "broadcast",
            &[array(&from, 1.0)],
            &to,
            &apply(Op::Broadcast(to.clone().into())),
            &|i, p| {
                let missing = i.len() - p[0].shape().rank();
                let index: Vec<_> = i[missing..]
                    .iter()
                    .zip(p[0].shape().extents())
                    .map(|(&i, &e)| if e == 1 { 0 } else { i })
                    .collect();
                element(&p[0], &index)
            },
        );
    }
    t.row(
        "reshape",
        &[array(&[2, 6], 2.0)],
        &[3, 4],
        &apply(Op::Reshape([3, 4].into())),
        &|i, p| p[0].values()[i[0] * 4 + i[1]],
    );
    t.row("permute", &[array(&[2, 3], 3.0)], &[3, 2], &apply(Op::Permute(vec![1, 0])), &|i, p| {
        element(&p[0], &[i[1], i[0]])
    });
    let order = Op::Permute(vec![2, 0, 1]);
    t.row("permute", &[array(&[2, 3, 4], 4.0)], &[4, 2, 3], &apply(order), &|i, p| {
        element(&p[0], &[i[1], i[2], i[0]])
    });
    let slice = Op::Slice { axis: 1, start: 1, step: 2, len: 2 };
    t.row("slice", &[array(&[2, 5, 2], 5.0)], &[2, 2, 2], &apply(slice), &|i, p| {
        element(&p[0], &[i[0], 1 + 2 * i[1], i[2]])
    });
    // Pieces that touch, overlap, repeat, leave gaps and lie along different axes.
    let pieces = |g: &mut Graph, p: &[NodeId]| {
        let mut total = g.scalar(1.0);
        for (axis, start, stop) in
            [(0, 0, 1), (0, 1, 3), (0, 2, 4), (0, 0, 1), (1, 1, 2), (1, 3, 4), (0, 3, 4), (1, 0, 5)]
        {
            let slice = g.slice(p[0], axis, start, stop);
            let bent = g.sin(slice);
            let sum = g.sum(bent);
            let shifted = g.shift(sum, 1.5);
            total = g.mul(total, shifted);
        }
        total
    };
    check_derivatives("slices of one array", &[array(&[4, 5], 5.0)], 2, &pieces);
    let unslice = Op::Unslice { axis: 1, start: 1, step: 2, extent: 5 };
    t.row("unslice", &[array(&[2, 2, 2], 6.0)], &[2, 5, 2], &apply(unslice), &|i, p| match i[1] {
        1 | 3 => element(&p[0], &[i[0], (i[1] - 1) / 2, i[2]]),
        _ => 0.0,
    });
    let parts = [array(&[2, 1, 2], 7.0), array(&[2, 3, 2], 8.0), array(&[2, 0, 2], 9.0)];
    t.row("concat", &parts, &[2, 4, 2], &apply(Op::Concat { axis: 1 }), &|i, p| match i[1] {
        0 => element(&p[0], i),
        k => element(&p[1], &[i[0], k - 1, i[2]]),
    });
    // Repeated and missing indices, an index of rank two, rows of width two.
    let picks = [2, 0, 2, 2, 1, 0];
    let gather = |g: &mut Graph, p: &[NodeId]| {
        let index = indices(g, &[2, 3], &picks);
        g.gather(p[0], index)
    };
    t.row("gather", &[array(&[4, 2], 10.0)], &[2, 3, 2], &gather, &|i, p| {
        element(&p[0], &[picks[i[0] * 3 + i[1]], i[2]])
    });
    t.row("gather", &[array(&[4], 10.0)], &[2, 3], &gather, &|i, p| {
        p[0].values()[picks[i[0] * 3 + i[1]]]
    });
    let scatter = |g: &mut Graph, p: &[NodeId]| {
        let index = indices(g, &[2, 3], &picks);
        g.apply(Op::ScatterAdd { len: 4 }, &[p[0], index]).unwrap()
    };
    t.row("scatter_add", &[array(&[2, 3, 2], 11.0)], &[4, 2], &scatter, &|i, p| {
        let rows = (0..6).filter(|&k| picks[k] == i[0]);
        rows.map(|k| element(&p[0], &[k / 3, k % 3, i[1]])).sum()
    });
    for reverse in [false, true] {
        let op = Op::CumSum { axis: 1, reverse };
        t.row("cumulative_sum", &[array(&[2, 4, 2], 12.0)], &[2, 4, 2], &apply(op), &|i, p| {
            let terms = if reverse { i[1]..4 } else { 0..i[1] + 1 };
            terms.map(|k| element(&p[0], &[i[0], k, i[2]])).sum()
        });
    }
}

fn reductions(t: &mut Table) {
    for op in Reduction::ALL {
        let combine = |terms: Vec<f64>| match op {
            Reduction::Sum => terms.iter().sum(),
            Reduction::Max => terms.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            Reduction::Min => terms.iter().copied().fold(f64::INFINITY, f64::min),
            Reduction::LogSumExp => terms.iter().map(|x| x.exp()).sum::<f64>().ln(),
        };
        let x = array(&[2, 3, 4], 13.0);
        let over = |axes: &[usize]| apply(Op::Reduce(*op, axes.to_vec()));
        t.row(op.name(), std::slice::from_ref(&x), &[], &over(&[0, 1, 2]), &|_, p| {
            combine(p[0].values().to_vec())
        });
        t.row(op.name(), std::slice::from_ref(&x), &[2, 4], &over(&[1]), &|i, p| {
            combine((0..3).map(|k| element(&p[0], &[i[0], k, i[1]])).collect())
        });
        t.row(op.name(), std::slice::from_ref(&x), &[2], &over(&[1, 2]), &|i, p| {
            combine((0..12).map(|k| element(&p[0], &[i[0], k / 4, k % 4])).collect())
        });
        t.row(op.name(), std::slice::from_ref(&x), &[3], &over(&[0, 2]), &|i, p| {
            combine((0..8).map(|k| element(&p[0], &[k / 4, i[0], k % 4])).collect())
        });
        t.row(op.name(), &[array(&[3], 14.0)], &[3], &over(&[]), &|i, p| {
            combine(vec![p[0].values()[i[0]]])
        });
        t.row(op.name(), &[array(&[0, 2], 0.0)], &[2], &over(&[0]), &|_, _| combine(vec![]));
    }
    // Of exponentials, so that the logarithms are the parameters.
    let logs = |g: &mut Graph, p: &[NodeId]| {
        let args: Vec<_> = p.iter().map(|&x| g.exp(x)).collect();
        g.apply(Op::LogProduct(vec![1, 3, 2]), &args).unwrap()
    };
    let parts = [array(&[2, 3], 17.0), array(&[], 18.0), array(&[2], 19.0)];
    t.row("log_product", &parts, &[], &logs, &|_, p| {
        let sum = |k: usize| p[k].values().iter().sum::<f64>();
        sum(0) + 3.0 * sum(1) + 2.0 * sum(2)
    });
}

/// A symmetric positive definite matrix from any square one.
fn definite(g: &mut Graph, x: NodeId) -> NodeId {
    let n = g.shape(x).extents()[0];
    let transposed = g.transpose(x);
    let product = g.matmul(x, transposed);
    let identity: Vec<f64> = (0..n * n).map(|k| if k / n == k % n { 1.5 } else { 0.0 }).collect();
    let identity = g.constant(Tensor::real([n, n], identity).unwrap());
    g.add(product, identity)
}

/// Something lower triangular with a diagonal away from zero (the upper triangle is not read).
fn triangle(n: usize, salt: f64) -> Tensor {
    let mut values = array(&[n, n], salt).values().to_vec();
    for k in 0..n {
        values[k * n + k] = 1.2 + 0.3 * k as f64;
    }
    Tensor::real([n, n], values).unwrap()
}

/// An element of the lower triangle of $S + S^\top$, its diagonal halved, where $S =
/// L^{-\top}\Phi(L^\top \bar L)L^{-1}$ as it stands.
fn of_symmetric(factor: &Tensor, adjoint: &Tensor, [i, j]: [usize; 2]) -> f64 {
    let n = factor.shape().extents()[0];
    let triangle = |x: &Tensor, i: usize, k: usize| if k > i { 0.0 } else { element(x, &[i, k]) };
    // Row by row, L times its inverse is one.
    let mut inverse: Vec<Vec<f64>> = Vec::new();
    for row in 0..n {
        let entry = |column: usize| {
            let above = inverse.iter().enumerate();
            let known: f64 =
                above.map(|(k, inverse_row)| triangle(factor, row, k) * inverse_row[column]).sum();
            (f64::from(u8::from(row == column)) - known) / element(factor, &[row, row])
        };
        let inverse_row = (0..n).map(entry).collect();
        inverse.push(inverse_row);
    }
    let middle = |a: usize, b: usize| {
        let product: f64 = (0..n).map(|k| triangle(factor, k, a) * triangle(adjoint, k, b)).sum();
        match a.cmp(&b) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 0.5 * product,
            std::cmp::Ordering::Greater => product,
        }
    };
    let s = |i: usize, j: usize| -> f64 {
        let pairs = (0..n).flat_map(|a| (0..n).map(move |b| (a, b)));
        pairs.map(|(a, b)| inverse[a][i] * middle(a, b) * inverse[b][j]).sum()
    };
    if i == j { s(i, i) } else { s(i, j) + s(j, i) }
}

fn matrices(t: &mut Table) {
    let (a, b) = (array(&[3, 11], 15.0), array(&[11, 10], 16.0));
    t.row("matmul", &[a.clone(), b], &[3, 10], &apply(Op::MatMul), &|i, p| {
        (0..11).map(|k| element(&p[0], &[i[0], k]) * element(&p[1], &[k, i[1]])).sum()
    });
    t.row("matmul", &[a, array(&[11], 17.0)], &[3], &apply(Op::MatMul), &|i, p| {
        (0..11).map(|k| element(&p[0], &[i[0], k]) * p[1].values()[k]).sum()
    });
    for n in [0, 1, 3] {
        // The factor is checked by its product, for which the derivative of the identity is
        // known...
        let product = |g: &mut Graph, p: &[NodeId]| {
            let matrix = definite(g, p[0]);
            let factor = g.cholesky(matrix);
            let transposed = g.transpose(factor);
            g.matmul(factor, transposed)
        };
        t.row("cholesky", &[array(&[n, n], 18.0)], &[n, n], &product, &|i, p| {
            let dot: f64 =
                (0..n).map(|k| element(&p[0], &[i[0], k]) * element(&p[0], &[i[1], k])).sum();
            dot + if i[0] == i[1] { 1.5 } else { 0.0 }
        });
        // ... and by itself, through differences of its own elements.
        check_derivatives("cholesky", &[array(&[n, n], 18.0)], 2, &|g, p| {
            let matrix = definite(g, p[0]);
            g.cholesky(matrix)
        });
    }
    // Only the lower triangle is read, so the upper one moves nothing, in value or derivative.
    let mut matrix = array(&[3, 3], 19.0).values().to_vec();
    for (k, pivot) in [3.0, 4.0, 5.0].into_iter().enumerate() {
        matrix[k * 4] = pivot;
    }
    let matrix = Tensor::real([3, 3], matrix).unwrap();
    check_derivatives("cholesky of a lower triangle", &[matrix], 2, &apply(Op::Cholesky));

    for n in [0, 1, 4] {
        // Upper triangles are anything, because they are not read.
        let mut factor = array(&[n, n], 20.0).values().to_vec();
        (0..n).for_each(|k| factor[k * (n + 1)] += 3.0);
        let args = [Tensor::real([n, n], factor).unwrap(), array(&[n, n], 21.0)];
        let adjoint = apply(Op::CholeskyAdjoint);
        t.row("cholesky_adjoint", &args, &[n, n], &adjoint, &|i, p| {
            let (i, j) = (i[0], i[1]);
            if j > i { 0.0 } else { of_symmetric(&p[0], &p[1], [i, j]) }
        });
    }

    for n in [0, 1, 4] {
        // The decomposition is checked by the matrix that it restores, and by itself.
        let symmetric = |i: &[usize], p: &Tensor| element(p, &[i[0].max(i[1]), i[0].min(i[1])]);
        let restored = |g: &mut Graph, p: &[NodeId]| {
            let packed = g.apply(Op::SymmetricEigen, p).unwrap();
            let (values, vectors) = (g.slice(packed, 0, 0, 1), g.slice(packed, 0, 1, n + 1));
            let columns = g.transpose(vectors);
            let scaled = g.mul(columns, values);
            g.matmul(scaled, vectors)
        };
        t.row("symmetric_eigen", &[triangle(n, 24.0)], &[n, n], &restored, &|i, p| {
            symmetric(i, &p[0])
        });
        let packed = apply(Op::SymmetricEigen);
        check_derivatives("symmetric_eigen", &[triangle(n, 24.0)], 2, &packed);
    }

    for transposed in [false, true] {
        for shape in [vec![4], vec![4, 3]] {
            let solve = Op::TriangularSolve { transposed };
            let parameters = [triangle(4, 20.0), array(&shape, 21.0)];
            // Multiplied back, the solution gives the right-hand side; the derivatives of the
            // solution itself are checked below.
            let back = |g: &mut Graph, p: &[NodeId]| {
                let solution = g.apply(solve.clone(), p).unwrap();
                let mask: Vec<f64> = (0..16).map(|k| f64::from(k % 4 <= k / 4)).collect();
                let mask = g.constant(Tensor::real([4, 4], mask).unwrap());
                let lower = g.mul(mask, p[0]);
                let matrix = if transposed { g.transpose(lower) } else { lower };
                g.matmul(matrix, solution)
            };
            t.row("triangular_solve", &parameters, &shape, &back, &|i, p| element(&p[1], i));
            check_derivatives("triangular_solve", &parameters, 2, &apply(solve.clone()));
        }
    }
}

fn general_matrices(t: &mut Table) {
    // Small first entries, so that rows are swapped.
    let mut matrix = array(&[4, 4], 23.0).values().to_vec();
    (matrix[0], matrix[5], matrix[8]) = (0.01, 0.02, 2.5);
    let matrix = Tensor::real([4, 4], matrix).unwrap();
    for transposed in [false, true] {
        for shape in [vec![4], vec![4, 3]] {
            let parameters = [matrix.clone(), array(&shape, 24.0)];
            let solve = |g: &mut Graph, p: &[NodeId]| {
                let factors = g.apply(Op::Lu, &[p[0]]).unwrap();
                g.apply(Op::LuSolve { transposed }, &[p[0], factors, p[1]]).unwrap()
            };
            let back = |g: &mut Graph, p: &[NodeId]| {
                let solution = solve(g, p);
                let matrix = if transposed { g.transpose(p[0]) } else { p[0] };
                g.matmul(matrix, solution)
            };
            t.row("lu_solve", &parameters, &shape, &back, &|i, p| element(&p[1], i));
            check_derivatives("lu_solve", &parameters, 2, &solve);
        }
    }
    let log_abs_det = |g: &mut Graph, p: &[NodeId]| g.log_abs_det(p[0]);
    let two = Tensor::real([2, 2], vec![0.5, 2.0, 3.0, 1.0]).unwrap();
    t.row("log_abs_det", &[two], &[], &log_abs_det, &|_, _| 5.5f64.ln());
    check_derivatives("log_abs_det", std::slice::from_ref(&matrix), 2, &log_abs_det);

    // By hand: the second row leads, its first entry is 8 times the other, and 2 - 1/8 remains.
    t.seen.insert("lu");
    let (g, _, y) = expression(&[[2, 2].into()], &apply(Op::Lu));
    let found = values(&g, &[y], &[Tensor::real([2, 2], vec![0.5, 2.0, 4.0, 1.0]).unwrap()]);
    assert_eq!(found[0].values(), [4.0, 1.0, 1.0, 0.125, 1.875, 1.0]);
    let singular = values(&g, &[y], &[Tensor::real([2, 2], vec![0.0; 4]).unwrap()]);
    assert_eq!(singular[0].values(), [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
}

/// carry0' = carry0 * tanh(x0) + fixed0 * carry1, carry1' = carry1 + 0.1 carry0^2;
/// stacked: carry0 * x0, and the index of the step that carry2 counts, times carry0'.
fn body() -> SharedBody {
    let mut g = Graph::new();
    let real = |g: &mut Graph, name: &str| {
        g.input(name, Role::Parameter, Shape::scalar(), DType::Real).unwrap()
    };
    let (a, b) = (real(&mut g, "carry0"), real(&mut g, "carry1"));
    let (x, fixed) = (real(&mut g, "x0"), real(&mut g, "fixed0"));
    let count = g.input("carry2", Role::Data, Shape::scalar(), DType::Int).unwrap();
    let tanh = g.tanh(x);
    let product = g.mul(a, tanh);
    let pull = g.mul(fixed, b);
    let next_a = g.add(product, pull);
    let square = g.square(a);
    let tenth = g.scale(square, 0.1);
    let next_b = g.add(b, tenth);
    let one = g.constant(Tensor::int(Shape::scalar(), vec![1.0]).unwrap());
    let next_count = g.add(count, one);
    let seen = g.mul(a, x);
    let counted = g.mul(count, next_a);
    let next = vec![next_a, next_b, next_count];
    let stacked = vec![seen, counted];
    SharedBody(Arc::new(ScanBody { graph: g, next, stacked, counts: [3, 1, 1] }))
}

fn scan(reverse: bool, length: usize, output: usize) -> impl Fn(&mut Graph, &[NodeId]) -> NodeId {
    move |g, p| {
        let zero = g.constant(Tensor::int(Shape::scalar(), vec![0.0]).unwrap());
        let op = Op::Scan { length, reverse, body: body() };
        let scan = g.apply(op, &[p[0], p[1], zero, p[2], p[3]]).unwrap();
        g.apply(Op::Project(output), &[scan]).unwrap()
    }
}

/// The same loop in plain code: outputs 0 to 2 are final carries, 3 and 4 are stacked.
fn plain(reverse: bool, p: &[Tensor]) -> [Vec<f64>; 5] {
    let x = p[2].values();
    let fixed = p[3].values()[0];
    let (mut a, mut b, mut count) = (p[0].values()[0], p[1].values()[0], 0.0);
    let (mut seen, mut counted) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    for step in 0..x.len() {
        let index = if reverse { x.len() - 1 - step } else { step };
        let next = a * x[index].tanh() + fixed * b;
        seen[index] = a * x[index];
        counted[index] = count * next;
        b += 0.1 * (a * a);
        a = next;
        count += 1.0;
    }
    [vec![a], vec![b], vec![count], seen, counted]
}

fn loops(t: &mut Table) {
    for reverse in [false, true] {
        for length in [0, 1, 5] {
            let parameters = [
                Tensor::scalar(0.7),
                Tensor::scalar(-0.4),
                array(&[length], 22.0),
                Tensor::scalar(0.6),
            ];
            for output in 0..5 {
                let shape = if output < 3 { vec![] } else { vec![length] };
                let name = if output < 3 { "scan" } else { "project" };
                t.row(name, &parameters, &shape, &scan(reverse, length, output), &|i, p| {
                    plain(reverse, p)[output][i.first().copied().unwrap_or(0)]
                });
            }
            // All outputs at once, so that their adjoints meet in one reverse loop.
            check_derivatives("scan", &parameters, 2, &|g, p| {
                let mut total = scan(reverse, length, 0)(g, p);
                for output in 1..5 {
                    let part = scan(reverse, length, output)(g, p);
                    let part = g.tanh(part);
                    let sum = g.sum(part);
                    total = g.mul(total, sum);
                }
                total
            });
        }
    }
}

#[test]
fn a_failed_factorisation_is_not_a_number() {
    for bad in [vec![1.0, 0.0, 2.0, 1.0], vec![-1.0, 0.0, 0.0, 1.0], vec![f64::NAN; 4]] {
        let (g, _, y) = expression(&[[2, 2].into()], &apply(Op::Cholesky));
        let found = values(&g, &[y], &[Tensor::real([2, 2], bad).unwrap()]);
        assert!(found[0].values().iter().all(|v| v.is_nan()));
    }
}

#[test]
fn an_index_outside_its_extent_is_an_error() {
    let mut g = Graph::new();
    let x = g.input("x", Role::Parameter, [8].into(), DType::Real).unwrap();
    let index = g.input("i", Role::Data, [2].into(), DType::Int).unwrap();
    let y = g.gather(x, index);
    for (index, message) in [([0.0, 8.0], "index 8"), ([-1.0, 0.0], "index -1")] {
        let lookup = |name: &str| match name {
            "x" => Some(array(&[8], 0.0)),
            _ => Tensor::int([2], index.to_vec()),
        };
        let error = exmc_graph::evaluate(&g, &[y], &lookup).unwrap_err();
        assert_eq!(error.message(), format!("%2 gather: {message} is outside 0..8"));
    }
    let error = exmc_graph::evaluate(&g, &[y], &|_| None).unwrap_err();
    assert_eq!(error.message(), "input `x` has no value");
}
