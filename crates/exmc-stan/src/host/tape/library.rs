//! The library on the tape: closed forms where they are short, the host's own functions on places
//! where elements are only moved, and otherwise the host's value with the derivatives of the call's
//! graph.

use exmc_math as m;

use crate::check::types::is_complex;
use crate::host::error::Fault;
use crate::host::library::density::is_density;
use crate::library::{adds_jacobian, parts_of};
use crate::scalar_functions;
use crate::typed::Type;
use crate::value::{Numbers, Value};

use super::Tracer;
use super::arithmetic::{all_places, reals};
use super::expression::as_number;
use super::record::Id;
use super::traced::{Traced, in_form};

/// Functions that only move elements (or leave zeros beside them): called on places, they say where
/// each element goes.
const MOVING: &[&str] = &[
    "append_array",
    "append_col",
    "append_row",
    "block",
    "col",
    "csr_to_dense_matrix",
    "diag_matrix",
    "diagonal",
    "get_imag",
    "get_real",
    "head",
    "rep_array",
    "rep_matrix",
    "rep_row_vector",
    "rep_vector",
    "reverse",
    "row",
    "segment",
    "sub_col",
    "sub_row",
    "symmetrize_from_lower_tri",
    "tail",
    "to_array_1d",
    "to_array_2d",
    "to_complex",
    "to_matrix",
    "to_row_vector",
    "to_vector",
    "transpose",
];

/// Whether an argument of one of these functions is moved, not a size or a position.
fn is_moved(name: &str, k: usize) -> bool {
    match name {
        "append_array" | "append_col" | "append_row" | "to_complex" => true,
        "csr_to_dense_matrix" => k == 2,
        _ => k == 0,
    }
}

