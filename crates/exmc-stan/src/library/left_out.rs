//! Densities of which Stan leaves out other terms under `~` than those that no parameter changes:
//! the terms of its own formula -> the sum of those that it leaves out.
//!
//! Stan writes a density as a sum and says of some terms by which arguments they go: such a term is
//! left out if none of these is a parameter. The others stay whatever the arguments are, constants
//! included. Most formulas here have the same terms, so that leaving out what no parameter changes
//! comes to the same; for the rest, this is the list. **Reference**: Stan Math, `include_summand`
//! in `stan/math/prim/prob`, version 4.9; `tests/lower/propto.py` asks it.

use std::f64::consts::LN_2;

use exmc_graph::{Dependence, Graph, NodeId};

use super::Argument;
use super::matrices;
use crate::scalar_functions::exponentials::log1m;

/// $\log 2\pi$
const LOG_TWO_PI: f64 = 1.837_877_066_409_345_5;
/// $\log\sqrt\pi$
const LOG_ROOT_PI: f64 = 0.572_364_942_924_700_1;

/// The sum of what is left out.
struct LeftOut<'g> {
    g: &'g mut Graph,
    /// Of the outcome, then of each parameter of the distribution.
    are_parameters: Vec<bool>,
    total: Option<NodeId>,
}

impl LeftOut<'_> {
    /// A term that goes by some arguments; by none, if it is always left out.
    fn term(&mut self, arguments: &[usize], term: impl FnOnce(&mut Graph) -> NodeId) {
        if arguments.iter().any(|k| self.are_parameters[*k]) {
            return;
        }
        let term = term(self.g);
        self.total = Some(match self.total {
            None => term,
            Some(sum) => self.g.add(sum, term),
        });
    }

    fn constant(&mut self, value: f64) {
        self.term(&[], |g| g.scalar(value));
    }
}

