//! Data files: what is accepted, and how values take the shapes and kinds that a model declares.

use exmc_graph::{DType, Tensor};
use exmc_model::{Code, DataSet, ModelBuilder, distributions::normal, read_data};

#[test]
fn numbers_and_arrays_are_read_row_by_row() {
    let data =
        read_data(r#"{"a": [[1, 2, 3], [4, 5, 6]], "b": 2.5, "c": [[[7.0]]], "d": -0.0}"#).unwrap();
    let a = data.get("a").unwrap();
    assert_eq!((a.dtype(), a.shape().extents()), (DType::Int, &[2, 3][..]));
    assert_eq!(a.values(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(data.get("b"), Some(&Tensor::scalar(2.5)));
    assert_eq!(data.get("c"), Some(&Tensor::real([1, 1, 1], vec![7.0]).unwrap()));
    assert_eq!(data.get("d").unwrap().values()[0].to_bits(), (-0.0_f64).to_bits());
    assert_eq!(data.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b", "c", "d"]);
}

#[test]
fn numbers_that_are_not_finite_have_many_spellings() {
    let text = r#"{"x": [NaN, Infinity, -Infinity, "NaN", "Inf", "-Inf", "+inf", "Infinity", "-Infinity", 1]}"#;
    let data = read_data(text).unwrap();
    let found = data.get("x").unwrap().values();
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let expected = [nan, inf, -inf, nan, inf, -inf, inf, inf, -inf, 1.0];
    for (found, expected) in found.iter().zip(expected) {
        assert!(*found == expected || (found.is_nan() && expected.is_nan()), "{found} {expected}");
    }
}

#[test]
fn decimal_numbers_are_the_nearest_doubles() {
    // Halfway and extreme cases, from the definition of binary64: 2^53 + 1 ties to even, and so on.
    let cases = [
        ("0.1", 0x3FB9_9999_9999_999A_u64),
        ("9007199254740993.0", 0x4340_0000_0000_0000),
        ("9007199254740993.00000001", 0x4340_0000_0000_0001),
        ("5e-324", 1),
        ("2.4703282292062327e-324", 0),
        ("2.4703282292062328e-324", 1),
        ("1.7976931348623157e308", 0x7FEF_FFFF_FFFF_FFFF),
        ("2.2250738585072011e-308", 0x000F_FFFF_FFFF_FFFF),
        ("-1e-400", 0x8000_0000_0000_0000),
    ];
    for (text, bits) in cases {
        let data = read_data(&format!("{{\"x\": {text}}}")).unwrap();
        assert_eq!(data.get("x").unwrap().values()[0].to_bits(), bits, "{text}");
    }
}

#[test]
fn a_byte_order_mark_is_skipped() {
    assert!(read_data("\u{feff}{\"x\": 1}").is_ok());
}

#[test]
fn binding_gives_what_was_declared() {
    let mut b = ModelBuilder::new();
    b.declare_data("n", DType::Int, []);
    b.declare_data("x", DType::Real, [2]);
    b.declare_data("index", DType::Int, [2]);
    b.declare_data("none", DType::Real, [0, 4]);
    b.data("kept", Tensor::scalar(7.0)).data("replaced", Tensor::scalar(7.0));
    let model = b.build().unwrap();
    let text = r#"{"n": 3.0, "x": [1, 2], "index": [0, 1], "none": [], "replaced": 8}"#;
    let bound = read_data(text).unwrap().bind(&model).unwrap();
    for (name, declared) in model.data() {
        let found = &bound[name];
        assert_eq!((found.dtype(), found.shape()), (declared.dtype, &declared.shape), "{name}");
    }
    assert_eq!(bound["n"].as_scalar(), Some(3.0));
    assert_eq!(bound["kept"].as_scalar(), Some(7.0));
    assert_eq!(bound["replaced"].as_scalar(), Some(8.0));
}

#[test]
fn every_misfit_is_reported_at_once() {
    let mut b = ModelBuilder::new();
    b.declare_data("a", DType::Real, [2]).declare_data("b", DType::Int, []);
    b.rv("y", normal("a", 1.0));
    let model = b.build().unwrap();
    let error = read_data(r#"{"b": 0.5, "c": 1}"#).unwrap().check_against(&model).unwrap_err();
    let codes: Vec<_> = error.diagnostics().iter().map(|d| d.code).collect();
    assert_eq!(codes, [Code::MissingData, Code::BadData, Code::UnknownData]);
}

#[test]
fn values_from_a_program_are_checked_the_same() {
    let mut b = ModelBuilder::new();
    b.declare_data("x", DType::Real, [2]);
    let model = b.build().unwrap();
    let mut data = DataSet::new();
    data.insert("x", Tensor::indices(&[1, 2]));
    assert_eq!(data.bind(&model).unwrap()["x"], Tensor::vector(&[1.0, 2.0]));
    data.insert("x", Tensor::scalar(1.0));
    assert!(data.check_against(&model).unwrap_err().has(Code::BadData));
}

#[test]
fn a_million_numbers_are_read_in_time() {
    let numbers: Vec<String> = (0..1_000_000).map(|k| format!("{}.25", k % 1000)).collect();
    let text = format!("{{\"x\": [{}]}}", numbers.join(","));
    let start = std::time::Instant::now();
    let data = read_data(&text).unwrap();
    // A second is far more than the tenth that it takes; quadratic work would take hours.
    assert!(start.elapsed().as_secs() < 20);
    assert_eq!(data.get("x").unwrap().shape().extents(), [1_000_000]);
}
