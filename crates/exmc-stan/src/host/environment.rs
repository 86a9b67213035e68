//! Values of a program's variables, by their number.

use crate::typed::{Program, VariableId};
use crate::value::Value;

/// What each variable of a program holds; nothing, before it is declared or read.
///
/// Copies are cheap: containers are shared until one of the copies is written to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Environment {
    values: Vec<Option<Value>>,
}

impl Environment {
    /// Nothing known.
    pub fn new(program: &Program) -> Self {
        Self { values: vec![None; program.variables.len()] }
    }

    /// The value of a variable, if it has one.
    #[inline]
    pub fn get(&self, id: VariableId) -> Option<&Value> {
        self.values.get(id.0 as usize)?.as_ref()
    }

    /// The value of a variable, to write to.
    #[inline]
    pub fn get_mut(&mut self, id: VariableId) -> Option<&mut Value> {
        self.values.get_mut(id.0 as usize)?.as_mut()
    }

    /// Gives a variable a value.
    #[inline]
    pub fn set(&mut self, id: VariableId, value: Value) {
        let index = id.0 as usize;
        if index >= self.values.len() {
            self.values.resize(index + 1, None);
        }
        self.values[index] = Some(value);
    }

    /// Takes a variable's value away and returns it.
    pub fn take(&mut self, id: VariableId) -> Option<Value> {
        self.values.get_mut(id.0 as usize)?.take()
    }

    /// Every variable that has a value, in the order of their numbers.
    pub fn known(&self) -> impl Iterator<Item = (VariableId, &Value)> {
        let numbered = self.values.iter().enumerate();
        numbered.filter_map(|(k, value)| Some((VariableId(k as u32), value.as_ref()?)))
    }
}
