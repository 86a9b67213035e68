//! Shapes and tensors: plain row-major arrays of `f64`, the values that a graph talks about.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// Axes of a shape that needs no memory of its own.
const INLINE_AXES: usize = 3;

/// Extents of a tensor, outermost first; the empty shape is a scalar.
#[derive(Clone)]
pub struct Shape(Extents);

/// Graphs make a shape for every node, nearly always of few axes.
#[derive(Clone)]
enum Extents {
    Few { rank: u8, extents: [usize; INLINE_AXES] },
    Many(Box<[usize]>),
}

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            // What lies behind the last axis is zero.
            (Extents::Few { rank, extents }, Extents::Few { rank: other, extents: others }) => {
                rank == other && extents == others
            }
            _ => self.extents() == other.extents(),
        }
    }
}

impl Eq for Shape {}

impl PartialOrd for Shape {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Shape {
    fn cmp(&self, other: &Self) -> Ordering {
        self.extents().cmp(other.extents())
    }
}

impl Hash for Shape {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.extents().hash(state);
    }
}

impl Default for Shape {
    fn default() -> Self {
        Self::scalar()
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shape").field(&self.extents()).finish()
    }
}

impl Shape {
    /// The shape of a scalar, `[]`.
    pub const fn scalar() -> Self {
        Self(Extents::Few { rank: 0, extents: [0; INLINE_AXES] })
    }

    /// A shape from its extents.
    pub fn new(extents: impl Into<Vec<usize>>) -> Self {
        Self::from(extents.into())
    }

    /// The shape with that many axes and their extents.
    fn of_rank(rank: usize, extent: impl Fn(usize) -> usize) -> Self {
        if rank > INLINE_AXES {
            return Self(Extents::Many((0..rank).map(extent).collect()));
        }
        let mut extents = [0; INLINE_AXES];
        for (axis, target) in extents[..rank].iter_mut().enumerate() {
            *target = extent(axis);
        }
        Self(Extents::Few { rank: rank as u8, extents })
    }

    /// Extents, outermost first.
    pub fn extents(&self) -> &[usize] {
        match &self.0 {
            Extents::Few { rank, extents } => &extents[..usize::from(*rank)],
            Extents::Many(extents) => extents,
        }
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.extents().len()
    }

    /// Number of elements; one for a scalar.
    pub fn len(&self) -> usize {
        self.extents().iter().product()
    }

    /// Whether a tensor of this shape holds no element.
    pub fn is_empty(&self) -> bool {
        self.extents().contains(&0)
    }

    /// Whether this is the shape of a scalar.
    pub fn is_scalar(&self) -> bool {
        self.rank() == 0
    }

    /// This shape with `other`'s axes appended.
    pub fn join(&self, other: &[usize]) -> Self {
        let extents = self.extents();
        let extent = |axis: usize| match axis.checked_sub(extents.len()) {
            None => extents[axis],
            Some(further) => other[further],
        };
        Self::of_rank(extents.len() + other.len(), extent)
    }

    /// The same with another extent along an axis.
    pub(crate) fn with_extent(&self, axis: usize, extent: usize) -> Self {
        let extents = self.extents();
        Self::of_rank(extents.len(), |other| if other == axis { extent } else { extents[other] })
    }

    /// The shape that both broadcast to (right-aligned; an extent of one stretches), if any.
    pub fn broadcast(&self, other: &Self) -> Option<Self> {
        let (a, b) = (self.extents(), other.extents());
        let rank = a.len().max(b.len());
        let extent = |extents: &[usize], axis: usize| {
            let missing = rank - extents.len();
            if axis < missing { 1 } else { extents[axis - missing] }
        };
        let fits = |axis: usize| {
            let (a, b) = (extent(a, axis), extent(b, axis));
            a == b || a == 1 || b == 1
        };
        if !(0..rank).all(fits) {
            return None;
        }
        // An extent of one gives way, to zero too.
        let common = |axis: usize| match (extent(a, axis), extent(b, axis)) {
            (1, b) => b,
            (a, _) => a,
        };
        Some(Self::of_rank(rank, common))
    }

