//! Variables -> CmdStan's columns: names with `.` and indices from one, column-major over all dimensions.

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
pub(super) fn file_order(variables: &[Variable]) -> Vec<usize> {
    let places = |v: &Variable| {
        let offset = v.offset;
        column_major(&v.shape).into_iter().map(move |place| offset + place)
    };
    variables.iter().flat_map(places).collect()
}

/// The columns' names in the same order: `mu`, `theta.1`, `x.2.1`.
pub(super) fn file_names(variables: &[Variable]) -> Vec<String> {
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
}
