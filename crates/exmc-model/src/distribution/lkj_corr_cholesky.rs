//! LKJ distribution of correlation matrices, on their lower Cholesky factors.

use exmc_graph::{Graph, NodeId, Shape, Tensor};
use exmc_math::random::{ChainRng, draws};
use exmc_math::{inv_logit, lgamma};

use super::{Distribution, Parameter};
use crate::support::Support;

/// LkjCorrCholesky(eta); the size of the matrix is declared with the outcome.
#[derive(Debug)]
pub(crate) struct LkjCorrCholesky;

impl Distribution for LkjCorrCholesky {
    fn name(&self) -> &'static str {
        "lkj_corr_cholesky"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["lkj_cholesky"]
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] =
            &[Parameter::new("eta", Support::Positive).or(&["concentration", "shape"])];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::CorrelationCholesky
    }

    fn event_rank(&self) -> usize {
        2
    }

    fn outcome_shape(&self, args: &[&Shape], declared: Option<&Shape>) -> Result<Shape, String> {
        if !args[0].is_scalar() {
            return Err(format!("its parameter eta must be a number, found shape {}", args[0]));
        }
        match declared.map(Shape::extents) {
            Some([n, m]) if n == m && *n > 0 => Ok(Shape::from([*n, *n])),
            Some(_) => Err(format!(
                "a Cholesky factor is one square matrix, but its declared shape is {}",
                declared.expect("matched as declared")
            )),
            None => {
                Err("the size of the matrix is not known: declare a shape such as [3, 3]".into())
            }
        }
    }

    /// $\log c_K(\eta) + \sum_{k=2}^{K}(K-k+2\eta-2)\log L_{kk}$, with respect to the elements
    /// below the diagonal.
    ///
    /// $\log c_K = (K-1)\log\Gamma(\eta+\tfrac{K-1}2) - \sum_{k=1}^{K-1}\left(\tfrac k2\log\pi +
    /// \log\Gamma(\eta+\tfrac{K-1-k}2)\right)$.
    ///
    /// **Shapes**: y `[K, K]`, eta and the result are numbers. **Reference**: Lewandowski,
    /// Kurowicka and Joe 2009, section 3; Stan functions reference, `lkj_corr_cholesky`.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let eta = args[0];
        let size = g.shape(y).extents()[0];
        let rows = size - 1;
        if rows == 0 {
            return g.scalar(0.0);
        }
        // Rows k = 2 .. K, which have K - k rows below them.
        let below: Vec<f64> = (0..rows).map(|row| (rows - 1 - row) as f64).collect();
        let diagonal = g.diagonal(y);
        let diagonal = g.slice(diagonal, 0, 1, size);
        let logs = g.log(diagonal);
        let offsets: Vec<f64> = below.iter().map(|count| count - 2.0).collect();
        let offsets = g.constant(Tensor::vector(&offsets));
        let twice = g.scale(eta, 2.0);
        let powers = g.add(twice, offsets);
        let terms = g.mul(powers, logs);
        let kernel = g.sum(terms);

        // log G(x + d) - log G(x) = log G(d) - log B(x, d), which does not cancel for large eta.
        let start: Vec<f64> = below.iter().map(|count| 0.5 * count).collect();
        let distance: Vec<f64> = (1..=rows).map(|row| 0.5 * row as f64).collect();
        let of_distance: f64 = distance.iter().map(|d| lgamma(*d)).sum();
        let start = g.constant(Tensor::vector(&start));
        let start = g.add(eta, start);
        let distance = g.constant(Tensor::vector(&distance));
        let log_beta = g.lbeta(start, distance);
        let log_beta = g.sum(log_beta);
        let known = of_distance - 0.5 * LOG_PI * (rows * size / 2) as f64;
        let known = g.scalar(known);
        let constant = g.sub(known, log_beta);
        g.add(kernel, constant)
    }

    /// Row by row, independently: in row k, $L_{kk}^2$ is Beta$(\eta + \tfrac{K-k}2, \tfrac{k-1}2)$
    /// and the rest is a uniform direction of length $\sqrt{1-L_{kk}^2}$, which is what the density
    /// says (the onion method without its products).
    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        let eta = args[0][0];
        let mut size = 0;
        while size * size < out.len() {
            size += 1;
        }
        out.fill(0.0);
        out[0] = 1.0;
        for k in 1..size {
            let row = &mut out[k * size..k * size + k + 1];
            // Two gammas, so that the square and what it lacks to one are both accurate.
            let on = draws::log_gamma(rng, eta + 0.5 * (size - 1 - k) as f64);
            let off = draws::log_gamma(rng, 0.5 * k as f64);
            let (square, rest) = (inv_logit(on - off), inv_logit(off - on));
            let mut length = 0.0;
            for value in &mut row[..k] {
                *value = rng.standard_normal();
                length += *value * *value;
            }
            let factor = (rest / length).sqrt();
            row[..k].iter_mut().for_each(|value| *value *= factor);
            row[k] = square.sqrt();
        }
    }
}

const LOG_PI: f64 = 1.144_729_885_849_400_2;
