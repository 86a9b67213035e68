//! Draws by name: arrays whose first axes are chain and draw.

use std::fmt;
use std::ops::Index;

use exmc_diagnose::Draws;
use exmc_graph::{Shape, Tensor};

use crate::compile::Values;

/// Draws of one quantity: numbers over `[chain, draw, ...]`, row by row.
///
/// ```
/// use exmc::DrawArray;
/// // Two chains of three draws of a vector of two elements.
/// let array = DrawArray::new(2, 3, 2, (0..12).map(f64::from).collect()).unwrap();
/// assert_eq!(array.shape(), [2, 3, 2]);
/// assert_eq!(array[[1, 0, 1]], 7.0);
/// let first = array.at(0);
/// assert_eq!(first.to_vec(), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
/// assert_eq!((first.mean(), first.quantile(0.5)), (5.0, 5.0));
/// assert_eq!(array.mean_by_element().values(), [5.0, 6.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DrawArray {
    chains: usize,
    draws: usize,
    element: Shape,
    values: Vec<f64>,
}

impl DrawArray {
    /// From its numbers, chain by chain and draw by draw; nothing when there are more or fewer than
    /// the shape says.
    pub fn new(
        chains: usize,
        draws: usize,
        element: impl Into<Shape>,
        values: Vec<f64>,
    ) -> Option<Self> {
        let element = element.into();
        let fits = chains * draws * element.len() == values.len();
        fits.then_some(Self { chains, draws, element, values })
    }

    /// Extents: chains, draws a chain, and those of the quantity.
    pub fn shape(&self) -> Vec<usize> {
        let mut shape = vec![self.chains, self.draws];
        shape.extend_from_slice(self.element.extents());
        shape
    }

    /// Extents of the quantity; empty for a number.
    pub fn element_shape(&self) -> &Shape {
        &self.element
    }

    /// Number of chains.
    pub fn n_chains(&self) -> usize {
        self.chains
    }

    /// Draws of each chain.
    pub fn n_draws(&self) -> usize {
        self.draws
    }

    /// All numbers, row by row: `[chain, draw, ...]`.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// All numbers, row by row.
    pub fn to_vec(&self) -> Vec<f64> {
        self.values.clone()
    }

    /// The numbers of one chain.
    ///
    /// # Panics
    /// When there are fewer chains.
    pub fn chain(&self, chain: usize) -> &[f64] {
        assert!(chain < self.chains, "there are {} chains", self.chains);
        let size = self.draws * self.element.len();
        &self.values[chain * size..(chain + 1) * size]
    }

    /// The draws, chain by chain, each as its numbers.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        let size = self.element.len();
        (0..self.chains * self.draws).map(move |k| &self.values[k * size..(k + 1) * size])
    }

    /// The draws of one element, or of a row where fewer indices are given than there are axes;
    /// indices count from 0.
    ///
    /// # Panics
    /// When there is no such element.
    #[must_use]
    pub fn at(&self, index: impl Into<Shape>) -> Self {
        let index = index.into();
        let (extents, index) = (self.element.extents(), index.extents());
        let inside = index.len() <= extents.len() && index.iter().zip(extents).all(|(i, n)| i < n);
        assert!(inside, "there is no element {index:?} among those of shape {extents:?}");
        let rest = Shape::from(&extents[index.len()..]);
        let place = index.iter().zip(extents).fold(0, |place, (i, extent)| place * extent + i);
        let start = place * rest.len();
        let values = self.iter().flat_map(|draw| &draw[start..start + rest.len()]).copied();
        Self { values: values.collect(), element: rest, ..*self }
    }

    /// Mean of all numbers: of a scalar quantity, or of one element ([`at`](Self::at)), its mean.
    pub fn mean(&self) -> f64 {
        self.of_all(exmc_diagnose::mean)
    }

    /// Standard deviation of all numbers, with one degree of freedom less than numbers.
    pub fn sd(&self) -> f64 {
        self.of_all(exmc_diagnose::sd)
    }

    /// The number below which a share `p` of all numbers lies, interpolated as numpy does; NaN
    /// where `p` lies outside of [0, 1] or a number is NaN.
    pub fn quantile(&self, p: f64) -> f64 {
        self.of_all(|draws| exmc_diagnose::quantile(draws, p))
    }

    fn of_all(&self, statistic: impl Fn(&Draws<'_>) -> f64) -> f64 {
        Draws::new(&[&self.values]).map_or(f64::NAN, |draws| statistic(&draws))
    }

    /// The mean of each element over chains and draws.
    pub fn mean_by_element(&self) -> Tensor {
        self.by_element(exmc_diagnose::mean)
    }

    /// The standard deviation of each element.
    pub fn sd_by_element(&self) -> Tensor {
        self.by_element(exmc_diagnose::sd)
    }

    /// The quantile of each element.
    pub fn quantile_by_element(&self, p: f64) -> Tensor {
        self.by_element(|draws| exmc_diagnose::quantile(draws, p))
    }

    fn by_element(&self, statistic: impl Fn(&Draws<'_>) -> f64) -> Tensor {
        let width = self.element.len();
        let all: [&[f64]; 1] = [&self.values];
        let statistic_of =
            |column| Draws::column(&all, width, column).map_or(f64::NAN, |draws| statistic(&draws));
        let values: Vec<f64> = (0..width).map(statistic_of).collect();
        Tensor::real(self.element.clone(), values).expect("one number an element")
    }

    /// The same as a view of the `ndarray` crate, over `[chain, draw, ...]`.
    #[cfg(feature = "ndarray")]
    pub fn view(&self) -> ndarray::ArrayViewD<'_, f64> {
        ndarray::ArrayView::from_shape(self.shape(), &self.values)
            .expect("there are as many numbers as the shape says")
    }
}

