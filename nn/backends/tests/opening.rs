//! Opening devices: what is usable and what is refused.

use burn::tensor::DType;

#[test]
fn the_default_build_has_two_backends_that_compute_rightly() {
    let devices = backends::devices();
    let names: Vec<_> = devices.iter().map(|d| d.name).collect();
    assert!(names.contains(&"flex") && names.contains(&"ndarray"), "{names:?}");
    for device in &devices {
        println!(
            "{}: {:?}, refused {:?}, {:?}",
            device.name, device.dtypes, device.refused, device.caveats
        );
        assert!(device.dtypes.contains(&DType::F32), "{device:?}");
    }
}

#[test]
fn flex_has_every_type_and_ndarray_no_half() {
    for device in backends::devices() {
        match device.name {
            "flex" => assert_eq!(device.dtypes, backends::DTYPES, "{:?}", device.refused),
            "ndarray" => {
                assert_eq!(device.dtypes, [DType::F64, DType::F32], "{:?}", device.refused);
                assert!(device.refused.iter().all(|(_, why)| !why.is_empty()));
            }
            _ => {}
        }
    }
}
