//! Densities with matrices as outcomes or parameters, also where these differ among lanes.
//!
//! What exmc-model has is used while one matrix serves all lanes; here is the rest. Everything goes
//! through Cholesky factors: a matrix that is not positive definite makes the density NaN, which
//! the density's check turns into a rejection. **Reference**: Stan functions reference,
//! "Multivariate distributions", "Correlation matrix distributions", "Covariance matrix
//! distributions".

use exmc_graph::{Graph, NodeId, Reduction, Shape, Tensor};

use super::align::{align, known, reshape};
use super::kalman;
use super::matrix_parts::{diagonal, transpose};
use super::products::{lower_triangle, turned};
use super::solves::{Kind, cholesky, left};
use super::{Argument, Check, LibraryError, Output};
use crate::scalar_functions::gamma::multivariate_lgamma;
use crate::typed::Type;

const LOG_TWO_PI: f64 = 1.837_877_066_409_345_5;
const LOG_PI: f64 = 1.144_729_885_849_400_2;
const LN_2: f64 = std::f64::consts::LN_2;

/// The log density of a name that is one of these, for these arguments.
pub(super) fn density(
    g: &mut Graph,
    name: &str,
    args: &[Argument],
) -> Option<Result<Output, LibraryError>> {
    let batched = args.iter().any(|arg| arg.batched);
    Some(match (name, args) {
        ("multi_normal", [y, mu, sigma]) if sigma.batched => {
            cholesky(g, sigma).and_then(|factor| normal(g, y, mu, &matrix(factor)))
        }
        ("multi_normal_cholesky", [y, mu, factor]) if factor.batched => normal(g, y, mu, factor),
        ("multi_normal_prec", [y, mu, precision]) => normal_of_precision(g, y, mu, precision),
        ("multi_student_t", [y, nu, mu, sigma]) => {
            cholesky(g, sigma).and_then(|factor| student(g, [y, nu, mu], &matrix(factor)))
        }
        ("multi_student_t_cholesky", [y, nu, mu, factor]) => student(g, [y, nu, mu], factor),
        ("multi_gp", [y, sigma, w]) => {
            cholesky(g, sigma).and_then(|factor| process(g, y, &matrix(factor), w))
        }
        ("multi_gp_cholesky", [y, factor, w]) => process(g, y, factor, w),
        ("wishart", [w, nu, s]) => cholesky(g, s).and_then(|s| {
            let w = cholesky(g, w)?;
            wishart(g, &matrix(w), nu, &matrix(s))
        }),
        ("wishart_cholesky", [w, nu, s]) => wishart(g, w, nu, s).map(|log| factor_slope(g, log, w)),
        ("inv_wishart", [w, nu, s]) => cholesky(g, s).and_then(|s| {
            let w = cholesky(g, w)?;
            inverse_wishart(g, &matrix(w), nu, &matrix(s))
        }),
        ("inv_wishart_cholesky", [w, nu, s]) => {
            inverse_wishart(g, w, nu, s).map(|log| factor_slope(g, log, w))
        }
        ("lkj_corr", [y, eta]) => cholesky(g, y).map(|factor| {
            let factor = matrix(factor);
            let log_determinant = log_determinant(g, &factor);
            let less = g.shift(eta.node, -1.0);
            let kernel = g.mul(less, log_determinant);
            let size = factor.extents(g)[0];
            let constant = lkj_constant(g, eta.node, size);
            Output::new(g.add(kernel, constant), batched)
        }),
        ("lkj_cov", [_, _, _, _]) if batched => Err(LibraryError::Unbatchable),
        ("lkj_cov", [y, mu, sigma, eta]) => lkj_covariance(g, y, mu, sigma, eta),
        ("lkj_corr_cholesky", [y, eta]) if batched => Ok(lkj_factor(g, y, eta)),
        ("matrix_normal_prec", [y, mu, rows, columns]) => matrix_normal(g, y, mu, rows, columns),
        ("gaussian_dlm_obs", [_, _, _, _, _, _, _]) => kalman::density(g, args),
        _ => return None,
    })
}

