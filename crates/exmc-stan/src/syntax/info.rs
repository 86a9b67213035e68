//! Syntax tree -> what tools ask of a program before they run it: its variables and the library
//! functions it calls.
//!
//! The same facts, under the same names, as `stanc --info` gives (cmdstanpy and cmdstanr read
//! that).

use std::collections::BTreeSet;

use super::tree::{Base, Block, DeclaredKind, DeclaredType, ExprKind, Program, StatementKind};
use super::walk::{Node, walk};
use crate::families::family;

/// A variable's type without sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableType {
    /// `int`, `real` or `complex`, in so many dimensions (arrays' and vectors' together).
    Plain(&'static str, usize),
    /// A tuple's slots, in an array of so many dimensions.
    Tuple(Vec<VariableType>, usize),
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// The variables of `data`, in order.
    pub inputs: Vec<(String, VariableType)>,
    /// Those of `parameters`.
    pub parameters: Vec<(String, VariableType)>,
    /// Those of `transformed parameters` that are not local.
    pub transformed_parameters: Vec<(String, VariableType)>,
    /// Those of `generated quantities` that are not local.
    pub generated_quantities: Vec<(String, VariableType)>,
    /// Library functions that are called, sorted; `print`, `reject` and `fatal_error` among them.
    pub functions: Vec<String>,
    /// Densities and distribution functions of the library that are called or stand behind `~`,
    /// with suffixes, sorted.
    pub distributions: Vec<String>,
}

/// Suffixes of functions whose first argument stands before a bar.
const CONDITIONED: [&str; 7] = ["_lpdf", "_lupdf", "_lpmf", "_lupmf", "_cdf", "_lcdf", "_lccdf"];

/// What there is to say of a program.
pub fn info(program: &Program) -> Info {
    let mut user_functions = BTreeSet::new();
    walk(program, &mut |node| {
        if let Node::Statement(statement) = node
            && let StatementKind::Function { name, .. } = &statement.kind
        {
            user_functions.insert(name.text.clone());
        }
    });
    let (mut functions, mut distributions) = (BTreeSet::new(), BTreeSet::new());
    walk(program, &mut |node| match node {
        Node::Expr(expr) => {
            if let ExprKind::Call { function, args, bar } = &expr.kind
                && !user_functions.contains(&function.text)
            {
                let suffixed = CONDITIONED.iter().any(|s| function.text.ends_with(s));
                let conditioned = *bar || (suffixed && args.len() == 1);
                let set = if conditioned { &mut distributions } else { &mut functions };
                set.insert(function.text.to_string());
            }
        }
        Node::Statement(statement) => match &statement.kind {
            StatementKind::Call { function, .. } if !user_functions.contains(&function.text) => {
                functions.insert(function.text.to_string());
            }
            StatementKind::Print(_) => _ = functions.insert("print".to_owned()),
            StatementKind::Reject(_) => _ = functions.insert("reject".to_owned()),
            StatementKind::FatalError(_) => _ = functions.insert("fatal_error".to_owned()),
            StatementKind::Tilde { distribution, .. } => {
                let name = &distribution.text;
                let users = ["_lpdf", "_lpmf"]
                    .iter()
                    .any(|s| user_functions.contains(format!("{name}{s}").as_str()));
                if !users {
                    let is_discrete =
                        family(name).is_some_and(|family| family.slots[0].is_discrete());
                    let suffix = if is_discrete { "lupmf" } else { "lupdf" };
                    distributions.insert(format!("{name}_{suffix}"));
                }
            }
            _ => {}
        },
    });
    Info {
        inputs: variables(program.data.as_ref()),
        parameters: variables(program.parameters.as_ref()),
        transformed_parameters: variables(program.transformed_parameters.as_ref()),
        generated_quantities: variables(program.generated_quantities.as_ref()),
        functions: functions.into_iter().collect(),
        distributions: distributions.into_iter().collect(),
    }
}

/// The variables of a block that are not local.
fn variables(block: Option<&Block>) -> Vec<(String, VariableType)> {
    let mut found = Vec::new();
    for statement in block.iter().flat_map(|block| &block.statements) {
        if let StatementKind::Declare { ty, variables } = &statement.kind {
            let ty = variable_type(ty);
            found.extend(variables.iter().map(|(name, _)| (name.text.to_string(), ty.clone())));
        }
    }
    found
}

fn variable_type(ty: &DeclaredType) -> VariableType {
    match &ty.kind {
        DeclaredKind::Leaf { base, .. } => match base.unconstrained() {
            Base::Int => VariableType::Plain("int", 0),
            Base::Complex => VariableType::Plain("complex", 0),
            Base::Vector | Base::RowVector => VariableType::Plain("real", 1),
            Base::ComplexVector | Base::ComplexRowVector => VariableType::Plain("complex", 1),
            Base::Matrix => VariableType::Plain("real", 2),
            Base::ComplexMatrix => VariableType::Plain("complex", 2),
            _ => VariableType::Plain("real", 0),
        },
        DeclaredKind::Array { sizes, element } => match variable_type(element) {
            VariableType::Plain(base, dimensions) => {
                VariableType::Plain(base, dimensions + sizes.len())
            }
            VariableType::Tuple(slots, dimensions) => {
                VariableType::Tuple(slots, dimensions + sizes.len())
            }
        },
        DeclaredKind::Tuple(slots) => {
            VariableType::Tuple(slots.iter().map(variable_type).collect(), 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Sources;
    use crate::syntax::{NoIncludes, parse};

    #[test]
    fn variables_and_library_calls_are_listed() {
        let text = "functions { real f_lpdf(real y, real m) { return normal_lpdf(y | m, 1) + log(m); } }
            data { int N; array[2, N] vector[3] y; tuple(int, array[4] tuple(real, complex)) t; }
            parameters { simplex[3] s; cov_matrix[2] V; }
            model { y[1, 1] ~ f(exp(1)); N ~ poisson(2); s ~ dirichlet(s); print(std_normal_lpdf(y[1, 1])); }
            generated quantities { { real local; } int g; }";
        let mut sources = Sources::single("m.stan", text);
        let (program, diagnostics) = parse(&mut sources, &mut NoIncludes);
        assert_eq!(diagnostics, []);
        let info = info(&program);
        let inner = VariableType::Tuple(
            vec![VariableType::Plain("real", 0), VariableType::Plain("complex", 0)],
            1,
        );
        let inputs = [
            ("N".to_owned(), VariableType::Plain("int", 0)),
            ("y".to_owned(), VariableType::Plain("real", 3)),
            ("t".to_owned(), VariableType::Tuple(vec![VariableType::Plain("int", 0), inner], 0)),
        ];
        assert_eq!(info.inputs, inputs);
        let parameters = [
            ("s".to_owned(), VariableType::Plain("real", 1)),
            ("V".to_owned(), VariableType::Plain("real", 2)),
        ];
        assert_eq!(info.parameters, parameters);
        assert_eq!(info.generated_quantities, [("g".to_owned(), VariableType::Plain("int", 0))]);
        assert_eq!(info.functions, ["exp", "log", "print"]);
        let distributions = ["dirichlet_lupdf", "normal_lpdf", "poisson_lupmf", "std_normal_lpdf"];
        assert_eq!(info.distributions, distributions);
    }
}
