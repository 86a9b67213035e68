//! A bound model -> where its position and its recorded values have the parts of the hierarchy.

use exmc::advanced::{BoundModel, variables};

use super::spec::{Hierarchy, Scalar, Spelling};

/// Where the parts of a position are, and where the latents' elements are recorded.
pub(super) struct Places {
    pub(super) scalars: Vec<usize>,
    /// Of each latent's coordinates, the place in the position; none where it is integrated out.
    pub(super) coordinates: Vec<Option<usize>>,
    /// Coordinates that are integrated out, in the order of all.
    pub(super) gone: Vec<usize>,
    /// Of `gone`, the places among the standard normal numbers.
    pub(super) noise: Vec<usize>,
    pub(super) recorded_scalars: Vec<usize>,
    pub(super) recorded: Vec<usize>,
    /// Deterministic values `2 z - s0`, with the element that each is of.
    pub(super) derived: Vec<(usize, usize)>,
}

/// The variable that holds an element of a latent, and where.
pub(super) fn element(model: &Hierarchy, k: usize, i: usize) -> (String, usize) {
    match &model.latents[k].missing_of {
        Some((likelihood, rows)) => (format!("y{likelihood}"), rows[i]),
        None if model.spelling == Spelling::Scalars => (format!("z{k}_{}", i + 1), 0),
        None => (format!("z{k}"), i),
    }
}

pub(super) fn places(model: &Hierarchy, bound: &BoundModel) -> Result<Places, String> {
    let lowered = bound.compiled().lowered();
    let columns = variables(bound);
    let column = |name: &str| {
        let found = columns.iter().find(|v| v.name == name);
        found.map(|v| v.offset).ok_or_else(|| format!("`{name}` is not recorded"))
    };
    let offset = |name: &str| lowered.layout.iter().find(|e| e.name == name).map(|e| e.offset);
    let mut noise_begins = std::collections::BTreeMap::new();
    let mut next = 0;
    for (name, len) in bound.integrated_out() {
        noise_begins.insert(name.to_owned(), next);
        next += len;
    }
    let mut all = Places {
        scalars: Vec::new(),
        coordinates: Vec::new(),
        gone: Vec::new(),
        noise: Vec::new(),
        recorded_scalars: Vec::new(),
        recorded: Vec::new(),
        derived: Vec::new(),
    };
    for k in 0..model.scalars.len() {
        let name = format!("s{k}");
        all.scalars.push(offset(&name).ok_or_else(|| format!("`{name}` has no coordinate"))?);
        all.recorded_scalars.push(column(&name)?);
    }
    for (k, latent) in model.latents.iter().enumerate() {
        for i in 0..latent.len {
            let (name, index) = element(model, k, i);
            let number = all.coordinates.len();
            all.recorded.push(column(&name)? + index);
            if latent.missing_of.is_none() {
                all.derived.push((column(&name.replace('z', "q"))? + index, number));
            }
            // Of a partly observed variable only the missing elements have coordinates.
            let free_index = if latent.missing_of.is_some() { i } else { index };
            let place = offset(&name).map(|begin| begin + free_index);
            if place.is_none() {
                let begin = noise_begins.get(&name);
                let begin = begin.ok_or_else(|| format!("`{name}` is nowhere"))?;
                all.gone.push(number);
                all.noise.push(begin + free_index);
            }
            all.coordinates.push(place);
        }
    }
    if let Some(pairs) = &model.pairs {
        let (begin, start) = (column("p")?, offset("p").ok_or("`p` has no coordinates")?);
        for k in 0..2 * pairs.outcomes.len() {
            all.recorded.push(begin + k);
            all.coordinates.push(Some(start + k));
        }
    }
    for (name, n) in model.chains.parameters() {
        let start = offset(name).ok_or_else(|| format!("`{name}` has no coordinates"))?;
        let begin = column(name)?;
        all.recorded.extend(begin..begin + n);
        all.coordinates.extend((start..start + n).map(Some));
    }
    if all.gone.len() != next {
        return Err(format!("{next} numbers are integrated out, expected {}", all.gone.len()));
    }
    Ok(all)
}

/// A position as the exact density reads it: scalars, their log Jacobian, and the latents'
/// coordinates.
pub(super) fn read(
    model: &Hierarchy,
    places: &Places,
    position: &[f64],
) -> (Vec<f64>, f64, Vec<f64>) {
    let mut log_jacobian = 0.0;
    let value = |(&coordinate, kind): (&usize, &Scalar)| {
        let x = position[coordinate];
        if !kind.is_positive() {
            return x;
        }
        // Bounds are exponentials, but for those of the builder's half-normals.
        if model.stan || !matches!(kind, Scalar::HalfNormal(_)) {
            log_jacobian += x;
            return exmc_math::exp(x);
        }
        log_jacobian -= exmc_math::log1p(exmc_math::exp(-x));
        exmc_math::log1p(exmc_math::exp(x))
    };
    let scalars = places.scalars.iter().zip(&model.scalars).map(value).collect();
    let u = places
        .coordinates
        .iter()
        .map(|coordinate| coordinate.map_or(0.0, |coordinate| position[coordinate]))
        .collect();
    (scalars, log_jacobian, u)
}
