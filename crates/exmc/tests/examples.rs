//! Runs every example: each asserts its known answers, so that they stay true and not only compile.

#![expect(clippy::duplicate_mod, reason = "every example has its own copy of the helpers")]

macro_rules! examples {
    ($($name:ident $path:literal),* $(,)?) => {$(
        #[path = $path]
        mod $name;
    )*
        #[test]
        fn every_example_is_listed_here() {
            let listed: Vec<&str> = vec![$(stringify!($name)),*];
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.extension().is_some_and(|e| e == "rs") {
                    let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
                    assert!(listed.contains(&name.as_str()), "add `{name}` to tests/examples.rs");
                }
            }
        }

        mod runs {
            $(#[test]
            fn $name() {
                super::$name::main().unwrap();
            })*
        }
    };
}

examples!(
    censored_weibull "../examples/censored_weibull.rs",
    conjugate "../examples/conjugate.rs",
    eight_schools "../examples/eight_schools.rs",
    hierarchical_normal "../examples/hierarchical_normal.rs",
    imputation "../examples/imputation.rs",
    kilpisjarvi "../examples/kilpisjarvi.rs",
    logistic_regression "../examples/logistic_regression.rs",
    mixture "../examples/mixture.rs",
    nile_change_point "../examples/nile_change_point.rs",
    nile_local_level "../examples/nile_local_level.rs",
    robust_regression "../examples/robust_regression.rs",
);
