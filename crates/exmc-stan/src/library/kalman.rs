//! The Gaussian dynamic linear model: observations and matrices -> log density by the Kalman
//! filter.

use std::sync::Arc;

use exmc_graph::{DType, Graph, Op, Role, ScanBody, Shape, SharedBody};

use super::matrix_parts::identity;
use super::{Argument, LibraryError, Output};
use crate::typed::Type;

const LOG_TWO_PI: f64 = 1.837_877_066_409_345_5;

/// `gaussian_dlm_obs(y | F, G, V, W, m0, C0)`: y `[r, T]`, one column a time, $y_t = F'\theta_t +
/// v_t$, $\theta_t = G\theta_{t-1} + w_t$, with covariances V (a matrix, or a vector of variances)
/// and W and a normal start.
///
/// **Numerics**: the innovations' covariance is factored at each step; the state's covariance is
/// updated in the symmetric form $R - AQA'$. **Reference**: West and Harrison 1997, section 4.2.
pub(super) fn density(g: &mut Graph, args: &[Argument]) -> Result<Output, LibraryError> {
    let [y, design, transition, noise, drift, mean, spread] = args else {
        return Err(LibraryError::Unsupported(
            "`gaussian_dlm_obs` with these arguments".to_owned(),
        ));
    };
    if args.iter().any(|arg| arg.batched) {
        return Err(LibraryError::Unbatchable);
    }
    let sizes: Vec<Vec<usize>> = args.iter().map(|arg| arg.extents(g).to_vec()).collect();
    let mistake = || LibraryError::Mistake("matrices of `gaussian_dlm_obs` do not fit".to_owned());
    let (&[r, steps], &[n, r2]) = (sizes[0].as_slice(), sizes[1].as_slice()) else {
        return Err(mistake());
    };
    let square = vec![n, n];
    let noise_fits = sizes[3] == [r, r] || sizes[3] == [r];
    let fits = r == r2 && sizes[2] == square && sizes[4] == square && sizes[6] == square;
    if !(fits && noise_fits && sizes[5] == [n]) {
        return Err(mistake());
    }
    let covariance = if noise.ty == Type::Vector {
        let diagonal = g.reshape(noise.node, [r, 1]);
        let (mask, zero) = (identity(g, r), g.scalar(0.0));
        g.select(mask, diagonal, zero)
    } else {
        noise.node
    };
    let by_time = g.transpose(y.node);
    let body = step(n, r);
    let start = g.scalar(0.0);
    let op = Op::Scan { length: steps, reverse: false, body: SharedBody(Arc::new(body)) };
    let inputs = [
        mean.node,
        spread.node,
        start,
        by_time,
        design.node,
        transition.node,
        covariance,
        drift.node,
    ];
    let scan = g.apply(op, &inputs).expect("the sizes were checked");
    let total = g.apply(Op::Project(2), &[scan]).expect("three carries");
    let constant = g.scalar(-0.5 * LOG_TWO_PI * (r * steps) as f64);
    Ok(Output::new(g.add(total, constant), false))
}

/// One step: carries are mean, covariance and log density so far.
fn step(n: usize, r: usize) -> ScanBody {
    let mut g = Graph::new();
    let mut input = |name: &str, shape: &[usize]| {
        g.input(name, Role::Parameter, Shape::from(shape), DType::Real)
            .expect("a new graph has no other input of that name")
    };
    let (mean, spread, total) =
        (input("carry0", &[n]), input("carry1", &[n, n]), input("carry2", &[]));
    let y = input("x0", &[r]);
    let (design, transition) = (input("fixed0", &[n, r]), input("fixed1", &[n, n]));
    let (noise, drift) = (input("fixed2", &[r, r]), input("fixed3", &[n, n]));
    // a = G m, R = G C G' + W.
    let ahead = g.matmul(transition, mean);
    let turned = g.transpose(transition);
    let moved = g.matmul(transition, spread);
    let moved = g.matmul(moved, turned);
    let prior = g.add(moved, drift);
    // e = y - F'a, Q = F' R F + V, factored.
    let seen = g.transpose(design);
    let forecast = g.matmul(seen, ahead);
    let error = g.sub(y, forecast);
    let cross = g.matmul(seen, prior);
    let inner = g.matmul(cross, design);
    let inner = g.add(inner, noise);
    let factor = g.cholesky(inner);
    let z = g.triangular_solve(factor, error, false);
    let squares = g.square(z);
    let quadratic = g.sum(squares);
    let diagonal = g.diagonal(factor);
    let logs = g.log(diagonal);
    let half_log = g.sum(logs);
    let half = g.scale(quadratic, 0.5);
    let cost = g.add(half, half_log);
    let total = g.sub(total, cost);
    // m = a + R F Q^-1 e, C = R - (L^-1 F'R)'(L^-1 F'R).
    let gain = g.triangular_solve(factor, cross, false);
    let lifted = g.transpose(gain);
    let correction = g.matmul(lifted, z);
    let mean = g.add(ahead, correction);
    let known = g.matmul(lifted, gain);
    let spread = g.sub(prior, known);
    ScanBody { graph: g, next: vec![mean, spread, total], stacked: Vec::new(), counts: [3, 1, 4] }
}
