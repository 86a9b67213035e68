//! A position -> the values of a program's variables there, or what is wrong with them: its
//! statements run one by one on numbers.

use exmc_draws::{Variable, file_names, file_order};
use exmc_stan::diagnostic::Diagnostic;
use exmc_stan::host::{Outcome, blocks, is_unconstrained};
use exmc_stan::typed::{Program, Statement, StatementKind};

use super::numbers::columns;
use super::{Printer, StanError, StanModel, interpreter};

/// How far the statements of a program are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Depth {
    /// The parameters, which no statement computes.
    Parameters,
    /// Transformed parameters too.
    Transformed,
    /// Generated quantities too, with the random numbers of a chain's draw.
    Generated {
        /// Number of the chain.
        chain: u32,
        /// Number of the draw.
        draw: u64,
    },
    /// Transformed parameters and the statements of the density.
    Density,
}

impl StanModel {
    /// The values of the program's variables at a position, computed by its statements one by one:
    /// in the order of [`variables`](crate::advanced::variables), as far as `depth` goes (and those
    /// of transformed parameters for the density). Generated quantities have the random numbers
    /// that a run with `seed` gives to the draw.
    ///
    /// Compiled code computes the same values sooner. This tells what is wrong where it has none,
    /// and prints what the statements print.
    ///
    /// # Errors
    /// What goes wrong at this position, with its place.
    pub fn values_at(
        &self,
        position: &[f64],
        depth: Depth,
        seed: u64,
        printer: Option<&Printer>,
    ) -> Result<Vec<f64>, StanError> {
        self.run_to(position, depth, seed, printer).map_err(|error| StanError {
            sources: self.program.sources.clone(),
            diagnostics: vec![Diagnostic::from(error)],
        })
    }

    fn run_to(
        &self,
        position: &[f64],
        depth: Depth,
        seed: u64,
        printer: Option<&Printer>,
    ) -> Outcome<Vec<f64>> {
        let program = &*self.program;
        let mut environment = self.environment.clone();
        let mut host = interpreter(program, seed, printer, self.options.stop.as_ref());
        let mut declared: Vec<_> = program.parameters.iter().collect();
        host.constrain_parameters(&mut environment, position)?;
        if depth != Depth::Parameters {
            host.transform_parameters(&mut environment)?;
            declared.extend(blocks::declarations(&program.transformed_parameters));
        }
        match depth {
            Depth::Parameters | Depth::Transformed => {}
            Depth::Density => host.run(&mut environment, &program.model)?,
            Depth::Generated { chain, draw } => {
                let rejected = host.generate_in_place(&mut environment, chain, draw)?;
                if let Some(error) = rejected {
                    return Err(Box::new(error));
                }
                declared.extend(blocks::declarations(&program.generated_quantities));
            }
        }
        let mut values = Vec::new();
        for declaration in declared {
            if let Some(value) = environment.get(declaration.variable) {
                columns("", value, &mut |_, _, elements| values.extend_from_slice(elements));
            }
        }
        Ok(values)
    }

    /// Whether an evaluation of the density prints something, user functions included.
    pub fn prints(&self) -> bool {
        let program = &*self.program;
        finds(&program.transformed_parameters, &is_print)
            || finds(&program.model, &is_print)
            || program.functions.iter().any(|function| finds(&function.body, &is_print))
    }

    /// Whether transformed parameters (and generated quantities, where `generated`) do more than
    /// have values: print, reject, or, of the former, be declared with constraints, which must
    /// hold. Only [`Self::values_at`] tells then what they do.
    pub fn has_more_than_values(&self, generated: bool) -> bool {
        let program = &*self.program;
        let statements = &program.transformed_parameters;
        let more = |kind: &StatementKind| is_print(kind) || is_reject(kind);
        finds(statements, &more)
            || (generated && finds(&program.generated_quantities, &more))
            || program.functions.iter().any(|function| finds(&function.body, &more))
            || blocks::declarations(statements)
                .any(|declaration| !is_unconstrained(&declaration.ty))
    }

    /// Names of the unconstrained coordinates, in Stan's order: `mu`, `theta.1`. The model is one
    /// over all parameters.
    pub fn coordinate_names(&self) -> Vec<String> {
        let layout = self.bound.compiled().lowered().layout.iter();
        let parts: Vec<Variable> = layout
            .map(|entry| Variable {
                name: entry.name.clone(),
                shape: entry.unconstrained.extents().to_vec(),
                dims: Vec::new(),
                offset: entry.offset,
                first_index: 1,
            })
            .collect();
        let mut names = vec![String::new(); self.bound.compiled().dim()];
        for (name, place) in file_names(&parts).into_iter().zip(file_order(&parts)) {
            names[place] = name;
        }
        self.stan_order.iter().map(|place| names[*place].clone()).collect()
    }
}

fn is_print(kind: &StatementKind) -> bool {
    matches!(kind, StatementKind::Print(_))
}

fn is_reject(kind: &StatementKind) -> bool {
    matches!(kind, StatementKind::Reject(_))
}

/// Whether a statement of the density says `reject`, a user's function included.
pub(super) fn can_reject(program: &Program) -> bool {
    finds(&program.transformed_parameters, &is_reject)
        || finds(&program.model, &is_reject)
        || program.functions.iter().any(|function| finds(&function.body, &is_reject))
}

/// Whether one of the statements, or of those inside them, is of a kind.
fn finds(statements: &[Statement], is: &dyn Fn(&StatementKind) -> bool) -> bool {
    let one = std::slice::from_ref;
    statements.iter().any(|statement| {
        is(&statement.kind)
            || match &statement.kind {
                StatementKind::If(_, then, otherwise) => {
                    finds(one(then), is)
                        || otherwise.as_deref().is_some_and(|other| finds(one(other), is))
                }
                StatementKind::While(_, body)
                | StatementKind::For { body, .. }
                | StatementKind::ForEach { body, .. } => finds(one(body), is),
                StatementKind::Block(inner) | StatementKind::Profile(_, inner) => finds(inner, is),
                _ => false,
            }
    })
}
