//! The variables of a program -> names and order of its constrained values.

use exmc::advanced::variables;
use exmc::stan::StanModel;
use exmc_draws::{Variable, file_names, file_order};
use exmc_stan::host::blocks::declarations;
use exmc_stan::typed::{Declaration, Program};

/// Some of the constrained values.
#[derive(Clone, Debug)]
pub struct Selection {
    /// Their names between commas.
    pub names: String,
    /// For each its place among all recorded values.
    pub order: Vec<usize>,
}

/// All constrained values of a model: parameters, transformed parameters, generated quantities.
#[derive(Clone, Debug)]
pub struct Columns {
    /// The parameters, which come first among the recorded values.
    pub parameters: Vec<Variable>,
    /// How many values parameters are; parameters and transformed parameters; all.
    pub widths: [usize; 3],
    /// Without and with transformed parameters; each without and with generated quantities.
    selections: [[Selection; 2]; 2],
}

/// The block that a variable belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Block {
    Parameters,
    Transformed,
    Generated,
}

impl Columns {
    /// Those of a model.
    pub fn of(model: &StanModel) -> Self {
        let program = model.program().typed();
        let all: Vec<(Block, Variable)> =
            variables(model.bound()).into_iter().map(|v| (block(program, &v.name), v)).collect();
        let chosen = |is: &dyn Fn(Block) -> bool| -> Vec<Variable> {
            all.iter().filter(|(block, _)| is(*block)).map(|(_, v)| v.clone()).collect()
        };
        let selection = |transformed: bool, generated: bool| {
            let chosen = chosen(&|block| match block {
                Block::Parameters => true,
                Block::Transformed => transformed,
                Block::Generated => generated,
            });
            Selection { names: file_names(&chosen).join(","), order: file_order(&chosen) }
        };
        let width = |last: Block| -> usize {
            chosen(&|block| block <= last).iter().map(Variable::len).sum()
        };
        Self {
            parameters: chosen(&|block| block == Block::Parameters),
            widths: [Block::Parameters, Block::Transformed, Block::Generated].map(width),
            selections: [false, true].map(|tp| [false, true].map(|gq| selection(tp, gq))),
        }
    }

    /// Parameters, with transformed parameters and generated quantities or without.
    pub fn selection(&self, transformed: bool, generated: bool) -> &Selection {
        &self.selections[usize::from(transformed)][usize::from(generated)]
    }
}

/// The block of a column: `t.2:1` belongs to the variable `t`, `z.real` to `z`.
fn block(program: &Program, column: &str) -> Block {
    let name = column.split(['.', ':']).next().unwrap_or_default();
    let is = |declaration: &Declaration| *program.variable(declaration.variable).name == *name;
    if program.parameters.iter().any(is) {
        Block::Parameters
    } else if declarations(&program.transformed_parameters).any(is) {
        Block::Transformed
    } else {
        Block::Generated
    }
}
