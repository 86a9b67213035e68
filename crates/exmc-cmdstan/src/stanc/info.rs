//! Facts about a program -> the document of `stanc --info`, whose keys clients know.

use exmc_stan::source::Sources;
use exmc_stan::syntax::{Info, VariableType};
use serde_json::{Map, Value, json};

/// The document.
pub(super) fn json(info: &Info, sources: &Sources) -> Value {
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
