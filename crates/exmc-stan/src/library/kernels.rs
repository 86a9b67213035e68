//! Covariance functions of Gaussian processes: positions and hyperparameters -> covariance
//! matrices.
//!
//! **Reference**: Stan functions reference, "Gaussian process covariance functions".

use exmc_graph::{Graph, NodeId, Shape};

use super::align::reshape;
use super::elementwise::wrong;
use super::{Answer, Argument, LibraryError, Output};

/// The call, if the name is that of a covariance function.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    let hyperparameters = match name {
        "gp_dot_prod_cov" => 1,
        "gp_exp_quad_cov" | "cov_exp_quad" | "gp_exponential_cov" | "gp_matern32_cov"
        | "gp_matern52_cov" => 2,
        "gp_periodic_cov" => 3,
        _ => return None,
    };
    Some(match args.len().checked_sub(hyperparameters) {
        Some(1) => covariance(g, name, &args[0], &args[0], &args[1..]),
        Some(2) => covariance(g, name, &args[0], &args[1], &args[2..]),
        _ => Err(wrong(name)),
    })
}

fn covariance(
    g: &mut Graph,
    name: &str,
    x: &Argument,
    y: &Argument,
    hyperparameters: &[Argument],
) -> Result<Output, LibraryError> {
    let batched = x.batched || y.batched || hyperparameters.iter().any(|h| h.batched);
    // Every hyperparameter of a number meets the matrix as one cell.
    let cells: Vec<NodeId> =
        hyperparameters.iter().map(|h| cell(g, h)).collect::<Result<_, _>>()?;
    let sigma = g.square(cells[0]);
    if name == "gp_dot_prod_cov" {
        let products = pairs(g, x, y, None, Graph::mul)?;
        return Ok(Output::new(g.add(sigma, products), batched));
    }
    let length = &hyperparameters[1];
    let separate = !length.extents(g).is_empty();
    let scale = separate.then_some(length);
    let squares = pairs(g, x, y, scale, |g, a, b| {
        let difference = g.sub(a, b);
        g.square(difference)
    })?;
    let relative = |g: &mut Graph, squares: NodeId| {
        if separate {
            squares
        } else {
            let square = g.square(cells[1]);
            g.div(squares, square)
        }
    };
    let node = match name {
        "gp_exp_quad_cov" | "cov_exp_quad" => {
            let squares = relative(g, squares);
            let exponent = g.scale(squares, -0.5);
            let correlation = g.exp(exponent);
            g.mul(sigma, correlation)
        }
        "gp_periodic_cov" => {
            let distance = root(g, squares);
            let turns = g.div(distance, cells[2]);
            let angle = g.scale(turns, std::f64::consts::PI);
            let sine = g.sin(angle);
            let ratio = g.div(sine, cells[1]);
            let square = g.square(ratio);
            let exponent = g.scale(square, -2.0);
            let correlation = g.exp(exponent);
            g.mul(sigma, correlation)
        }
        _ => {
            let squares = relative(g, squares);
            let distance = root(g, squares);
            let (rate, of_square) = match name {
                "gp_exponential_cov" => (1.0, 0.0),
                "gp_matern32_cov" => (3_f64.sqrt(), 0.0),
                _ => (5_f64.sqrt(), 5.0 / 3.0),
            };
            let scaled = g.scale(distance, rate);
            let opposite = g.neg(scaled);
            let decay = g.exp(opposite);
            let mut correlation = decay;
            if name != "gp_exponential_cov" {
                let second = g.scale(squares, of_square);
                let lead = g.shift(scaled, 1.0);
                let polynomial = if of_square == 0.0 { lead } else { g.add(lead, second) };
                correlation = g.mul(polynomial, decay);
            }
            g.mul(sigma, correlation)
        }
    };
    Ok(Output::new(node, batched))
}

/// A number a lane as a matrix of one cell a lane; a vector stays as it is.
fn cell(g: &mut Graph, h: &Argument) -> Result<NodeId, LibraryError> {
    Ok(match (h.extents(g).len(), h.batched) {
        (0, true) => reshape(g, h.node, true, &[1, 1]),
        (0, false) | (1, _) => h.node,
        _ => return Err(wrong("a covariance function")),
    })
}

/// A function of every pair of positions, summed over their coordinates, each divided by its scale
/// if there are scales: `[n, m]`.
fn pairs(
    g: &mut Graph,
    x: &Argument,
    y: &Argument,
    scale: Option<&Argument>,
    f: impl Fn(&mut Graph, NodeId, NodeId) -> NodeId,
) -> Result<NodeId, LibraryError> {
    let (rows, columns) = (x.extents(g).to_vec(), y.extents(g).to_vec());
    let ([n, coordinates @ ..], [m, others @ ..]) = (rows.as_slice(), columns.as_slice()) else {
        return Err(wrong("a covariance function"));
    };
    if coordinates != others {
        let (a, b) = (Shape::from(coordinates), Shape::from(others));
        return Err(LibraryError::Mistake(format!("positions of sizes {a} and {b}")));
    }
    let side = |g: &mut Graph, x: &Argument, outer: [usize; 2]| {
        let mut node = reshape(g, x.node, x.batched, &[&outer, coordinates].concat());
        if let Some(scale) = scale {
            let len = scale.extents(g)[0];
            let scale =
                if scale.batched { reshape(g, scale.node, true, &[1, 1, len]) } else { scale.node };
            node = g.div(node, scale);
        }
        node
    };
    if let Some(scale) = scale
        && scale.extents(g) != coordinates
    {
        let message = "one length scale is needed for each coordinate".to_owned();
        return Err(LibraryError::Mistake(message));
    }
    let (a, b) = (side(g, x, [*n, 1]), side(g, y, [1, *m]));
    let table = f(g, a, b);
    Ok(if coordinates.is_empty() { table } else { g.sum_last(table) })
}

/// The square root, with derivative zero where it is zero (a point and itself).
fn root(g: &mut Graph, x: NodeId) -> NodeId {
    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    let at_zero = g.eq(x, zero);
    let safe = g.select(at_zero, one, x);
    let root = g.sqrt(safe);
    g.select(at_zero, zero, root)
}
