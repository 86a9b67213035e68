//! No text makes reading, building, rewriting, lowering, writing or evaluating panic.
//!
//! Two seconds in an ordinary run; `EXMC_FUZZ_SECONDS=60` for longer, `EXMC_FUZZ_SEED` for other
//! texts.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use exmc_graph::{DType, Tensor, evaluate};
use exmc_model::{
    LowerOptions, Model, ModelError, PASSES, decode_utf8, lower, read_data, read_json, rewrite,
    write_json,
};

use crate::json::random_model::{mutate, random_model};
use crate::json::support::{Random, corpus};

/// How far texts got.
#[derive(Debug, Default)]
struct Reached {
    texts: usize,
    read: usize,
    lowered: usize,
    evaluated: usize,
}

fn exercise(bytes: &[u8], r: &mut Random, reached: &mut Reached) -> Result<(), ModelError> {
    reached.texts += 1;
    let text = decode_utf8(bytes)?;
    if let (Ok(data), Ok(model)) = (read_data(text), read_json(r#"{"exmc": 1, "nodes": []}"#)) {
        drop(data.check_against(&model));
    }
    let model = read_json(text)?;
    reached.read += 1;
    let written = write_json(&model);
    let again =
        read_json(&written).unwrap_or_else(|e| panic!("written text is refused: {e}\n{written}"));
    assert_eq!(write_json(&again), written, "writing twice gives two texts");
    drop(read_data(text).and_then(|data| data.check_against(&model)));
    for pass in PASSES {
        drop(pass.run(&model));
    }
    let rewritten = rewrite(&model, &[])?;
    // Lowering refuses a last few models, such as those with an observed image that cannot be
    // undone.
    let bits = evaluate_at_random(&rewritten, r.0, reached)?;
    let written = write_json(&rewritten);
    let again =
        read_json(&written).unwrap_or_else(|e| panic!("rewritten text is refused: {e}\n{written}"));
    assert_eq!(write_json(&again), written, "writing a rewritten model twice gives two texts");
    assert_eq!(
        evaluate_at_random(&again, r.0, reached)?,
        bits,
        "the log density changed\n{written}"
    );
    Ok(())
}

/// Everything that lowering made, at a point that a seed determines; the log density's bits.
fn evaluate_at_random(
    model: &Model,
    seed: u64,
    reached: &mut Reached,
) -> Result<Option<u64>, ModelError> {
    let mut constrained = LowerOptions::default();
    constrained.jacobian = false;
    drop(lower(model, constrained)?);
    let lowered = lower(model, LowerOptions::default())?;
    reached.lowered += 1;
    let elements: usize = lowered.graph.nodes().iter().map(|n| n.shape.len()).sum();
    if elements > 1_000_000 {
        return Ok(None);
    }
    let value = |graph: &exmc_graph::Graph, name: &str| {
        let mut r = Random(seed);
        let data = model.data().find(|(n, _)| *n == name).and_then(|(_, d)| d.value.clone());
        data.or_else(|| {
            let node = graph.node(graph.find_input(name)?);
            let shape = node.shape.clone();
            if node.dtype == DType::Int {
                Tensor::int(shape.clone(), vec![1.0; shape.len()])
            } else {
                Tensor::real(
                    shape.clone(),
                    (0..shape.len()).map(|_| 2.0 * r.unit()).collect::<Vec<_>>(),
                )
            }
        })
    };
    let mut outputs = vec![lowered.logp];
    outputs.extend(lowered.trace.iter().map(|t| t.node));
    outputs.extend(lowered.pointwise.iter().map(|p| p.node));
    outputs.extend(lowered.checks.iter().map(|c| c.predicate));
    let values = evaluate(&lowered.graph, &outputs, &|name| value(&lowered.graph, name));
    let inverse = &lowered.inverse;
    drop(evaluate(&inverse.graph, &inverse.outputs, &|name| value(&inverse.graph, name)));
    // An index outside of its extent is an error of evaluation, found when data are bound.
    let Ok(values) = values else { return Ok(None) };
    reached.evaluated += 1;
    // Text has one NaN; which of them a density is has no meaning.
    let logp = values[0].as_scalar().map(|logp| if logp.is_nan() { f64::NAN } else { logp });
    Ok(logp.map(f64::to_bits))
}

/// Larger extents only make the test slow.
fn is_small(bytes: &[u8]) -> bool {
    bytes.split(|b| !b.is_ascii_digit()).all(|digits| digits.len() < 4)
}

#[test]
fn no_text_makes_anything_panic() {
    let variable = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let seconds = variable("EXMC_FUZZ_SECONDS").unwrap_or(2);
    let seed = variable("EXMC_FUZZ_SEED").unwrap_or(1);
    let mut seeds: Vec<Vec<u8>> = Vec::new();
    for folder in ["good", "bad"] {
        seeds.extend(corpus(folder, ".json").into_iter().map(|(_, bytes)| bytes));
    }
    seeds.retain(|bytes| bytes.len() < 4000);
    let mut r = Random(seed);
    let mut reached = Reached::default();
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        let bytes = match r.below(4) {
            0 | 1 => {
                let (a, b) = (r.pick(&seeds).clone(), r.pick(&seeds).clone());
                mutate(&mut r, &a, &b)
            }
            2 if r.one_in(3) => {
                let (a, b) = (random_model(&mut r), random_model(&mut r));
                mutate(&mut r, a.as_bytes(), b.as_bytes())
            }
            _ => random_model(&mut r).into_bytes(),
        };
        if !is_small(&bytes) {
            continue;
        }
        let read_before = reached.read;
        let outcome = catch_unwind(AssertUnwindSafe(|| exercise(&bytes, &mut r, &mut reached)));
        if outcome.is_err() {
            panic!("seed {seed}, this text panics:\n{}", String::from_utf8_lossy(&bytes));
        }
        // Texts that are models breed others.
        if reached.read > read_before && bytes.len() < 3000 {
            if seeds.len() < 1000 {
                seeds.push(bytes);
            } else {
                let place = r.below(seeds.len());
                seeds[place] = bytes;
            }
        }
    }
    println!("{reached:?}");
    assert!(reached.texts > 100, "{reached:?}");
    assert!(reached.evaluated > 10, "too few texts get to the end: {reached:?}");
}
