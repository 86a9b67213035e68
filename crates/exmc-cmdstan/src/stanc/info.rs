//! Facts about a program -> the document of `stanc --info`, whose keys clients know.

use exmc_stan::source::Sources;
use exmc_stan::syntax::tree::Program;
use exmc_stan::syntax::{VariableType, info};
use serde_json::{Map, Value, json};

/// The document of `stanc --info`, whose keys are fixed. `sources` are those that the program was
/// read from.
pub fn program_info(program: &Program, sources: &Sources) -> Value {
    let info = info(program);
    let included: Vec<&str> = sources.files().iter().skip(1).map(|f| f.name.as_str()).collect();
    json!({
        "inputs": variables(&info.inputs),
        "parameters": variables(&info.parameters),
        "transformed parameters": variables(&info.transformed_parameters),
        "generated quantities": variables(&info.generated_quantities),
        "functions": info.functions,
        "distributions": info.distributions,
        "included_files": included,
    })
}

fn variables(all: &[(String, VariableType)]) -> Value {
    all.iter().map(|(name, ty)| (name.clone(), of_type(ty))).collect::<Map<_, _>>().into()
}

fn of_type(ty: &VariableType) -> Value {
    match ty {
        VariableType::Plain(base, dimensions) => json!({"type": base, "dimensions": dimensions}),
        VariableType::Tuple(slots, dimensions) => {
            let slots: Vec<Value> = slots.iter().map(of_type).collect();
            json!({"type": slots, "dimensions": dimensions})
        }
    }
}
