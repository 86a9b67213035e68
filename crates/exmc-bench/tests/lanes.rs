//! Every benchmark that has lanes has the bits of single positions in them, and the small ones have
//! lanes.

use exmc::advanced::CompileOptions;
use exmc_bench::models::ALL;
use exmc_math::simd::Level;

#[path = "../../exmc-exec/tests/support/lanes.rs"]
mod comparison;

/// Elements beyond which a benchmark is not worth compiling here: it has long loops, hence no
/// lanes.
const MOST: usize = 20_000;

#[test]
fn benchmarks_have_the_same_bits_in_lanes() {
    let mut with_lanes = Vec::new();
    for benchmark in ALL {
        let data = benchmark.made_data();
        if benchmark.elements(&data).unwrap() > MOST {
            continue;
        }
        let model = benchmark.bind(&data, &CompileOptions::default()).unwrap();
        let positions = comparison::positions(&benchmark.position(&model).unwrap());
        if comparison::lanes_agree(&model, &positions)
            .unwrap_or_else(|why| panic!("{}: {why}", benchmark.name))
        {
            with_lanes.push(benchmark.name);
        }
    }
    println!("{}", with_lanes.join(", "));
    if cfg!(target_os = "linux") && Level::detect().name().starts_with("avx") {
        for name in ["eight_schools", "eight_schools_noncentered", "simple", "medium", "funnel"] {
            assert!(with_lanes.contains(&name), "{name} has lanes");
        }
    }
}