/// What must hold of the arguments: degrees of freedom and shapes in their ranges, and a density
/// that is a number, which it is not where a matrix has no factor.
pub(super) fn checks(g: &mut Graph, name: &str, args: &[Argument], value: Output) -> Vec<Check> {
    let mut checks = Vec::new();
    let above = match (name, args) {
        ("wishart" | "wishart_cholesky" | "inv_wishart" | "inv_wishart_cholesky", [w, nu, _]) => {
            let least = w.extents(g)[0] as f64 - 1.0;
            Some((nu, least, "have more degrees of freedom than rows less one"))
        }
        ("multi_student_t" | "multi_student_t_cholesky", [_, nu, _, _]) => {
            Some((nu, 0.0, "have positive degrees of freedom"))
        }
        ("lkj_cov", [_, _, sigma, _]) => Some((sigma, 0.0, "have positive scales")),
        ("lkj_corr" | "lkj_corr_cholesky", [_, eta]) => Some((eta, 0.0, "have a positive shape")),
        ("multi_gp" | "multi_gp_cholesky", [_, _, w]) => Some((w, 0.0, "have positive weights")),
        _ => None,
    };
    if let Some((arg, least, words)) = above {
        let least = g.scalar(least);
        let holds = g.lt(least, arg.node);
        let axes: Vec<usize> = (usize::from(arg.batched)..g.shape(holds).rank()).collect();
        let holds = g.reduce(Reduction::Min, holds, &axes);
        let is_known = known(g, holds).is_some_and(|v| v.iter().all(|v| *v != 0.0));
        if !is_known {
            let message = format!("{name} must {words}");
            checks.push(Check { holds, batched: arg.batched, message });
        }
    }
    let total = value.total(g);
    let holds = g.eq(total.node, total.node);
    // A constant condition that is left counts as one that does not hold.
    if !known(g, holds).is_some_and(|v| v.iter().all(|v| *v != 0.0)) {
        let message = format!("the matrices of {name} must be positive definite");
        checks.push(Check { holds, batched: total.batched, message });
    }
    checks
}

fn matrix(x: Output) -> Argument {
    Argument { node: x.node, ty: Type::Matrix, batched: x.batched }
}

/// $\log\det LL'$, one number a lane.
fn log_determinant(g: &mut Graph, factor: &Argument) -> NodeId {
    let diagonal = diagonal(g, factor.node, factor.batched);
    let logs = g.log(diagonal);
    let total = Output::new(logs, factor.batched).total(g);
    g.scale(total.node, 2.0)
}

/// A number a lane, to meet one number an outcome.
fn beside(g: &mut Graph, x: NodeId, batched: bool, outcomes: &Shape) -> NodeId {
    if !batched {
        return x;
    }
    let ones = vec![1; outcomes.rank() - 1];
    reshape(g, x, true, &ones)
}

/// Outcomes less their means: the differences `[.., d]`, and the shape of the outcomes.
fn centred(
    g: &mut Graph,
    y: &Argument,
    mu: &Argument,
) -> Result<(NodeId, Shape, bool), LibraryError> {
    let aligned = align(g, &[y.clone(), mu.clone()], &[1, 1])?;
    let same = y.extents(g).last() == mu.extents(g).last();
    if !same {
        return Err(LibraryError::Mistake("outcome and mean differ in length".to_owned()));
    }
    let difference = g.sub(aligned.nodes[0], aligned.nodes[1]);
    Ok((difference, aligned.shape, aligned.batched))
}

/// Differences as the columns of one matrix a lane: `[d, outcomes]`.
fn as_columns(g: &mut Graph, x: NodeId, batched: bool) -> (Argument, usize) {
    let extents = g.shape(x).extents()[usize::from(batched)..].to_vec();
    let (&d, outer) = extents.split_last().expect("vectors have an axis");
    let rows = reshape(g, x, batched, &[outer.iter().product(), d]);
    let node = transpose(g, rows, batched);
    (Argument { node, ty: Type::Matrix, batched }, d)
}

