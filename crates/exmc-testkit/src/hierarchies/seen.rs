//! Models that were judged -> counts of what they had in them.

use super::exact::starts;
use super::places::Places;
use super::spec::{Hierarchy, Spelling};

/// What models had in them; a gate that saw none of a kind judged nothing of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// Models.
    pub models: u64,
    /// Those with a variable integrated out, and with more than one.
    pub integrated: [u64; 2],
    /// Vectors integrated out that no likelihood reads, at first or second hand.
    pub prior_only: u64,
    /// Vectors integrated out whose location reads another one that is integrated out.
    pub chained: u64,
    /// Models with partly observed variables.
    pub missing: u64,
    /// Models with weights, with masks, and with vectors that are non-centred.
    pub weighted: u64,
    /// With a mask.
    pub masked: u64,
    /// With a vector that is non-centred and sampled.
    pub non_centred: u64,
    /// With an array of vectors that is non-centred.
    pub pairs: u64,
    /// Vectors integrated out that are read element by element, and that are written as scalars.
    pub spelled: [u64; 2],
    /// Numbers integrated out that others read, and vectors of two to seven.
    pub small: [u64; 2],
    /// Models with lanes.
    pub lanes: u64,
    /// Models that were also compiled by the reference, or without an optimisation.
    pub otherwise: u64,
    /// Variables in other coordinates than they are written in.
    pub recentred: u64,
    /// Of these, vectors with a factor, and random walks; written centred, and not.
    pub chained_coordinates: [[u64; 2]; 2],
    /// Sum of squared distances of recorded draws from their means, and its expectation.
    pub squares: [f64; 2],
}

impl Seen {
    /// Adds what others saw.
    pub fn add(&mut self, other: &Seen) {
        self.models += other.models;
        self.integrated[0] += other.integrated[0];
        self.integrated[1] += other.integrated[1];
        self.prior_only += other.prior_only;
        self.chained += other.chained;
        self.missing += other.missing;
        self.weighted += other.weighted;
        self.masked += other.masked;
        self.non_centred += other.non_centred;
        self.pairs += other.pairs;
        self.spelled[0] += other.spelled[0];
        self.spelled[1] += other.spelled[1];
        self.small[0] += other.small[0];
        self.small[1] += other.small[1];
        self.lanes += other.lanes;
        self.otherwise += other.otherwise;
        self.recentred += other.recentred;
        let counts = self.chained_coordinates.iter_mut().flatten();
        counts.zip(other.chained_coordinates.iter().flatten()).for_each(|(count, n)| *count += n);
        self.squares[0] += other.squares[0];
        self.squares[1] += other.squares[1];
    }

    /// Whether recorded draws are spread as standard normal numbers would spread them: a chi-square
    /// variable within 5 of its standard deviations, a false alarm in a million.
    ///
    /// # Errors
    /// The sentence that says otherwise.
    pub fn spread(&self) -> Result<(), String> {
        let [sum, degrees] = self.squares;
        let z = (sum - degrees) / (2.0 * degrees.max(1.0)).sqrt();
        if z.abs() < 5.0 {
            return Ok(());
        }
        Err(format!(
            "recorded draws have squares of {sum:.1}, expected {degrees} ({z:+.1} standard deviations)"
        ))
    }
}

impl std::fmt::Display for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { models, integrated: [some, several], prior_only, chained, missing, .. } = self;
        let Self { weighted, masked, non_centred, pairs, lanes, otherwise, recentred, .. } = self;
        let [[vectors, whitened], [walks, innovations]] = self.chained_coordinates;
        let [sum, degrees] = self.squares;
        let [elements, scalars] = self.spelled;
        let [numbers, short] = self.small;
        write!(
            f,
            "{models} models; integrated out: {some} models, {several} of them several vectors; {prior_only} vectors without \
             outcomes, {chained} in chains; {missing} models with missing outcomes, {weighted} models with weights, {masked} with masks, \
             {non_centred} with non-centred vectors, {pairs} with arrays of them, {elements} vectors read element by element and {scalars} of scalars, {numbers} single numbers around others, {short} vectors of two to seven, {lanes} with lanes, {otherwise} compiled in another way too; {recentred} vectors in other \
             coordinates, {vectors} and {whitened} of them with a factor, {walks} and {innovations} random walks; squares of \
             recorded draws {sum:.0} for {degrees:.0}"
        )
    }
}

/// What a model has in it.
pub(super) fn seen(model: &Hierarchy, places: &Places) -> Seen {
    let begin = starts(model);
    let is_gone: Vec<bool> =
        begin.iter().map(|&start| places.coordinates[start].is_none()).collect();
    let gone = is_gone.iter().filter(|gone| **gone).count();
    // Later vectors read earlier ones.
    let mut is_read: Vec<bool> = vec![false; model.latents.len()];
    let read = model.likelihoods.iter().flat_map(|l| &l.location.latents);
    read.for_each(|(_, latent, _)| is_read[*latent] = true);
    let parents = |k: usize| {
        let priors = model.latents[k].priors.iter();
        priors.flat_map(|p| p.location.latents.iter().map(|(_, latent, _)| *latent))
    };
    for k in (0..model.latents.len()).rev().filter(|&k| model.latents[k].missing_of.is_none()) {
        if is_read[k] {
            parents(k).for_each(|parent| is_read[parent] = true);
        }
    }
    let count = |fits: &dyn Fn(usize) -> bool| {
        (0..model.latents.len()).filter(|&k| is_gone[k] && fits(k)).count() as u64
    };
    let is_missing = |k: usize| model.latents[k].missing_of.is_some();
    let some = |any: bool| u64::from(any);
    Seen {
        models: 1,
        integrated: [some(gone > 0), some(gone > 1)],
        prior_only: count(&|k| !is_read[k] && !is_missing(k)),
        chained: count(&|k| parents(k).any(|parent| is_gone[parent])),
        missing: some((0..model.latents.len()).any(is_missing)),
        weighted: some(model.likelihoods.iter().any(|l| l.weights.is_some())),
        masked: some(model.likelihoods.iter().any(|l| l.mask.is_some())),
        spelled: [Spelling::Elements, Spelling::Scalars]
            .map(|spelling| if model.spelling == spelling { gone as u64 } else { 0 }),
        small: [
            count(&|k| {
                model.latents[k].len == 1
                    && (0..is_gone.len()).any(|child| parents(child).any(|p| p == k))
            }),
            count(&|k| (2..8).contains(&model.latents[k].len)),
        ],
        pairs: some(model.pairs.as_ref().is_some_and(|pairs| pairs.non_centred)),
        non_centred: some(
            (0..model.latents.len()).any(|k| model.latents[k].non_centred && !is_gone[k]),
        ),
        ..Seen::default()
    }
}