/// The sum of the terms that Stan leaves out of a density of that name, of nodes that broadcast:
/// `args` are the outcome and the parameters. `None` where it leaves out what no parameter changes.
pub(super) fn left_out(g: &mut Graph, name: &str, args: &[NodeId]) -> Option<NodeId> {
    let are_parameters = args.iter().map(|a| g.dependence(*a) == Dependence::Parameter).collect();
    let mut out = LeftOut { g, are_parameters, total: None };
    match (name, args) {
        ("lognormal", &[y, _, sigma]) => {
            out.term(&[0], |g| minus_log(g, y));
            out.term(&[2], |g| minus_log(g, sigma));
        }
        ("exp_mod_normal", &[_, _, _, lambda]) => {
            out.constant(-LN_2);
            out.term(&[3], |g| g.log(lambda));
        }
        ("skew_normal", &[y, mu, sigma, _]) => {
            out.constant(-0.5 * LOG_TWO_PI);
            out.term(&[2], |g| minus_log(g, sigma));
            out.term(&[0, 1, 2], |g| {
                let centred = g.sub(y, mu);
                let z = g.div(centred, sigma);
                let square = g.square(z);
                g.scale(square, -0.5)
            });
        }
        ("student_t", &[_, nu, _, sigma]) => {
            out.constant(-LOG_ROOT_PI);
            out.term(&[1], |g| student_constant(g, nu));
            out.term(&[3], |g| minus_log(g, sigma));
        }
        ("von_mises", &[_, _, kappa]) => {
            out.constant(-LOG_TWO_PI);
            out.term(&[2], |g| {
                let log = g.log_bessel_i0(kappa);
                g.neg(log)
            });
        }
        ("scaled_inv_chi_square", &[y, nu, sigma]) => {
            out.term(&[1], |g| {
                let half = g.scale(nu, 0.5);
                let (log, gamma) = (g.log(half), g.lgamma(half));
                let power = g.mul(half, log);
                g.sub(power, gamma)
            });
            out.term(&[1, 2], |g| times_log(g, nu, sigma));
            out.term(&[0, 1], |g| {
                let power = g.scale(nu, -0.5);
                let power = g.shift(power, -1.0);
                times_log(g, power, y)
            });
        }
        ("weibull", &[y, alpha, sigma]) => {
            out.term(&[1], |g| g.log(alpha));
            out.term(&[0, 1], |g| {
                let power = g.shift(alpha, -1.0);
                times_log(g, power, y)
            });
            out.term(&[1, 2], |g| {
                let gained = times_log(g, alpha, sigma);
                g.neg(gained)
            });
        }
        ("rayleigh", &[y, sigma]) => {
            out.term(&[1], |g| {
                let log = g.log(sigma);
                g.scale(log, -2.0)
            });
            out.term(&[0], |g| g.log(y));
        }
        ("frechet" | "pareto", &[y, ..]) => {
            let (shape, scale) = if name == "frechet" { (1, 2) } else { (2, 1) };
            let alpha = args[shape];
            out.term(&[shape], |g| g.log(alpha));
            out.term(&[0, shape], |g| {
                let minus = g.neg(alpha);
                let power = g.shift(minus, -1.0);
                times_log(g, power, y)
            });
            out.term(&[shape, scale], |g| times_log(g, alpha, args[scale]));
        }
        ("loglogistic", &[_, alpha, beta]) => out.term(&[1, 2], |g| {
            let (log_beta, gained) = (g.log(beta), times_log(g, beta, alpha));
            g.sub(log_beta, gained)
        }),
        ("beta", &[y, alpha, beta]) => {
            out.term(&[1], |g| minus_lgamma(g, alpha));
            out.term(&[2], |g| minus_lgamma(g, beta));
            out.term(&[0, 1], |g| {
                let power = g.shift(alpha, -1.0);
                times_log(g, power, y)
            });
            out.term(&[0, 2], |g| {
                let (power, log) = (g.shift(beta, -1.0), log1m(g, y));
                g.mul(power, log)
            });
            out.term(&[1, 2], |g| {
                let sum = g.add(alpha, beta);
                g.lgamma(sum)
            });
        }
        ("beta_proportion", &[_, mu, kappa]) => {
            out.term(&[2], |g| g.lgamma(kappa));
            out.term(&[1, 2], |g| {
                let first = g.mul(mu, kappa);
                let second = g.sub(kappa, first);
                let (first, second) = (minus_lgamma(g, first), minus_lgamma(g, second));
                g.add(first, second)
            });
        }
        ("neg_binomial", &[y, alpha, _]) => out.term(&[1], |g| log_ways(g, y, alpha)),
        ("neg_binomial_2", &[y, mu, phi]) => {
            out.term(&[2], |g| log_ways(g, y, phi));
            out.term(&[1], |g| times_log(g, y, mu));
        }
        ("neg_binomial_2_log", &[y, eta, phi]) => {
            out.term(&[2], |g| log_ways(g, y, phi));
            out.term(&[1], |g| g.mul(y, eta));
        }
        ("neg_binomial_2_log_glm", &[y, eta, phi]) => {
            out.term(&[], |g| {
                let next = g.shift(y, 1.0);
                minus_lgamma(g, next)
            });
            out.term(&[2], |g| {
                let (power, gamma) = (times_log(g, phi, phi), g.lgamma(phi));
                let trials = g.add(y, phi);
                let trials = g.lgamma(trials);
                let ratio = g.sub(trials, gamma);
                g.add(ratio, power)
            });
            out.term(&[1], |g| g.mul(y, eta));
        }
        // log(n) less the sum of log(y) over cells that are not empty.
        ("dirichlet_multinomial", &[y, _]) => out.term(&[], |g| {
            let trials = g.sum_last(y);
            let (trials, cells) = (log_or_zero(g, trials), log_or_zero(g, y));
            let cells = g.sum_last(cells);
            g.sub(trials, cells)
        }),
        ("ordered_logistic" | "ordered_logistic_glm", _) => {}
        _ => return None,
    }
    Some(out.total.unwrap_or_else(|| g.scalar(0.0)))
}