/// $\lVert L^{-1}(y-\mu)\rVert^2$ for each outcome, the outcomes' shape (with lanes), and d.
fn distances(
    g: &mut Graph,
    y: &Argument,
    mu: &Argument,
    factor: &Argument,
) -> Result<(NodeId, Shape, bool, usize), LibraryError> {
    let (difference, shape, batched) = centred(g, y, mu)?;
    let (columns, d) = as_columns(g, difference, batched);
    let z = left(g, Kind::Lower { transposed: false }, factor, &columns)?;
    let squares = g.square(z.node);
    let sums = g.reduce(Reduction::Sum, squares, &[usize::from(z.batched)]);
    let outcomes = shape.extents()[usize::from(batched)..].to_vec();
    let sums = reshape(g, sums, z.batched, &outcomes);
    let shape = g.shape(sums).clone();
    Ok((sums, shape, z.batched, d))
}

fn normal(
    g: &mut Graph,
    y: &Argument,
    mu: &Argument,
    factor: &Argument,
) -> Result<Output, LibraryError> {
    let (squares, shape, batched, d) = distances(g, y, mu, factor)?;
    let log_determinant = log_determinant(g, factor);
    let log_determinant = beside(g, log_determinant, factor.batched, &shape);
    let sum = g.add(squares, log_determinant);
    let half = g.scale(sum, -0.5);
    let constant = g.scalar(-0.5 * LOG_TWO_PI * d as f64);
    Ok(Output::new(g.add(half, constant), batched))
}

/// $-\tfrac12\lVert L'(y-\mu)\rVert^2 + \tfrac12\log\det LL' - \tfrac d2\log2\pi$ with $LL'$ the
/// precision.
fn normal_of_precision(
    g: &mut Graph,
    y: &Argument,
    mu: &Argument,
    precision: &Argument,
) -> Result<Output, LibraryError> {
    let factor = matrix(cholesky(g, precision)?);
    let (difference, shape, batched) = centred(g, y, mu)?;
    let (columns, d) = as_columns(g, difference, batched);
    let turned = turned(g, &factor);
    let z = super::products::multiply(g, &turned, &columns)?;
    let squares = g.square(z.node);
    let sums = g.reduce(Reduction::Sum, squares, &[usize::from(z.batched)]);
    let outcomes = shape.extents()[usize::from(batched)..].to_vec();
    let sums = reshape(g, sums, z.batched, &outcomes);
    let shape = g.shape(sums).clone();
    let log_determinant = log_determinant(g, &factor);
    let log_determinant = beside(g, log_determinant, factor.batched, &shape);
    let sum = g.sub(log_determinant, sums);
    let half = g.scale(sum, 0.5);
    let constant = g.scalar(-0.5 * LOG_TWO_PI * d as f64);
    Ok(Output::new(g.add(half, constant), z.batched))
}

/// $\log\Gamma(\tfrac{\nu+d}2) - \log\Gamma(\tfrac\nu2) - \tfrac d2\log\nu\pi - \tfrac12\log\det
/// LL' - \tfrac{\nu+d}2\log(1+q/\nu)$ with $q = \lVert L^{-1}(y-\mu)\rVert^2$.
fn student(
    g: &mut Graph,
    [y, nu, mu]: [&Argument; 3],
    factor: &Argument,
) -> Result<Output, LibraryError> {
    let (squares, shape, batched, d) = distances(g, y, mu, factor)?;
    // With lanes in the degrees of freedom only, everything gets them.
    let (squares, shape, batched) = match nu.lanes(g) {
        Some(lanes) if !batched => {
            let shape = Shape::from([lanes]).join(shape.extents());
            (g.broadcast_to(squares, &shape), shape, true)
        }
        _ => (squares, shape, batched),
    };
    let degrees = beside(g, nu.node, nu.batched, &shape);
    let ratio = g.div(squares, degrees);
    let growth = g.log1p(ratio);
    let total = g.shift(degrees, d as f64);
    let half = g.scale(total, 0.5);
    let cost = g.mul(half, growth);
    let half_degrees = g.scale(degrees, 0.5);
    let (upper, lower) = (g.lgamma(half), g.lgamma(half_degrees));
    let of_gamma = g.sub(upper, lower);
    let log_degrees = g.log(degrees);
    let scaled = g.scale(log_degrees, 0.5 * d as f64);
    let lead = g.sub(of_gamma, scaled);
    let log_determinant = log_determinant(g, factor);
    let log_determinant = beside(g, log_determinant, factor.batched, &shape);
    let half_log = g.scale(log_determinant, 0.5);
    let lead = g.sub(lead, half_log);
    let lead = g.shift(lead, -0.5 * LOG_PI * d as f64);
    Ok(Output::new(g.sub(lead, cost), batched))
}

