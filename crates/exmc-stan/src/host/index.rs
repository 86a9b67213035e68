//! Indexing of row-major numbers: choices along the outermost extents -> positions, reads and
//! writes.

use crate::host::error::Fault;
use crate::value::Numbers;

/// What one index chooses along its extent; all positions from 0 and checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// One element; the extent goes away.
    One(usize),
    /// `len` elements from `start`.
    Range {
        /// The first.
        start: usize,
        /// How many.
        len: usize,
    },
    /// These elements, in this order.
    Many(Vec<usize>),
}

impl Choice {
    fn len(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Range { len, .. } => *len,
            Self::Many(list) => list.len(),
        }
    }

    fn position_at(&self, k: usize) -> usize {
        match self {
            Self::One(position) => *position,
            Self::Range { start, .. } => start + k,
            Self::Many(list) => list[k],
        }
    }
}

/// A position from 1 to one from 0.
///
/// # Errors
/// Outside `1..=extent`.
#[inline]
pub fn position(index: i64, extent: usize) -> Result<usize, Fault> {
    if index >= 1 && index as u64 <= extent as u64 {
        Ok(index as usize - 1)
    } else {
        Err(out_of_range(index, extent))
    }
}

#[cold]
fn out_of_range(index: i64, extent: usize) -> Fault {
    Fault::index(if extent == 0 {
        format!("index {index} is out of range; there are no elements")
    } else {
        format!("index {index} is out of range; expecting 1..{extent}")
    })
}

/// The elements `lower..=upper` (from 1) of an extent; none where upper is below lower.
///
/// # Errors
/// An end of a non-empty range outside `1..=extent`.
pub fn range(lower: Option<i64>, upper: Option<i64>, extent: usize) -> Result<Choice, Fault> {
    let (lower, upper) = (lower.unwrap_or(1), upper.unwrap_or(extent as i64));
    if upper < lower {
        return Ok(Choice::Range { start: 0, len: 0 });
    }
    let start = position(lower, extent)?;
    let end = position(upper, extent)?;
    Ok(Choice::Range { start, len: end - start + 1 })
}

/// The shape of what `choices` leave of `shape`.
pub fn chosen_shape(shape: &[usize], choices: &[Choice]) -> Vec<usize> {
    let kept = choices.iter().filter(|c| !matches!(c, Choice::One(_))).map(Choice::len);
    kept.chain(shape[choices.len()..].iter().copied()).collect()
}

/// Calls `visit` with the first position and length of each contiguous run, in the result's order.
fn runs(shape: &[usize], choices: &[Choice], visit: &mut dyn FnMut(usize, usize)) {
    fn walk(shape: &[usize], choices: &[Choice], base: usize, visit: &mut dyn FnMut(usize, usize)) {
        let block: usize = shape[1..].iter().product();
        if choices.len() == 1 {
            match &choices[0] {
                Choice::One(k) => visit(base + k * block, block),
                Choice::Range { start, len } => visit(base + start * block, len * block),
                Choice::Many(list) => list.iter().for_each(|k| visit(base + k * block, block)),
            }
            return;
        }
        for k in 0..choices[0].len() {
            walk(&shape[1..], &choices[1..], base + choices[0].position_at(k) * block, visit);
        }
    }
    match choices {
        [] => visit(0, shape.iter().product()),
        _ => walk(shape, choices, 0, visit),
    }
}

/// The chosen elements. There are no more choices than extents.
pub fn read<T: Clone>(from: &Numbers<T>, choices: &[Choice]) -> Numbers<T> {
    let shape = chosen_shape(&from.shape, choices);
    let mut values = Vec::with_capacity(shape.iter().product());
    runs(&from.shape, choices, &mut |start, len| {
        values.extend_from_slice(&from.values[start..start + len]);
    });
    Numbers::new(shape, values)
}

/// The position of one element, all extents chosen singly; `None` if they are not.
#[inline]
pub fn flat(shape: &[usize], choices: &[Choice]) -> Option<usize> {
    if shape.len() != choices.len() {
        return None;
    }
    let mut offset = 0;
    for (extent, choice) in shape.iter().zip(choices) {
        let Choice::One(k) = choice else { return None };
        offset = offset * extent + k;
    }
    Some(offset)
}

/// Writes `values` to the chosen elements; later writes to an element win.
///
/// # Errors
/// When the extents of the values are not those of the choice.
pub fn write<T: Clone>(
    to: &mut Numbers<T>,
    choices: &[Choice],
    values: &Numbers<T>,
) -> Result<(), Fault> {
    let wanted = chosen_shape(&to.shape, choices);
    if wanted != values.shape {
        return Err(size_mismatch(&wanted, &values.shape));
    }
    let shape = std::mem::take(&mut to.shape);
    let out = to.make_mut();
    let mut done = 0;
    runs(&shape, choices, &mut |start, len| {
        out[start..start + len].clone_from_slice(&values.values[done..done + len]);
        done += len;
    });
    to.shape = shape;
    Ok(())
}

/// The message of an assignment whose sides differ in size.
#[cold]
pub fn size_mismatch(wanted: &[usize], found: &[usize]) -> Fault {
    Fault::size(format!(
        "sizes do not match: the left side has {}, the right side has {}",
        show_shape(wanted),
        show_shape(found)
    ))
}

/// `[2, 3]`; a scalar is `no extents`.
pub fn show_shape(shape: &[usize]) -> String {
    if shape.is_empty() {
        return "no extents".to_owned();
    }
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("size [{}]", extents.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(shape: &[usize]) -> Numbers<i64> {
        Numbers::new(shape, (0..shape.iter().product::<usize>() as i64).collect())
    }

    #[test]
    fn reads_rows_columns_and_lists() {
        let m = counted(&[3, 4]);
        assert_eq!(*read(&m, &[Choice::One(1)]).values, [4, 5, 6, 7]);
        let column = [Choice::Range { start: 0, len: 3 }, Choice::One(2)];
        assert_eq!(read(&m, &column), Numbers::new([3], vec![2, 6, 10]));
        let some = [Choice::Many(vec![2, 0]), Choice::Many(vec![3, 3, 1])];
        assert_eq!(read(&m, &some), Numbers::new([2, 3], vec![11, 11, 9, 3, 3, 1]));
    }

    #[test]
    fn writes_where_it_reads() {
        let mut m = counted(&[2, 3, 2]);
        let place = [Choice::One(1), Choice::Range { start: 1, len: 2 }];
        write(&mut m, &place, &Numbers::new([2, 2], vec![-1, -2, -3, -4])).unwrap();
        assert_eq!(*m.values, [0, 1, 2, 3, 4, 5, 6, 7, -1, -2, -3, -4]);
        let wrong = write(&mut m, &place, &Numbers::new([3], vec![0; 3])).unwrap_err();
        let message =
            "sizes do not match: the left side has size [2, 2], the right side has size [3]";
        assert_eq!(wrong.message, message);
    }

    #[test]
    fn ranges_are_checked_unless_empty() {
        assert_eq!(range(Some(5), Some(4), 3).unwrap(), Choice::Range { start: 0, len: 0 });
        assert_eq!(range(Some(2), None, 3).unwrap(), Choice::Range { start: 1, len: 2 });
        assert!(range(Some(0), Some(2), 3).is_err());
        assert_eq!(position(7, 5).unwrap_err().message, "index 7 is out of range; expecting 1..5");
    }
}