/// The same for densities with matrices.
pub(super) fn left_out_of_matrices(g: &mut Graph, name: &str, args: &[Argument]) -> Option<NodeId> {
    let is_parameter = |a: &Argument| g.dependence(a.node) == Dependence::Parameter;
    let are_parameters = args.iter().map(is_parameter).collect();
    let mut out = LeftOut { g, are_parameters, total: None };
    match (name, args) {
        ("lkj_corr", [y, eta]) => {
            let size = y.extents(out.g)[0];
            out.term(&[1], |g| matrices::lkj_constant(g, eta.node, size));
        }
        // Two densities, of which either is left out as a whole if it has no parameter.
        ("lkj_cov", [y, mu, sigma, eta]) => {
            let size = y.extents(out.g)[0];
            let parts = matrices::lkj_parts(out.g, y, [mu, sigma, eta]);
            let [deviations, logs, log_correlation] = parts.expect("the density has them");
            if out.are_parameters[..3].contains(&true) {
                for (k, scales) in [(0, deviations), (2, sigma.node)] {
                    out.term(&[k], |g| {
                        let logs = minus_log(g, scales);
                        g.sum(logs)
                    });
                }
            } else {
                out.term(&[], |_| logs);
            }
            let shape = if out.are_parameters[0] { &[3][..] } else { &[0, 3] };
            out.term(shape, |g| {
                if g.dependence(y.node) == Dependence::Parameter {
                    matrices::lkj_constant(g, eta.node, size)
                } else {
                    log_correlation
                }
            });
        }
        ("wishart" | "inv_wishart", [w, nu, s]) => {
            let size = w.extents(out.g)[0];
            let p = size as f64;
            let is_inverse = name == "inv_wishart";
            out.term(&[1], |g| matrices::minus_lgamma_of_half(g, size, nu.node));
            out.term(if is_inverse { &[1, 2] } else { &[1] }, |g| {
                g.scale(nu.node, -0.5 * LN_2 * p)
            });
            let sign = if is_inverse { 0.5 } else { -0.5 };
            out.term(&[1, 2], |g| {
                let log = matrices::log_determinant_of(g, s);
                let power = g.scale(nu.node, sign);
                g.mul(power, log)
            });
            out.term(&[0, 2], |g| {
                let trace = matrices::trace_of(g, if is_inverse { [w, s] } else { [s, w] });
                g.scale(trace, -0.5)
            });
            if !is_inverse {
                out.term(&[0, 1], |g| {
                    let log = matrices::log_determinant_of(g, w);
                    let power = g.shift(nu.node, -p - 1.0);
                    let power = g.scale(power, 0.5);
                    g.mul(power, log)
                });
            }
        }
        ("wishart_cholesky" | "inv_wishart_cholesky", [w, nu, _]) => {
            let size = w.extents(out.g)[0];
            out.term(&[1], |g| {
                let power = g.scale(nu.node, -0.5);
                let power = g.shift(power, 1.0);
                let power = g.scale(power, LN_2 * size as f64);
                let gamma = matrices::minus_lgamma_of_half(g, size, nu.node);
                g.add(power, gamma)
            });
        }
        _ => return None,
    }
    Some(out.total.unwrap_or_else(|| g.scalar(0.0)))
}

fn minus_log(g: &mut Graph, x: NodeId) -> NodeId {
    let log = g.log(x);
    g.neg(log)
}

fn minus_lgamma(g: &mut Graph, x: NodeId) -> NodeId {
    let gamma = g.lgamma(x);
    g.neg(gamma)
}

fn times_log(g: &mut Graph, factor: NodeId, x: NodeId) -> NodeId {
    let log = g.log(x);
    g.mul(factor, log)
}

/// $\log x$, and 0 for 0.
fn log_or_zero(g: &mut Graph, x: NodeId) -> NodeId {
    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    let is_zero = g.eq(x, zero);
    let safe = g.select(is_zero, one, x);
    g.log(safe)
}

/// $\log\Gamma(\tfrac{\nu+1}2) - \log\Gamma(\tfrac\nu2) - \tfrac12\log\nu$
fn student_constant(g: &mut Graph, nu: NodeId) -> NodeId {
    let half = g.scale(nu, 0.5);
    let more = g.shift(half, 0.5);
    let (above, below) = (g.lgamma(more), g.lgamma(half));
    let ratio = g.sub(above, below);
    let log = g.log(nu);
    let log = g.scale(log, 0.5);
    g.sub(ratio, log)
}

/// $\log\binom{y+r-1}y$
fn log_ways(g: &mut Graph, y: NodeId, r: NodeId) -> NodeId {
    let (next, trials) = (g.shift(y, 1.0), g.add(y, r));
    let (log_beta, log_trials) = (g.lbeta(next, r), g.log(trials));
    let sum = g.add(log_beta, log_trials);
    g.neg(sum)
}