/// Rows of y `[K, N]`, each normal with mean zero and covariance $LL'/w_k$.
fn process(
    g: &mut Graph,
    y: &Argument,
    factor: &Argument,
    w: &Argument,
) -> Result<Output, LibraryError> {
    let size = y.extents(g).to_vec();
    let (&[k, n], &[weights]) = (size.as_slice(), w.extents(g)) else {
        return Err(LibraryError::Unsupported("`multi_gp` with these arguments".to_owned()));
    };
    if weights != k {
        return Err(LibraryError::Mistake("`multi_gp` needs one weight a row".to_owned()));
    }
    let columns = turned(g, y);
    let z = left(g, Kind::Lower { transposed: false }, factor, &columns)?;
    let squares = g.square(z.node);
    let sums = g.reduce(Reduction::Sum, squares, &[usize::from(z.batched)]);
    let weighted = g.mul(sums, w.node);
    let batched = z.batched || w.batched;
    let quadratic = Output::new(weighted, batched).total(g).node;
    let logs = g.log(w.node);
    let logs = Output::new(logs, w.batched).total(g).node;
    let of_weights = g.scale(logs, n as f64);
    let log_determinant = log_determinant(g, factor);
    let of_factor = g.scale(log_determinant, k as f64);
    let sum = g.sub(of_weights, of_factor);
    let sum = g.sub(sum, quadratic);
    let half = g.scale(sum, 0.5);
    let constant = g.scalar(-0.5 * LOG_TWO_PI * (k * n) as f64);
    Ok(Output::new(g.add(half, constant), batched))
}

/// $\lVert A^{-1}B\rVert_F^2$ for lower factors A and B: the trace of $(AA')^{-1}BB'$.
fn trace_of_ratio(g: &mut Graph, a: &Argument, b: &Argument) -> Result<NodeId, LibraryError> {
    let b = lower_triangle(g, b);
    let ratio = left(g, Kind::Lower { transposed: false }, a, &b)?;
    let squares = g.square(ratio.node);
    Ok(Output::new(squares, ratio.batched).total(g).node)
}

/// $\log\det A$ of a symmetric matrix of a density that is there already.
pub(super) fn log_determinant_of(g: &mut Graph, a: &Argument) -> NodeId {
    let factor = cholesky(g, a).expect("the density has factored it");
    log_determinant(g, &matrix(factor))
}

/// $\mathrm{tr}(A^{-1}B)$ of symmetric matrices of a density that is there already.
pub(super) fn trace_of(g: &mut Graph, matrices: [&Argument; 2]) -> NodeId {
    let [a, b] = matrices.map(|m| matrix(cholesky(g, m).expect("the density has factored it")));
    trace_of_ratio(g, &a, &b).expect("the density has divided them")
}

/// $-\log\Gamma_p(\tfrac\nu2)$
pub(super) fn minus_lgamma_of_half(g: &mut Graph, p: usize, nu: NodeId) -> NodeId {
    let half = g.scale(nu, 0.5);
    let gamma = multivariate_lgamma(g, p, half);
    g.neg(gamma)
}

