//! A program -> what may be wrong with its model although it is valid: parameters without a prior,
//! and parameters that the density does not use.
//!
//! Terms of the density are joined to the parameters and data that they are computed from. A
//! parameter has a prior where one of its terms is cut off from all data when the parameter is
//! taken away. That is stanc's rule; a prior whose constants are data is told too.

use std::collections::{BTreeMap, BTreeSet};

use exmc_stan::syntax::tree::{ExprKind, LValue, LValueKind, Program, StatementKind};
use exmc_stan::syntax::{Node, info, walk};

/// The warnings, as sentences.
pub(super) fn warnings(program: &Program) -> Vec<String> {
    let facts = info(program);
    let names = |all: &[(String, _)]| all.iter().map(|(name, _)| name.clone()).collect();
    let parameters: Vec<String> = names(&facts.parameters);
    let data: BTreeSet<String> = facts.inputs.iter().map(|(name, _)| name.clone()).collect();
    let terms = terms(program);
    let mut warnings = Vec::new();
    for parameter in &parameters {
        let is_used = terms.iter().any(|term| term.contains(parameter));
        if !is_used {
            warnings.push(format!(
                "The parameter {parameter} was declared but was not used in the density calculation."
            ));
        }
    }
    for parameter in &parameters {
        let mut parameter_terms = terms.iter().filter(|term| term.contains(parameter)).peekable();
        if parameter_terms.peek().is_some()
            && parameter_terms
                .all(|term| reaches_data(term, parameter, &terms, (&data, &parameters)))
        {
            warnings.push(format!(
                "The parameter {parameter} has no priors. This means either no prior is provided, or \
                 the prior(s) depend on data variables. In the latter case, this may be a false \
                 positive."
            ));
        }
    }
    warnings
}

/// What each term of the density is computed from, through all assignments.
fn terms(program: &Program) -> Vec<BTreeSet<String>> {
    let density = Program {
        functions: None,
        data: None,
        parameters: None,
        generated_quantities: None,
        ..program.clone()
    };
    let mut terms: Vec<BTreeSet<String>> = Vec::new();
    let mut from: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    /// Where names of expressions belong.
    enum Into {
        Term(usize),
        Variables(Vec<String>),
        Nothing,
    }
    let mut into = Into::Nothing;
    walk(&density, &mut |node| match node {
        Node::Statement(statement) => {
            into = match &statement.kind {
                StatementKind::TargetPlus(_)
                | StatementKind::JacobianPlus(_)
                | StatementKind::Tilde { .. } => {
                    terms.push(BTreeSet::new());
                    Into::Term(terms.len() - 1)
                }
                StatementKind::Assign { target, .. } => Into::Variables(assigned(target)),
                StatementKind::Declare { variables, .. } => Into::Variables(
                    variables.iter().map(|(name, _)| name.text.to_string()).collect(),
                ),
                _ => Into::Nothing,
            };
        }
        Node::Expr(expr) => {
            let ExprKind::Name(name) = &expr.kind else { return };
            match &into {
                Into::Term(k) => _ = terms[*k].insert(name.text.to_string()),
                Into::Variables(targets) => {
                    for target in targets {
                        from.entry(target.clone()).or_default().insert(name.text.to_string());
                    }
                }
                Into::Nothing => {}
            }
        }
    });
    for term in &mut terms {
        let mut open: Vec<String> = term.iter().cloned().collect();
        while let Some(name) = open.pop() {
            for source in from.get(&name).into_iter().flatten() {
                if term.insert(source.clone()) {
                    open.push(source.clone());
                }
            }
        }
    }
    terms
}

fn assigned(target: &LValue) -> Vec<String> {
    match &target.kind {
        LValueKind::Variable(name) => vec![name.text.to_string()],
        LValueKind::Index(base, _) | LValueKind::Field(base, _) => assigned(base),
        LValueKind::Tuple(items) => items.iter().flat_map(assigned).collect(),
    }
}

/// Whether a term is joined to data by other parameters than this one.
fn reaches_data(
    term: &BTreeSet<String>,
    without: &str,
    terms: &[BTreeSet<String>],
    (data, parameters): (&BTreeSet<String>, &[String]),
) -> bool {
    let mut seen: BTreeSet<&str> = BTreeSet::from([without]);
    let mut open = vec![term];
    while let Some(term) = open.pop() {
        if term.iter().any(|name| data.contains(name)) {
            return true;
        }
        for other in parameters.iter().filter(|p| term.contains(*p)) {
            if seen.insert(other) {
                open.extend(terms.iter().filter(|t| t.contains(other)));
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use exmc_stan::source::Sources;
    use exmc_stan::syntax::{NoIncludes, parse};

    use super::*;

    fn told(text: &str) -> Vec<String> {
        let mut sources = Sources::single("m.stan", text);
        let (tree, diagnostics) = parse(&mut sources, &mut NoIncludes);
        assert!(diagnostics.is_empty(), "{diagnostics:?}");
        warnings(&tree)
    }

    #[test]
    fn parameters_without_priors_are_told() {
        let told = told(
            "data { int N; vector[N] y; real s; }
             parameters { real a; real b; real c; real d; real<lower=0> tau; vector[N] z; }
             transformed parameters { real e = b + c; }
             model { a ~ normal(0, 1); e ~ normal(0, s); c ~ normal(a, 1); y ~ normal(e + z, 1);
                     z ~ normal(0, tau); tau ~ exponential(1); }",
        );
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].contains("parameter d was declared but"), "{told:?}");
        assert!(told[1].starts_with("The parameter b has no priors."), "{told:?}");
    }
}
