//! Several positions at once, of a program that may end its run.

use exmc::StanProgram;
use exmc::advanced::density::{DensityModel, EvaluationError, LogDensity};

const PROGRAM: &str = "parameters { real x; }
transformed parameters { real y = 2 * x; }
model {
  x ~ std_normal();
  if (y > 7) fatal_error(\"y is \", 7, \" or more\");
}
";

#[test]
fn only_the_position_where_a_program_ends_its_run_ends_it() {
    let program = StanProgram::from_text("p.stan", PROGRAM).unwrap();
    let model = program.bind("data.json", "{}").unwrap();
    let bound = model.bound();
    // Where there is no generated code, there are no lanes.
    let Some(mut lanes) = bound.lane_instance() else { return };
    let positions = [0.5, 4.0, -1.0, f64::INFINITY];
    let mut single = bound.instance();
    let expected = positions.map(|x| single.logp_grad(&[x], &mut [0.0]));
    assert!(matches!(expected[1], Err(EvaluationError::Ended(_))), "{expected:?}");
    assert!(expected[0].is_ok() && expected[2].is_ok(), "{expected:?}");
    for active in [[true; 4], [true, false, true, false], [false, true, false, true]] {
        let mut logps = [f64::NAN; 4];
        let errors = lanes.logp_grads(&[positions], &mut [[0.0; 4]], &mut logps, active);
        for lane in (0..4).filter(|&lane| active[lane]) {
            let error = errors.iter().find(|(failed, _)| *failed == lane);
            let found = error.map_or(Ok(logps[lane]), |(_, error)| Err(error.clone()));
            assert_eq!(found, expected[lane], "lane {lane} of {active:?}");
        }
        assert!(errors.iter().all(|&(lane, _)| active[lane]), "{errors:?} of {active:?}");
    }
}