impl Tracer<'_> {
    /// Calls a library function on values.
    pub(super) fn library(
        &mut self,
        name: &str,
        args: &[Traced],
        types: &[&Type],
        returns: &Type,
    ) -> Result<Traced, Fault> {
        if let Some(base) = adds_jacobian(name) {
            let log = format!("{base}_log_jacobian");
            let log = self.library(&log, args, types, &Type::Real)?;
            if self.jacobian {
                let (x, id) = as_number(&log)?;
                self.add_to_target(x, id);
            }
            return self.library(&format!("{base}_constrain"), args, types, returns);
        }
        let is_known = args.iter().all(|arg| arg.ids.is_none());
        if !is_known && is_density(name) {
            return self.density(name, args, types, None);
        }
        let values: Vec<Value> = args.iter().map(|arg| arg.value.clone()).collect();
        if !is_known && let Some(slots) = parts_of(name) {
            let Type::Tuple(slot_types) = returns else {
                return Err(Fault::unsupported(format!("`{name}` gives a tuple")));
            };
            let mut all = Vec::with_capacity(slots.len());
            for (slot, ty) in slots.iter().zip(slot_types) {
                all.push(self.library(slot, args, types, ty)?);
            }
            let ids = Value::Tuple(all.iter().map(Traced::places).collect());
            let value = Value::Tuple(all.into_iter().map(|slot| slot.value).collect());
            return Ok(Traced { value, ids: Some(ids) });
        }
        let value = self.host.call_library(name, &values, types, returns)?;
        let has_no_slope = returns.array_parts().1 == &Type::Int || scalar_functions::is_flat(name);
        if is_known || has_no_slope || matches!(value, Value::Int(_) | Value::Ints(_)) {
            return Ok(Traced::known(value));
        }
        if let ("generate_laplace_options", [start]) = (name, args) {
            let mut ids = in_form(&value, &mut || 0.0);
            if let Value::Tuple(slots) = &mut ids
                && let Some(first) = slots.first_mut()
            {
                *first = start.places();
            }
            return Ok(Traced { value, ids: Some(ids) });
        }
        if MOVING.contains(&name) {
            let mut places: Vec<Value> = args.iter().map(Traced::places).collect();
            for (k, (place, arg_value)) in places.iter_mut().zip(&values).enumerate() {
                match arg_value {
                    // An integer among what is moved becomes a real number: a constant.
                    Value::Int(_) if is_moved(name, k) => *place = Value::Real(0.0),
                    Value::Ints(n) if is_moved(name, k) => {
                        *place = Value::Reals(Numbers::filled(n.shape.clone(), 0.0));
                    }
                    // Others say where to, not what.
                    Value::Int(_) | Value::Ints(_) => *place = arg_value.clone(),
                    _ => {}
                }
            }
            let ids = self.host.call_library(name, &places, types, returns)?;
            return Ok(Traced { value, ids: Some(ids) });
        }
        if !types.iter().any(|ty| is_complex(ty)) {
            if let ([a], Some(partial)) = (args, scalar_functions::slope_of_one(name)) {
                return Ok(self.each(a, value, |(x, y)| partial(x, y)));
            }
            if let ([a, b], Some(partials)) = (args, scalar_functions::slopes_of_two(name))
                && fits(a, b)
            {
                return Ok(self.each_of_two(a, b, value, partials));
            }
            if let Some(found) = self.by_closed_form(name, args, types, &value)? {
                return Ok(found);
            }
        }
        self.by_graph(name, args, types, returns, value)
    }

    /// Sums and their like.
    fn by_closed_form(
        &mut self,
        name: &str,
        args: &[Traced],
        types: &[&Type],
        value: &Value,
    ) -> Result<Option<Traced>, Fault> {
        let Some(first) = args.first() else { return Ok(None) };
        let x = reals(&first.value);
        let ids = all_places(first, x.len());
        let number =
            |id: Id, value: &Value| Traced::number(value.as_real().unwrap_or(f64::NAN), id);
        let y = value.as_real().unwrap_or(f64::NAN);
        let id = match (name, args.len()) {
            ("sum", 1) => self.tape.many(ids.iter().map(|id| (*id, 1.0))),
            ("mean", 1) => {
                let share = 1.0 / x.len() as f64;
                self.tape.many(ids.iter().map(|id| (*id, share)))
            }
            ("dot_self", 1) => self.tape.many(ids.iter().zip(&x).map(|(id, x)| (*id, 2.0 * x))),
            ("dot_product", 2) => {
                let other = reals(&args[1].value);
                let others = all_places(&args[1], other.len());
                let left = ids.iter().copied().zip(other.iter().copied());
                let right = others.iter().copied().zip(x.iter().copied());
                self.tape.many(left.chain(right))
            }
            ("squared_distance", 2) => {
                let other = reals(&args[1].value);
                let others = all_places(&args[1], other.len());
                let differences: Vec<f64> = x.iter().zip(&other).map(|(x, y)| x - y).collect();
                let left = ids.iter().zip(&differences).map(|(id, d)| (*id, 2.0 * d));
                let right = others.iter().zip(&differences).map(|(id, d)| (*id, -2.0 * d));
                self.tape.many(left.chain(right))
            }
            ("log_sum_exp", 1) if y.is_finite() => {
                self.tape.many(ids.iter().zip(&x).map(|(id, x)| (*id, m::exp(x - y))))
            }
            ("max" | "min", 1) => {
                let position = x.iter().position(|x| *x == y);
                return Ok(Some(number(position.map_or(0, |k| ids[k]), value)));
            }
            ("log_mix", 3) if types.iter().all(|ty| ty.rank() == 0) && y.is_finite() => {
                let mut numbers = [(0.0, 0); 3];
                for (number, arg) in numbers.iter_mut().zip(args) {
                    *number = as_number(arg)?;
                }
                let [(theta, by), (a, i), (b, j)] = numbers;
                let (first, second) = (m::exp(a - y), m::exp(b - y));
                self.tape.many([
                    (by, first - second),
                    (i, theta * first),
                    (j, (1.0 - theta) * second),
                ])
            }
            ("fma", 3) if types.iter().all(|ty| ty.rank() == 0) => {
                let mut numbers = [(0.0, 0); 3];
                for (number, arg) in numbers.iter_mut().zip(args) {
                    *number = as_number(arg)?;
                }
                let [(a, i), (b, j), (_, k)] = numbers;
                self.tape.many([(i, b), (j, a), (k, 1.0)])
            }
            ("cumulative_sum", 1) => {
                let mut last = 0;
                let mut places = Vec::with_capacity(ids.len());
                for id in ids {
                    last = self.tape.two((last, 1.0), (id, 1.0));
                    places.push(f64::from(last));
                }
                return Ok(Some(Traced::with(value.clone(), &places)));
            }
            ("sort_asc" | "sort_desc", 1) => {
                let indices = format!("sort_indices_{}", &name["sort_".len()..]);
                let ints = Type::array(Type::Int, 1);
                let values = std::slice::from_ref(&first.value);
                let order = self.host.call_library(&indices, values, types, &ints)?;
                let Value::Ints(order) = order else { return Ok(None) };
                let moved = |k: &i64| f64::from(ids[*k as usize - 1]);
                let places: Vec<f64> = order.values.iter().map(moved).collect();
                return Ok(Some(Traced::with(value.clone(), &places)));
            }
            _ => return Ok(None),
        };
        Ok(Some(number(id, value)))
    }
}

/// Whether two operands have the same extents, or one is a number.
fn fits(a: &Traced, b: &Traced) -> bool {
    let (a, b) = (a.value.shape(), b.value.shape());
    a == b || a.is_empty() || b.is_empty()
}