/// $\tfrac{\nu-p-1}2\log\det W - \tfrac12\mathrm{tr}(S^{-1}W) - \tfrac{\nu p}2\log2 -
/// \tfrac\nu2\log\det S - \log\Gamma_p(\tfrac\nu2)$, from the factors of W and S.
fn wishart(
    g: &mut Graph,
    w: &Argument,
    nu: &Argument,
    s: &Argument,
) -> Result<Output, LibraryError> {
    let p = w.extents(g)[0];
    let trace = trace_of_ratio(g, s, w)?;
    let (log_w, log_s) = (log_determinant(g, w), log_determinant(g, s));
    let less = g.shift(nu.node, -(p as f64) - 1.0);
    let gained = g.mul(less, log_w);
    let scale = g.shift(log_s, LN_2 * p as f64);
    let lost = g.mul(nu.node, scale);
    let sum = g.sub(gained, trace);
    let sum = g.sub(sum, lost);
    let half = g.scale(sum, 0.5);
    let half_nu = g.scale(nu.node, 0.5);
    let gamma = multivariate_lgamma(g, p, half_nu);
    let batched = w.batched || nu.batched || s.batched;
    Ok(Output::new(g.sub(half, gamma), batched))
}

/// $\tfrac\nu2\log\det S - \tfrac{\nu p}2\log2 - \log\Gamma_p(\tfrac\nu2) -
/// \tfrac{\nu+p+1}2\log\det W - \tfrac12\mathrm{tr}(SW^{-1})$, from the factors of W and S.
fn inverse_wishart(
    g: &mut Graph,
    w: &Argument,
    nu: &Argument,
    s: &Argument,
) -> Result<Output, LibraryError> {
    let p = w.extents(g)[0];
    let trace = trace_of_ratio(g, w, s)?;
    let (log_w, log_s) = (log_determinant(g, w), log_determinant(g, s));
    let more = g.shift(nu.node, p as f64 + 1.0);
    let lost = g.mul(more, log_w);
    let scale = g.shift(log_s, -LN_2 * p as f64);
    let gained = g.mul(nu.node, scale);
    let sum = g.sub(gained, lost);
    let sum = g.sub(sum, trace);
    let half = g.scale(sum, 0.5);
    let half_nu = g.scale(nu.node, 0.5);
    let gamma = multivariate_lgamma(g, p, half_nu);
    let batched = w.batched || nu.batched || s.batched;
    Ok(Output::new(g.sub(half, gamma), batched))
}

/// From the density of a matrix to that of its factor: $p\log2 + \sum_k(p-k+1)\log L_{kk}$ more.
fn factor_slope(g: &mut Graph, log: Output, factor: &Argument) -> Output {
    let p = factor.extents(g)[0];
    let diagonal = diagonal(g, factor.node, factor.batched);
    let logs = g.log(diagonal);
    let powers: Vec<f64> = (0..p).map(|k| (p - k) as f64).collect();
    let powers = g.constant(Tensor::vector(&powers));
    let terms = g.mul(powers, logs);
    let slope = Output::new(terms, factor.batched).total(g).node;
    let slope = g.shift(slope, LN_2 * p as f64);
    Output { node: g.add(log.node, slope), ..log }
}

/// $\log c_K(\eta)$ of the LKJ distribution: $(K-1)\log\Gamma(\eta+\tfrac{K-1}2) -
/// \sum_{k=1}^{K-1}(\tfrac k2\log\pi + \log\Gamma(\eta+\tfrac{K-1-k}2))$.
pub(super) fn lkj_constant(g: &mut Graph, eta: NodeId, size: usize) -> NodeId {
    let last = size - 1;
    let top = g.shift(eta, 0.5 * last as f64);
    let top = g.lgamma(top);
    let mut sum = g.scale(top, last as f64);
    for k in 1..=last {
        let shifted = g.shift(eta, 0.5 * (last - k) as f64);
        let term = g.lgamma(shifted);
        sum = g.sub(sum, term);
    }
    g.shift(sum, -0.25 * LOG_PI * (last * size) as f64)
}

