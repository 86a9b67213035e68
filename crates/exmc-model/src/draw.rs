//! Random draws: a distribution with the values of its arguments -> outcomes of the declared shape,
//! in the caller's memory.

use exmc_graph::{Graph, NodeId, Shape, Tensor, evaluate};
use exmc_math::random::ChainRng;

use crate::dist::{Custom, Dist};

/// The value of an argument.
#[derive(Clone, Copy, Debug)]
pub struct Argument<'a> {
    /// Its extents.
    pub shape: &'a Shape,
    /// Its elements, row by row.
    pub values: &'a [f64],
}

impl<'a> From<&'a Tensor> for Argument<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self { shape: tensor.shape(), values: tensor.values() }
    }
}

impl Argument<'_> {
    fn tensor(self) -> Tensor {
        Tensor::real(self.shape.clone(), self.values).expect("one number an element")
    }
}

/// Values of argument nodes.
type ArgumentValues<'a> = &'a dyn Fn(NodeId) -> Argument<'a>;

/// Draws one value of shape `shape` into `out`, row by row; `value_of` gives the value of each
/// argument node.
///
/// # Errors
/// When the distribution cannot be drawn from (a custom one without a quantile function), or an
/// argument lies outside of where it must.
pub fn draw(
    dist: &Dist,
    rng: &mut ChainRng,
    value_of: ArgumentValues<'_>,
    shape: &Shape,
    out: &mut [f64],
) -> Result<(), String> {
    let rank = shape.rank() - dist.event_rank();
    let (batch, event) = shape.extents().split_at(rank);
    let (batch, event_len) = (Shape::from(batch), event.iter().product::<usize>());
    if event_len > 0 {
        for (k, outcome) in out.chunks_exact_mut(event_len).enumerate() {
            draw_event(dist, rng, value_of, &Place { batch: &batch, index: k }, outcome)?;
        }
    }
    Ok(())
}

/// Which outcome of a batch is being drawn.
struct Place<'a> {
    batch: &'a Shape,
    index: usize,
}

impl Place<'_> {
    /// The part of an argument that belongs to this outcome; its first axes broadcast to the batch.
    fn part<'t>(&self, value: Argument<'t>, rank: usize) -> &'t [f64] {
        let extents = value.shape.extents();
        let (batch, event) = extents.split_at(extents.len() - rank);
        let size: usize = event.iter().product();
        let position = if batch == self.batch.extents() {
            self.index
        } else if value.values.len() == size {
            0
        } else {
            self.broadcast_position(batch)
        };
        &value.values[position * size..(position + 1) * size]
    }

    /// Where this outcome's part of an argument lies that has fewer or shorter axes.
    fn broadcast_position(&self, batch: &[usize]) -> usize {
        let strides = Shape::from(batch).strides();
        let mut rest = self.index;
        let mut position = 0;
        for (axis, &extent) in self.batch.extents().iter().enumerate().rev() {
            let coordinate = rest % extent;
            rest /= extent;
            let from_end = self.batch.rank() - axis;
            if from_end <= batch.len() {
                let batch_axis = batch.len() - from_end;
                if batch[batch_axis] != 1 {
                    position += coordinate * strides[batch_axis];
                }
            }
        }
        position
    }

    fn number(&self, value: Argument<'_>) -> f64 {
        self.part(value, 0)[0]
    }
}