/// The number of a chain, a draw and, behind these, of an element.
impl<const N: usize> Index<[usize; N]> for DrawArray {
    type Output = f64;

    /// # Panics
    /// When an index is out of range, or there are more or fewer indices than axes.
    fn index(&self, index: [usize; N]) -> &f64 {
        let shape = self.shape();
        let inside = N == shape.len() && index.iter().zip(&shape).all(|(i, n)| i < n);
        assert!(inside, "there is no {index:?} in an array of shape {shape:?}");
        &self.values[index.iter().zip(&shape).fold(0, |place, (i, extent)| place * extent + i)]
    }
}

/// Draws of several quantities, by name.
///
/// ```
/// use exmc::{DrawArray, DrawArrays};
/// let x = DrawArray::new(1, 2, [], vec![1.0, 3.0]).unwrap();
/// let arrays: DrawArrays = [("x".to_owned(), x)].into_iter().collect();
/// assert_eq!(arrays["x"].mean(), 2.0);
/// assert_eq!(arrays.draw(0, 1)["x"].as_scalar(), Some(3.0));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DrawArrays {
    arrays: Vec<(String, DrawArray)>,
}

impl DrawArrays {
    /// The draws of that name.
    pub fn get(&self, name: &str) -> Option<&DrawArray> {
        self.arrays.iter().find(|(candidate, _)| candidate == name).map(|(_, array)| array)
    }

    /// Names with their draws.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &DrawArray)> {
        self.arrays.iter().map(|(name, array)| (name.as_str(), array))
    }

    /// The names.
    pub fn names(&self) -> Vec<&str> {
        self.iter().map(|(name, _)| name).collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.arrays.is_empty()
    }

    /// One draw of all quantities.
    ///
    /// # Panics
    /// When there are fewer chains or draws.
    pub fn draw(&self, chain: usize, draw: usize) -> Values {
        let named_value = |(name, array): &(String, DrawArray)| {
            let size = array.element.len();
            let elements = &array.chain(chain)[draw * size..(draw + 1) * size];
            let value =
                Tensor::real(array.element.clone(), elements).expect("one number an element");
            (name.clone(), value)
        };
        self.arrays.iter().map(named_value).collect()
    }
}

impl FromIterator<(String, DrawArray)> for DrawArrays {
    fn from_iter<T: IntoIterator<Item = (String, DrawArray)>>(arrays: T) -> Self {
        Self { arrays: arrays.into_iter().collect() }
    }
}

impl Index<&str> for DrawArrays {
    type Output = DrawArray;

    /// # Panics
    /// When there are no draws of that name.
    fn index(&self, name: &str) -> &DrawArray {
        self.get(name).unwrap_or_else(|| {
            panic!("there are no draws of `{name}`; there are those of {}", self.names().join(", "))
        })
    }
}

impl fmt::Display for DrawArrays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, array) in self.iter() {
            writeln!(f, "{name}: {:?}", array.shape())?;
        }
        Ok(())
    }
}