    /// Whether a tensor of this shape broadcasts to exactly `target`.
    pub fn broadcasts_to(&self, target: &Self) -> bool {
        self.broadcast(target).as_ref() == Some(target)
    }

    /// Row-major strides: how far apart, in elements, neighbours along each axis lie.
    pub fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1; self.rank()];
        for axis in (0..self.rank().saturating_sub(1)).rev() {
            strides[axis] = strides[axis + 1] * self.extents()[axis + 1];
        }
        strides
    }
}

impl From<&[usize]> for Shape {
    fn from(extents: &[usize]) -> Self {
        Self::of_rank(extents.len(), |axis| extents[axis])
    }
}

/// The shape of a vector.
impl From<usize> for Shape {
    fn from(extent: usize) -> Self {
        Self::from([extent])
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(extents: [usize; N]) -> Self {
        Self::from(extents.as_slice())
    }
}

impl From<Vec<usize>> for Shape {
    fn from(extents: Vec<usize>) -> Self {
        if extents.len() > INLINE_AXES {
            return Self(Extents::Many(extents.into()));
        }
        Self::from(extents.as_slice())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.extents())
    }
}

/// What kind of numbers a tensor holds. Integers are stored as exact `f64`s; they count and index,
/// and never depend on a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// A real number.
    Real,
    /// An integer of magnitude below 2^53.
    Int,
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Real => "real",
            Self::Int => "int",
        })
    }
}

/// A row-major array of numbers, cheap to clone. Equality and hash are by bits, so that NaN equals
/// itself and a graph can intern constants.
#[derive(Clone, Debug)]
pub struct Tensor {
    shape: Shape,
    dtype: DType,
    elements: Arc<Elements>,
}

/// Numbers, and a digest of their bits once somebody asked for it: graphs look the same constants
/// up over and over.
#[derive(Debug)]
struct Elements {
    values: Vec<f64>,
    digest: OnceLock<u64>,
}

impl Elements {
    fn digest(&self) -> u64 {
        *self.digest.get_or_init(|| digest(&self.values))
    }
}

impl Tensor {
    /// A real tensor; `None` when `values` is not as long as `shape` says.
    pub fn real(shape: impl Into<Shape>, values: impl Into<Vec<f64>>) -> Option<Self> {
        let (shape, values) = (shape.into(), values.into());
        (shape.len() == values.len()).then(|| Self::made(shape, DType::Real, values))
    }

    /// An integer tensor; `None` when a length is wrong or a value is not an exact integer.
    pub fn int(shape: impl Into<Shape>, values: impl Into<Vec<f64>>) -> Option<Self> {
        Self::real(shape, values)?.into_int().ok()
    }

    /// A real scalar.
    pub fn scalar(value: f64) -> Self {
        Self::made(Shape::scalar(), DType::Real, vec![value])
    }

    /// A real vector.
    pub fn vector(values: &[f64]) -> Self {
        Self::made(Shape::new([values.len()]), DType::Real, values.to_vec())
    }

    /// An integer vector of indices or counts.
    pub fn indices(values: &[usize]) -> Self {
        let shape = Shape::new([values.len()]);
        Self::made(shape, DType::Int, values.iter().map(|&v| v as f64).collect())
    }

    /// A real tensor with one value everywhere.
    pub fn filled(shape: impl Into<Shape>, value: f64) -> Self {
        let shape = shape.into();
        let values = vec![value; shape.len()];
        Self::made(shape, DType::Real, values)
    }

    /// Elements of other tensors of a kind, in another order, or truth values; there are as many as
    /// the shape says.
    pub(crate) fn moved(shape: &Shape, dtype: DType, values: Vec<f64>) -> Self {
        assert_eq!(values.len(), shape.len(), "our bug: a kernel left elements out");
        Self::made(shape.clone(), dtype, values)
    }

    fn made(shape: Shape, dtype: DType, values: Vec<f64>) -> Self {
        Self { shape, dtype, elements: Arc::new(Elements { values, digest: OnceLock::new() }) }
    }

    /// Extents.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Real or integer.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The elements, row-major.
    pub fn values(&self) -> &[f64] {
        &self.elements.values
    }

