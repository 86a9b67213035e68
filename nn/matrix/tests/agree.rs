//! Every row of the table on every device of this build, at sizes with and without remainders of
//! blocks.

use burn::tensor::DType;
use matrix::{run, table};

/// Sizes of the quick loop; the recorded report has $2^{19}$ and $2^{22}$ as well.
const SIZES: [usize; 4] = [1, 1 << 10, 4133, 1 << 14];

#[test]
fn penalties_agree_with_plain_loops() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for device in backends::devices() {
        for &dtype in &device.dtypes {
            for case in table::CASES {
                let fits = |s: &usize| *s <= device.largest && run::suits(case, dtype, *s);
                for size in SIZES.into_iter().filter(fits) {
                    let outcome = run::case(case, (device.name, &device.device), dtype, size);
                    count += 1;
                    if !outcome.agrees {
                        wrong.push(outcome);
                    }
                }
            }
        }
    }
    assert!(count > 500, "the table ran {count} rows");
    assert!(wrong.is_empty(), "{} of {count}: {wrong:#?}", wrong.len());
}

#[test]
fn proximal_operators_agree_with_plain_loops() {
    let mut wrong = Vec::new();
    for device in backends::devices() {
        for &dtype in device.dtypes.iter().filter(|d| matches!(d, DType::F64 | DType::F32)) {
            for map in table::MAPS {
                for size in SIZES.into_iter().filter(|s| *s <= map.largest.min(device.largest)) {
                    let outcome = run::map(map, (device.name, &device.device), dtype, size);
                    if !outcome.agrees {
                        wrong.push(outcome);
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