/// $\log c_K(\eta) + \sum_{k=2}^K(K-k+2\eta-2)\log L_{kk}$
fn lkj_factor(g: &mut Graph, y: &Argument, eta: &Argument) -> Output {
    let size = y.extents(g)[0];
    let batched = y.batched || eta.batched;
    let diagonal = diagonal(g, y.node, y.batched);
    let logs = g.log(diagonal);
    // The first element is one: its logarithm counts for nothing.
    let logs = g.slice(logs, usize::from(y.batched), 1, size);
    let powers: Vec<f64> = (1..size).map(|k| (size - 1 - k) as f64 - 2.0).collect();
    let powers = g.constant(Tensor::vector(&powers));
    let twice = g.scale(eta.node, 2.0);
    let twice = if eta.batched { reshape(g, twice, true, &[1]) } else { twice };
    let powers = g.add(twice, powers);
    let terms = g.mul(powers, logs);
    let kernel = Output::new(terms, batched).total(g).node;
    let constant = lkj_constant(g, eta.node, size);
    Output::new(g.add(kernel, constant), batched)
}

/// $-\tfrac{nm}2\log2\pi + \tfrac m2\log\det R + \tfrac n2\log\det C -
/// \tfrac12\mathrm{tr}(C(y-\mu)'R(y-\mu))$ for precisions R of rows and C of columns.
fn matrix_normal(
    g: &mut Graph,
    y: &Argument,
    mu: &Argument,
    rows: &Argument,
    columns: &Argument,
) -> Result<Output, LibraryError> {
    let (n, m) = (y.extents(g)[0], y.extents(g)[1]);
    let difference = super::function(g, "subtract", &[y.clone(), mu.clone()])?;
    let (r, c) = (matrix(cholesky(g, rows)?), matrix(cholesky(g, columns)?));
    let r_turned = turned(g, &r);
    let half = super::products::multiply(g, &r_turned, &matrix(difference))?;
    let standardised = super::products::multiply(g, &matrix(half), &c)?;
    let squares = g.square(standardised.node);
    let trace = Output::new(squares, standardised.batched).total(g);
    let (log_r, log_c) = (log_determinant(g, &r), log_determinant(g, &c));
    let (of_rows, of_columns) = (g.scale(log_r, m as f64), g.scale(log_c, n as f64));
    let sum = g.add(of_rows, of_columns);
    let sum = g.sub(sum, trace.node);
    let half = g.scale(sum, 0.5);
    let constant = g.scalar(-0.5 * LOG_TWO_PI * (n * m) as f64);
    Ok(Output::new(g.add(half, constant), trace.batched))
}

/// Standard deviations that are lognormal, and correlations of `lkj_corr`, as Stan has it without a
/// Jacobian between them and the covariance.
fn lkj_covariance(
    g: &mut Graph,
    y: &Argument,
    mu: &Argument,
    sigma: &Argument,
    eta: &Argument,
) -> Result<Output, LibraryError> {
    let n = y.extents(g).first().copied().unwrap_or(0);
    if mu.extents(g) != [n] || sigma.extents(g) != [n] || y.extents(g) != [n, n] {
        return Err(LibraryError::Mistake(
            "`lkj_cov` needs a location and a scale for each row".into(),
        ));
    }
    let [_, logs, log_correlation] = lkj_parts(g, y, [mu, sigma, eta])?;
    Ok(Output::new(g.add(logs, log_correlation), false))
}

/// The standard deviations of a covariance, their log density, and that of the correlations.
pub(super) fn lkj_parts(
    g: &mut Graph,
    y: &Argument,
    [mu, sigma, eta]: [&Argument; 3],
) -> Result<[NodeId; 3], LibraryError> {
    let variances = diagonal(g, y.node, false);
    let n = g.shape(variances).len();
    let deviations = g.sqrt(variances);
    let lognormal =
        exmc_model::distribution::find_family("lognormal").expect("exmc-model has the family");
    let logs = lognormal.lpdf(g, deviations, &[mu.node, sigma.node]);
    let logs = g.sum(logs);
    let (rows, columns) = (g.reshape(deviations, [n, 1]), g.reshape(deviations, [1, n]));
    let scaled = g.div(y.node, rows);
    let correlations = g.div(scaled, columns);
    let correlations = Argument { node: correlations, ..y.clone() };
    let correlation_density =
        density(g, "lkj_corr", &[correlations, eta.clone()]).expect("it is one of these")?;
    Ok([deviations, logs, correlation_density.node])
}
