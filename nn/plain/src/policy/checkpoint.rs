//! The bytes of a policy's file <-> its contract and its weights, which fit each other.

use std::collections::BTreeMap;

use super::contract::Contract;
use super::error::CheckpointError;
use super::safetensors;

/// The metadata's key of the contract.
const CONTRACT: &str = "contract";

/// An array of 32-bit numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tensor {
    /// Its lengths, the last of which varies fastest.
    pub shape: Vec<usize>,
    /// Its elements.
    pub values: Vec<f32>,
}

/// A contract and exactly the tensors that it asks for, all of finite numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    contract: Contract,
    tensors: BTreeMap<String, Tensor>,
}

impl Checkpoint {
    /// A checkpoint of these tensors by name.
    ///
    /// # Errors
    /// A field of the contract that is out of bounds; a tensor that is missing, has another shape,
    /// is not known to the architecture, or holds a number that is not finite.
    pub fn new(
        contract: Contract,
        tensors: BTreeMap<String, Tensor>,
    ) -> Result<Self, CheckpointError> {
        contract.check()?;
        let expected = contract.tensors()?;
        for shape in &expected {
            let field = || format!("tensor `{}`", shape.name);
            let wanted = format!("of the shape {:?}", shape.shape);
            let Some(tensor) = tensors.get(&shape.name) else {
                return Err(CheckpointError::mismatch(field(), "missing", wanted));
            };
            let elements = shape.shape.iter().product::<usize>();
            if tensor.shape != shape.shape || tensor.values.len() != elements {
                let found = format!("of the shape {:?}", tensor.shape);
                return Err(CheckpointError::mismatch(field(), found, wanted));
            }
            if let Some(place) = tensor.values.iter().position(|value| !value.is_finite()) {
                let found = format!("{} at element {place}", tensor.values[place]);
                return Err(CheckpointError::mismatch(field(), found, "finite numbers"));
            }
        }
        if let Some(name) = tensors.keys().find(|name| expected.iter().all(|e| e.name != **name)) {
            let expected = "no such tensor in this architecture";
            return Err(CheckpointError::mismatch(format!("tensor `{name}`"), "there", expected));
        }
        Ok(Self { contract, tensors })
    }

    /// The checkpoint in the bytes of a file.
    ///
    /// # Errors
    /// Bytes that are no safetensors file, by their place; what [`Self::new`] refuses.
    pub fn read(bytes: &[u8]) -> Result<Self, CheckpointError> {
        let file = safetensors::read(bytes)?;
        let text = file.metadata.get(CONTRACT).and_then(serde_json::Value::as_str);
        let Some(text) = text else {
            let expected = "the contract in the header's metadata";
            return Err(CheckpointError::mismatch(CONTRACT, "missing", expected));
        };
        let contract = serde_json::from_str(text)
            .map_err(|e| CheckpointError::mismatch(CONTRACT, e, "the fields of a contract"))?;
        Self::new(contract, file.tensors)
    }

    /// The bytes of its file, which are the same for equal checkpoints.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let contract = serde_json::json!(self.contract).to_string();
        let tensors: Vec<(&str, &Tensor)> =
            self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor)).collect();
        safetensors::write(&[(CONTRACT, contract)], &tensors)
    }

    /// What it promises.
    #[must_use]
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// The tensors in the order of their names.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// A tensor's elements; nothing for a name that the architecture does not have.
    #[must_use]
    pub fn values(&self, name: &str) -> &[f32] {
        self.tensors.get(name).map_or(&[], |tensor| &tensor.values)
    }
}