fn draw_event(
    dist: &Dist,
    rng: &mut ChainRng,
    value_of: ArgumentValues<'_>,
    place: &Place<'_>,
    out: &mut [f64],
) -> Result<(), String> {
    match dist {
        Dist::Family { family, args } => {
            let parameters = args.iter().zip(family.parameters());
            let parts: Vec<&[f64]> =
                parameters.map(|(&arg, p)| place.part(value_of(arg), p.rank)).collect();
            family.draw(rng, &parts, out);
            Ok(())
        }
        Dist::Mixture { weights, components } => {
            let weights = place.part(value_of(*weights), 1);
            let total: f64 = weights.iter().sum();
            if !(total > 0.0 && total.is_finite()) {
                return Err("the weights of a mixture have no positive sum".to_owned());
            }
            let mut rest = rng.uniform() * total;
            let mut chosen = components.len() - 1;
            for (k, weight) in weights.iter().enumerate() {
                rest -= weight;
                if rest < 0.0 {
                    chosen = k;
                    break;
                }
            }
            draw_event(&components[chosen], rng, value_of, place, out)
        }
        Dist::Censored { base, lower, upper } => {
            draw_event(base, rng, value_of, place, out)?;
            if let Some(limit) = lower {
                out[0] = out[0].max(place.number(value_of(*limit)));
            }
            if let Some(limit) = upper {
                out[0] = out[0].min(place.number(value_of(*limit)));
            }
            Ok(())
        }
        Dist::Truncated { base, lower, upper } => {
            let limit = |node: &Option<NodeId>, otherwise: f64| {
                node.map_or(otherwise, |n| place.number(value_of(n)))
            };
            let limits = (limit(lower, f64::NEG_INFINITY), limit(upper, f64::INFINITY));
            draw_truncated(base, rng, value_of, place, limits, out)
        }
        Dist::ZeroInflated { base, probability } => {
            if rng.uniform() < place.number(value_of(*probability)) {
                out[0] = 0.0;
                return Ok(());
            }
            draw_event(base, rng, value_of, place, out)
        }
        Dist::Custom(custom) => draw_custom(custom, rng, value_of, place, out),
    }
}

/// By rejection while that is quick, else by inverting the distribution function.
fn draw_truncated(
    base: &Dist,
    rng: &mut ChainRng,
    value_of: ArgumentValues<'_>,
    place: &Place<'_>,
    (lower, upper): (f64, f64),
    out: &mut [f64],
) -> Result<(), String> {
    /// With one draw in ten inside, one in thirty needs the inversion, which costs as much as
    /// hundreds.
    const TRIES: usize = 32;
    for _ in 0..TRIES {
        draw_event(base, rng, value_of, place, out)?;
        if lower <= out[0] && out[0] <= upper {
            return Ok(());
        }
    }
    // A scratch graph whose only input is the point: the arguments are constants of this outcome.
    let mut g = Graph::new();
    let constants = at_place(base, &mut g, value_of, place);
    let point = g.input("point", exmc_graph::Role::Data, Shape::scalar(), exmc_graph::DType::Real);
    let point = point.expect("the graph has no other input");
    let discrete = base.is_discrete();
    let below =
        constants.lcdf(&mut g, point).ok_or("a truncated base has no distribution function")?;
    let above =
        constants.lccdf(&mut g, point).ok_or("a truncated base has no distribution function")?;
    let value_at = |node: NodeId, y: f64| {
        let value = evaluate(&g, &[node], &|_| Some(Tensor::scalar(y)));
        value.ok().and_then(|v| v[0].as_scalar()).unwrap_or(f64::NAN)
    };
    let before = if discrete { lower.ceil() - 1.0 } else { lower };
    // In the right tail, work with the probability above, which keeps its digits there.
    let right = value_at(below, before) > -std::f64::consts::LN_2;
    let node = if right { above } else { below };
    let (a, b) = (value_at(node, before), value_at(node, upper));
    let u = rng.uniform_open();
    // log((1-u) e^a + u e^b)
    let target = exmc_math::log_add_exp(exmc_math::log1p(-u) + a, exmc_math::log(u) + b);
    if target.is_nan() || target == f64::NEG_INFINITY {
        return Err(format!(
            "a truncated {} has no probability between {lower} and {upper}",
            base.name()
        ));
    }
    let beyond =
        |y: f64| if right { target - value_at(node, y) } else { value_at(node, y) - target };
    out[0] = invert(lower, upper, discrete, beyond);
    Ok(())
}

