//! A contract -> the names and shapes of the tensors that its network has.

use features::Schema;

use super::contract::{Backbone, Contract, HeadKind};
use super::error::CheckpointError;

/// How a frame's features become the backbone's input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// Columns that are numbers, in their order; they come first.
    pub plain: Vec<usize>,
    /// Columns that hold a row of a table, in their order, each with the number of its table.
    pub tables: Vec<(usize, usize)>,
    /// Rows of each table; columns with equally many rows share one. Rows grow with the number.
    pub rows: Vec<usize>,
    /// Width of the backbone's input.
    pub width: usize,
}

impl Inputs {
    /// The inputs of a schema, with `embedding` numbers for each row of a table.
    #[must_use]
    pub fn new(schema: &Schema, embedding: usize) -> Self {
        let columns: Vec<(usize, usize)> = schema.tables().collect();
        let mut rows: Vec<usize> = columns.iter().map(|(_, rows)| *rows).collect();
        rows.sort_unstable();
        rows.dedup();
        let number = |n: usize| rows.iter().position(|r| *r == n).unwrap_or(0);
        let tables: Vec<(usize, usize)> = columns.iter().map(|(c, n)| (*c, number(*n))).collect();
        let is_plain = |column: &usize| columns.iter().all(|(c, _)| c != column);
        let plain: Vec<usize> = (0..schema.width()).filter(is_plain).collect();
        let width = plain.len() + tables.len() * embedding;
        Self { plain, tables, rows, width }
    }
}

/// The name and the shape of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorShape {
    /// Its name in the file.
    pub name: String,
    /// Its lengths, the last of which varies fastest.
    pub shape: Vec<usize>,
}

#[derive(Default)]
struct List(Vec<TensorShape>);

impl List {
    fn push(&mut self, name: String, shape: &[usize]) {
        self.0.push(TensorShape { name, shape: shape.to_vec() });
    }

    fn affine(&mut self, name: &str, inputs: usize, outputs: usize) {
        self.push(format!("{name}.weight"), &[inputs, outputs]);
        self.push(format!("{name}.bias"), &[outputs]);
    }

    fn norm(&mut self, name: &str, width: usize) {
        self.push(format!("{name}.scale"), &[width]);
        self.push(format!("{name}.shift"), &[width]);
    }
}

impl Contract {
    /// How a frame's features become the backbone's input.
    ///
    /// # Errors
    /// A text that is no schema.
    pub fn inputs(&self) -> Result<Inputs, CheckpointError> {
        Ok(Inputs::new(&self.features()?, self.architecture.embedding))
    }

    /// The tensors of the network, in the order of the document.
    ///
    /// # Errors
    /// A text that is no schema.
    pub fn tensors(&self) -> Result<Vec<TensorShape>, CheckpointError> {
        let inputs = self.inputs()?;
        let architecture = &self.architecture;
        let mut list = List::default();
        for (number, rows) in inputs.rows.iter().enumerate() {
            list.push(format!("embedding.{number}"), &[*rows, architecture.embedding]);
        }
        backbone(&mut list, &architecture.backbone, inputs.width);
        let (hidden, residual) = (architecture.backbone.hidden(), architecture.heads.residual);
        list.affine("heads.input", hidden, residual);
        let classes = self.components();
        for (component, count) in classes.iter().enumerate() {
            list.affine(&format!("heads.output.{component}"), residual, *count);
        }
        if architecture.heads.kind == HeadKind::Autoregressive {
            for (component, count) in classes[..12].iter().enumerate() {
                list.push(format!("heads.embedding.{component}"), &[*count, residual]);
            }
        }
        Ok(list.0)
    }

    /// Numbers in all tensors.
    ///
    /// # Errors
    /// A text that is no schema.
    pub fn parameters(&self) -> Result<usize, CheckpointError> {
        Ok(self.tensors()?.iter().map(|t| t.shape.iter().product::<usize>()).sum())
    }
}

fn backbone(list: &mut List, backbone: &Backbone, inputs: usize) {
    let layers = (0..backbone.layers()).map(|layer| format!("backbone.layers.{layer}"));
    match *backbone {
        Backbone::Mlp { hidden, .. } => {
            for (layer, name) in layers.enumerate() {
                list.affine(&name, if layer == 0 { inputs } else { hidden }, hidden);
            }
        }
        Backbone::Gru { hidden, .. } => {
            for (layer, name) in layers.enumerate() {
                let inputs = if layer == 0 { inputs } else { hidden };
                list.affine(&format!("{name}.input"), inputs, 3 * hidden);
                list.affine(&format!("{name}.recurrent"), hidden, 3 * hidden);
            }
        }
        Backbone::Lstm { hidden, .. } => {
            for (layer, name) in layers.enumerate() {
                let inputs = if layer == 0 { inputs } else { hidden };
                list.affine(&format!("{name}.input"), inputs, 4 * hidden);
                list.push(format!("{name}.recurrent.weight"), &[hidden, 4 * hidden]);
            }
        }
        Backbone::Attention { hidden, heads, window, feed_forward, .. } => {
            list.affine("backbone.input", inputs, hidden);
            for name in layers {
                list.norm(&format!("{name}.norm_1"), hidden);
                list.affine(&format!("{name}.query_key_value"), hidden, 3 * hidden);
                list.push(format!("{name}.distance"), &[heads, window]);
                list.affine(&format!("{name}.output"), hidden, hidden);
                list.norm(&format!("{name}.norm_2"), hidden);
                list.affine(&format!("{name}.up"), hidden, feed_forward);
                list.affine(&format!("{name}.down"), feed_forward, hidden);
            }
            list.norm("backbone.norm", hidden);
        }
        Backbone::SelectiveScan { hidden, state, expand, convolution, rank, .. } => {
            let inner = expand * hidden;
            list.affine("backbone.input", inputs, hidden);
            for name in layers {
                list.norm(&format!("{name}.norm"), hidden);
                list.push(format!("{name}.input.weight"), &[hidden, 2 * inner]);
                list.push(format!("{name}.convolution.weight"), &[convolution, inner]);
                list.push(format!("{name}.convolution.bias"), &[inner]);
                list.push(format!("{name}.selection.weight"), &[inner, rank + 2 * state]);
                list.affine(&format!("{name}.step"), rank, inner);
                list.push(format!("{name}.log_decay"), &[inner, state]);
                list.push(format!("{name}.skip"), &[inner]);
                list.push(format!("{name}.output.weight"), &[inner, hidden]);
            }
            list.norm("backbone.norm", hidden);
        }
    }
}