    /// The single element of a scalar (or of any tensor with one element).
    pub fn as_scalar(&self) -> Option<f64> {
        match *self.values() {
            [value] => Some(value),
            _ => None,
        }
    }

    /// Whether every element is 0 or 1, by bits.
    pub(crate) fn is_truth(&self) -> bool {
        let (zero, one) = (0_f64.to_bits(), 1_f64.to_bits());
        let fits = |value: &&f64| (value.to_bits() == zero) | (value.to_bits() == one);
        // Counted, since that needs no branch for each.
        self.values().iter().filter(fits).count() == self.values().len()
    }

    /// The same elements under another shape of the same length.
    pub fn reshaped(&self, shape: impl Into<Shape>) -> Option<Self> {
        let shape = shape.into();
        (shape.len() == self.values().len()).then(|| Self { shape, ..self.clone() })
    }

    /// The same elements marked as real.
    pub fn into_real(self) -> Self {
        Self { dtype: DType::Real, ..self }
    }

    /// The same elements marked as integers.
    ///
    /// # Errors
    /// The tensor as it was, when an element is not an exact integer.
    pub fn into_int(self) -> Result<Self, Self> {
        // To what lies below 2^52 the addition leaves no fraction; above there is none.
        const HALF: f64 = 4_503_599_627_370_496.0;
        let exact = |v: &f64| {
            let size = v.abs();
            (((size + HALF) - HALF == size) | (size >= HALF)) & (size < 2.0 * HALF)
        };
        // Counted, since that needs no branch for each.
        if self.values().iter().filter(|v| exact(v)).count() == self.values().len() {
            Ok(Self { dtype: DType::Int, ..self })
        } else {
            Err(self)
        }
    }
}

/// Four chains of folded products side by side, since one would wait for every product.
fn digest(values: &[f64]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let step = |state: u64, bits: u64| {
        let product = u128::from(state ^ bits) * u128::from(FACTOR);
        (product as u64) ^ ((product >> 64) as u64)
    };
    let mut lanes = [1_u64, 2, 3, values.len() as u64];
    let (fours, rest) = values.as_chunks::<4>();
    for four in fours {
        for (lane, value) in lanes.iter_mut().zip(four) {
            *lane = step(*lane, value.to_bits());
        }
    }
    let all = rest.iter().fold(0, |all, value| step(all, value.to_bits()));
    lanes.into_iter().fold(all, |all, lane| step(all.rotate_left(23), lane))
}

impl PartialEq for Tensor {
    fn eq(&self, other: &Self) -> bool {
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
        self.shape == other.shape
            && self.dtype == other.dtype
            && (Arc::ptr_eq(&self.elements, &other.elements)
                || self.values().iter().zip(other.values()).all(same))
    }
}

impl Eq for Tensor {}

impl std::hash::Hash for Tensor {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.shape.hash(state);
        self.dtype.hash(state);
        state.write_u64(self.elements.digest());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_aligns_on_the_right() {
        let a = Shape::from([3, 1]);
        let b = Shape::from([4]);
        assert_eq!(a.broadcast(&b), Some(Shape::from([3, 4])));
        assert_eq!(Shape::from([3]).broadcast(&b), None);
        assert!(Shape::scalar().broadcasts_to(&a));
        assert!(!Shape::from([3, 4]).broadcasts_to(&b));
    }

    #[test]
    fn integers_must_be_exact() {
        assert!(Tensor::int([2], vec![1.0, 2.0]).is_some());
        assert!(Tensor::int([2], vec![1.0, 2.5]).is_none());
        for wrong in
            [f64::NAN, f64::INFINITY, 4_503_599_627_370_495.5, -0.5, 9_007_199_254_740_992.0]
        {
            assert!(Tensor::int([1], vec![wrong]).is_none(), "{wrong}");
        }
        for right in
            [-0.0, -7.0, 4_503_599_627_370_496.0, -4_503_599_627_370_497.0, 9_007_199_254_740_991.0]
        {
            assert!(Tensor::int([1], vec![right]).is_some(), "{right}");
        }
    }
}
