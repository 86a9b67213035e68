//! Variables <-> CmdStan's columns: names with `.` and indices from one, column-major over all
//! dimensions.

use crate::posterior::Variable;

/// Row-major places of an array's elements, in column-major order.
pub(super) fn column_major(shape: &[usize]) -> Vec<usize> {
    let size: usize = shape.iter().product();
    let mut places = Vec::with_capacity(size);
    let mut index = vec![0; shape.len()];
    for _ in 0..size {
        places.push(index.iter().zip(shape).fold(0, |place, (i, extent)| place * extent + i));
        for (i, extent) in index.iter_mut().zip(shape) {
            *i += 1;
            if *i < *extent {
                break;
            }
            *i = 0;
        }
    }
    places
}

/// The columns of a record in the order of a file, as places among the recorded values.
pub fn file_order(variables: &[Variable]) -> Vec<usize> {
    let places = |v: &Variable| {
        let offset = v.offset;
        column_major(&v.shape).into_iter().map(move |place| offset + place)
    };
    variables.iter().flat_map(places).collect()
}

/// The columns' names in the same order: `mu`, `theta.1`, `x.2.1`.
pub fn file_names(variables: &[Variable]) -> Vec<String> {
    let mut names = Vec::new();
    for variable in variables {
        for place in column_major(&variable.shape) {
            let mut rest = place;
            let mut index = vec![String::new(); variable.shape.len()];
            for (text, extent) in index.iter_mut().zip(&variable.shape).rev() {
                *text = format!(".{}", rest % extent + 1);
                rest /= extent;
            }
            names.push(format!("{}{}", variable.name, index.concat()));
        }
    }
    names
}

/// Variables made of columns.
pub(super) struct Grouped {
    pub(super) variables: Vec<Variable>,
    /// For each recorded value, its column's place among those given.
    pub(super) order: Vec<usize>,
}

/// Puts columns together into arrays: neighbours of one name whose indices count through a whole
/// array, column-major from one. Any other column is a variable of its own, whatever its name ends
/// in.
pub(super) fn group(columns: &[&str]) -> Grouped {
    let split: Vec<(&str, Vec<usize>)> = columns.iter().map(|name| indices(name)).collect();
    let (mut variables, mut order) = (Vec::new(), Vec::new());
    let mut start = 0;
    while start < columns.len() {
        let (base, first) = &split[start];
        let same = |(name, index): &&(&str, Vec<usize>)| {
            name == base && index.len() == first.len() && !index.is_empty()
        };
        let n = split[start..].iter().take_while(same).count();
        let offset = order.len();
        match array_shape(&split[start..start + n]) {
            Some(shape) => {
                let places = column_major(&shape);
                order.resize(offset + n, 0);
                for (k, place) in places.into_iter().enumerate() {
                    order[offset + place] = start + k;
                }
                let (name, dims) = ((*base).to_owned(), Vec::new());
                variables.push(Variable { name, shape, dims, offset, first_index: 1 });
                start += n;
            }
            None => {
                let name = columns[start].to_owned();
                let (shape, dims) = (Vec::new(), Vec::new());
                variables.push(Variable { name, shape, dims, offset, first_index: 1 });
                order.push(start);
                start += 1;
            }
        }
    }
    Grouped { variables, order }
}

/// `x.2.1` -> `x` and `[2, 1]`.
fn indices(column: &str) -> (&str, Vec<usize>) {
    let (mut base, mut index) = (column, Vec::new());
    while let Some((rest, last)) = base.rsplit_once('.') {
        let Ok(number) = last.parse::<usize>() else { break };
        if rest.is_empty() {
            break;
        }
        index.push(number);
        base = rest;
    }
    index.reverse();
    (base, index)
}

/// The shape of an array whose elements have these indices, in this order; none when they are those
/// of no array.
fn array_shape(elements: &[(&str, Vec<usize>)]) -> Option<Vec<usize>> {
    let shape = elements.last()?.1.clone();
    let size = shape.iter().try_fold(1_usize, |n, extent| n.checked_mul(*extent))?;
    if shape.is_empty() || size != elements.len() {
        return None;
    }
    let mut expected = vec![1; shape.len()];
    for (_, index) in elements {
        if *index != expected {
            return None;
        }
        for (i, extent) in expected.iter_mut().zip(&shape) {
            *i += 1;
            if *i <= *extent {
                break;
            }
            *i = 1;
        }
    }
    Some(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_stand_column_major_over_all_dimensions() {
        let x = Variable {
            name: "x".into(),
            shape: vec![2, 1, 3],
            dims: vec![],
            offset: 4,
            first_index: 0,
        };
        let names = ["x.1.1.1", "x.2.1.1", "x.1.1.2", "x.2.1.2", "x.1.1.3", "x.2.1.3"];
        assert_eq!(file_names(std::slice::from_ref(&x)), names);
        assert_eq!(file_order(&[x]), [4, 7, 5, 8, 6, 9]);
        assert_eq!(column_major(&[]), [0]);
        assert_eq!(column_major(&[3, 0]), Vec::<usize>::new());
    }

    #[test]
    fn columns_become_the_arrays_that_they_are_elements_of() {
        let columns = [
            "lp__", "mu", "x.1.1", "x.2.1", "x.1.2", "x.2.2", "v.1", "v.2", "odd.2", "odd.1",
            "half.1.1", "half.2.2", "t:2.1", "z.1.real", "z.1.imag", ".5",
        ];
        let Grouped { variables, order } = group(&columns);
        let found: Vec<_> =
            variables.iter().map(|v| (v.name.as_str(), v.shape.as_slice())).collect();
        let scalar: &[usize] = &[];
        assert_eq!(
            found,
            [
                ("lp__", scalar),
                ("mu", scalar),
                ("x", &[2, 2]),
                ("v", &[2]),
                ("odd.2", scalar),
                ("odd", &[1]),
                ("half.1.1", scalar),
                ("half.2.2", scalar),
                ("t:2", &[1]),
                ("z.1.real", scalar),
                ("z.1.imag", scalar),
                (".5", scalar),
            ]
        );
        // Row-major: x.1.1, x.1.2, x.2.1, x.2.2.
        assert_eq!(order[2..6], [2, 4, 3, 5]);
        let names = ["a.1", "a.3"];
        assert_eq!(group(&names).variables.len(), 2);
        assert_eq!(file_names(&group(&columns[..8]).variables), columns[..8]);
        let huge = format!("h.{0}.{0}", usize::MAX);
        assert_eq!(group(&[&huge]).variables[0].name, huge);
    }
}