/// The distribution of one outcome, with constants of a graph as arguments.
fn at_place(dist: &Dist, g: &mut Graph, value_of: ArgumentValues<'_>, place: &Place<'_>) -> Dist {
    let part = |g: &mut Graph, id: NodeId, rank: usize| {
        let value = value_of(id);
        let extents = value.shape.extents();
        let event = Shape::from(&extents[extents.len() - rank..]);
        let part = Tensor::real(event, place.part(value, rank).to_vec());
        g.constant(part.expect("one number an element"))
    };
    let limit = |g: &mut Graph, id: &Option<NodeId>| id.map(|id| part(g, id, 0));
    match dist {
        Dist::Family { family, args } => {
            let parameters = args.iter().zip(family.parameters());
            let args = parameters.map(|(&id, p)| part(g, id, p.rank)).collect();
            Dist::Family { family: *family, args }
        }
        Dist::Mixture { weights, components } => Dist::Mixture {
            weights: part(g, *weights, 1),
            components: components.iter().map(|c| at_place(c, g, value_of, place)).collect(),
        },
        Dist::Truncated { base, lower, upper } => Dist::Truncated {
            base: Box::new(at_place(base, g, value_of, place)),
            lower: limit(g, lower),
            upper: limit(g, upper),
        },
        Dist::Censored { base, lower, upper } => Dist::Censored {
            base: Box::new(at_place(base, g, value_of, place)),
            lower: limit(g, lower),
            upper: limit(g, upper),
        },
        Dist::ZeroInflated { base, probability } => Dist::ZeroInflated {
            base: Box::new(at_place(base, g, value_of, place)),
            probability: part(g, *probability, 0),
        },
        Dist::Custom(_) => dist.map_arguments(&mut |id| part(g, id, 0)),
    }
}

/// The smallest number in `[lower, upper]` (an integer if `discrete`) at which an increasing
/// function is not negative; of a continuous outcome to four roundings.
fn invert(lower: f64, upper: f64, discrete: bool, f: impl Fn(f64) -> f64) -> f64 {
    // Infinite limits are replaced by points found by doubling.
    let mut low = if lower.is_finite() { lower } else { -1.0 };
    while !lower.is_finite() && f(low) >= 0.0 && low > -1e300 {
        low *= 2.0;
    }
    let mut high = if upper.is_finite() { upper } else { low.abs().max(1.0) + low };
    while !upper.is_finite() && f(high) < 0.0 && high < 1e300 {
        high = 2.0 * high.abs().max(1.0);
    }
    if discrete {
        (low, high) = (low.ceil() - 1.0, high.floor());
        while high - low > 1.0 {
            let middle = (0.5 * (low + high)).floor();
            if f(middle) >= 0.0 { high = middle } else { low = middle }
        }
        return high;
    }
    // The Illinois method, with a bisection every third time; a log probability is nearly straight
    // in a tail, so that about ten evaluations do. Reference: Dowell and Jarratt 1971.
    let (mut f_low, mut f_high) = (f(low), f(high));
    for step in 0..3000 {
        let middle = 0.5 * (low + high);
        let close = 4.0 * f64::EPSILON * low.abs().max(high.abs());
        if middle <= low || middle >= high || high - low <= close {
            break;
        }
        let secant = high - f_high * ((high - low) / (f_high - f_low));
        let inner = secant > low && secant < high && step % 3 != 2;
        let y = if inner { secant } else { middle };
        let found = f(y);
        if found >= 0.0 {
            (high, f_high, f_low) = (y, found, 0.5 * f_low);
        } else {
            (low, f_low, f_high) = (y, found, 0.5 * f_high);
        }
    }
    high
}

fn draw_custom(
    custom: &Custom,
    rng: &mut ChainRng,
    value_of: ArgumentValues<'_>,
    place: &Place<'_>,
    out: &mut [f64],
) -> Result<(), String> {
    let Some(quantile) = &custom.quantile else {
        return Err(
            "a custom distribution without a quantile function cannot be drawn from".to_owned()
        );
    };
    // The body is written for the whole batch; only this outcome's element is read.
    let (graph, root) = &**quantile;
    let u = rng.uniform_open();
    let values = evaluate(graph, &[*root], &|name| {
        let position = custom.names.iter().position(|n| n == name);
        let argument = position.map(|k| value_of(custom.args[k]).tensor());
        argument.or_else(|| {
            let input = graph.find_input(name)?;
            Some(Tensor::filled(graph.shape(input).clone(), u))
        })
    });
    let values = values.map_err(|e| e.message().to_owned())?;
    out[0] = place.number(Argument::from(&values[0]));
    Ok(())
}
