//! Programs that break one rule each, and what is said of them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_graph::{DType, Graph, NodeId, Op, Role, ScanBody, Shape, SharedBody, Tensor};

use super::super::{Extra, Loop, Place, Program, Region, Stage};
use super::verify;
use crate::native::compile::lower::lower;
use crate::native::program::Code;
use exmc_graph::Precision;

/// Elements of arrays: several blocks and a part of one.
const LEN: usize = 1000;

fn input(g: &mut Graph, name: &str, shape: &[usize]) -> NodeId {
    g.input(name, Role::Parameter, Shape::from(shape), DType::Real).unwrap()
}

fn compiled(graph: &Graph, roots: &[NodeId]) -> Program {
    let mut offsets = rustc_hash::FxHashMap::default();
    let mut end = 0;
    for id in graph.ids() {
        if let Op::Input { .. } = graph.node(id).op {
            offsets.insert(id, end);
            end += graph.shape(id).len();
        }
    }
    lower(graph, roots, Precision::F64, &|id| offsets.get(&id).copied(), &|_| false).unwrap()
}

/// A sum over elements by index, with registers, of several blocks.
fn sums() -> Program {
    let mut g = Graph::new();
    let (x, table) = (input(&mut g, "x", &[LEN]), input(&mut g, "table", &[10]));
    let indices: Vec<f64> = (0..LEN).map(|k| (k % 10) as f64).collect();
    let indices = g.constant(Tensor::int(Shape::from([LEN]), indices).unwrap());
    let taken = g.apply(Op::Gather, &[table, indices]).unwrap();
    let (a, b) = (g.exp(x), g.mul(taken, x));
    let terms = g.tanh(b);
    let terms = g.mul(a, terms);
    let sum = g.sum(terms);
    compiled(&g, &[sum])
}

/// A short line of scalars.
fn line() -> Program {
    let mut g = Graph::new();
    let (x, y) = (input(&mut g, "x", &[]), input(&mut g, "y", &[]));
    let a = g.exp(x);
    let b = g.tanh(y);
    let c = g.mul(a, b);
    let d = g.exp(c);
    compiled(&g, &[d, a])
}

/// `next = tanh(state + x)` for every step.
fn repeated() -> Program {
    let mut body = Graph::new();
    let state = body.input("carry0", Role::Parameter, Shape::from([]), DType::Real).unwrap();
    let x = body.input("x0", Role::Parameter, Shape::from([]), DType::Real).unwrap();
    let sum = body.add(state, x);
    let next = body.tanh(sum);
    let mut g = Graph::new();
    let (start, xs) = (input(&mut g, "start", &[]), input(&mut g, "xs", &[20]));
    let body = SharedBody(std::sync::Arc::new(ScanBody {
        graph: body,
        next: vec![next],
        stacked: vec![next],
        counts: [1, 1, 0],
    }));
    let scan = g.apply(Op::Scan { length: 20, reverse: false, body }, &[start, xs]).unwrap();
    let (last, all) =
        (g.apply(Op::Project(0), &[scan]).unwrap(), g.apply(Op::Project(1), &[scan]).unwrap());
    compiled(&g, &[last, all])
}

/// The Cholesky factor of a matrix.
fn factor() -> Program {
    let mut g = Graph::new();
    let x = input(&mut g, "x", &[5, 5]);
    let factor = g.apply(Op::Cholesky, &[x]).unwrap();
    compiled(&g, &[factor])
}

fn first_loop(program: &mut Program) -> &mut Loop {
    let found = program.stages.iter_mut().find_map(|stage| match stage {
        Stage::Loop(l) => Some(l),
        _ => None,
    });
    found.unwrap()
}

fn instruction(program: &mut Program, code: Code) -> &mut super::super::Instruction {
    first_loop(program).body.iter_mut().find(|i| i.code == code).unwrap()
}

fn why(program: &Program) -> String {
    verify(program).expect_err("the program breaks a rule")
}

#[test]
fn what_lowering_makes_keeps_the_rules() {
    for program in [sums(), line(), repeated(), factor()] {
        verify(&program).unwrap();
    }
}

#[test]
fn places_are_inside_of_their_regions() {
    let mut program = sums();
    program.arena -= 100;
    assert!(why(&program).contains("outside"), "{}", why(&program));
    let mut program = sums();
    let len = u32::try_from(program.arena).unwrap();
    instruction(&mut program, Code::Exp).a.offset = len - 8;
    assert!(why(&program).contains("outside"), "{}", why(&program));
    let mut program = line();
    program.roots[0].0.offset = u32::try_from(program.arena).unwrap();
    assert!(why(&program).contains("outside"), "{}", why(&program));
    let mut program = factor();
    program.inputs[0].1 += 100;
    assert!(why(&program).contains("outside"), "{}", why(&program));
}

#[test]
fn nothing_is_read_before_it_is_written() {
    let mut program = sums();
    first_loop(&mut program).body.remove(0);
    assert!(why(&program).contains("before it is written"), "{}", why(&program));
    let mut program = line();
    first_loop(&mut program).body.reverse();
    assert!(why(&program).contains("before it is written"), "{}", why(&program));
    let mut program = sums();
    program.inputs.remove(0);
    assert!(why(&program).contains("before it is written"), "{}", why(&program));
    let mut program = repeated();
    for stage in &mut program.stages {
        if let Stage::ScanLoop(scan_loop) = stage {
            scan_loop.starts.clear();
        }
    }
    assert!(why(&program).contains("before it is written"), "{}", why(&program));
}

#[test]
fn loops_do_not_write_what_they_read_of_before() {
    let mut program = sums();
    let table = instruction(&mut program, Code::Load).a;
    let sum = first_loop(&mut program).body.iter_mut().find(|i| i.code.is_sink()).unwrap();
    sum.out.offset = table.offset;
    assert!(why(&program).contains("reads at"), "{}", why(&program));
    // The rows of later steps.
    let mut program = repeated();
    for stage in &mut program.stages {
        if let Stage::ScanLoop(scan_loop) = stage {
            let rows = scan_loop.reads[0].from;
            let stacked = scan_loop.writes.iter_mut().find(|m| m.strides[1] > 0).unwrap();
            stacked.to.offset = rows.offset;
        }
    }
    assert!(why(&program).contains("reads at"), "{}", why(&program));
}

#[test]
fn results_overlap_no_operand() {
    let mut program = sums();
    let i = instruction(&mut program, Code::Load);
    i.out = Place { stream: true, ..i.a };
    assert!(why(&program).contains("overlaps"), "{}", why(&program));
    let mut program = factor();
    for stage in &mut program.stages {
        if let Stage::Call(call) = stage {
            let call = std::sync::Arc::get_mut(call).unwrap();
            call.out.offset = call.args[0].0.offset + 8;
        }
    }
    assert!(why(&program).contains("overlaps"), "{}", why(&program));
}

#[test]
fn short_places_have_one_writer() {
    let mut program = line();
    let input = program.inputs[0].2;
    let last = program.stages.iter_mut().rev().find_map(|stage| match stage {
        Stage::Loop(l) => l.body.last_mut(),
        _ => None,
    });
    last.unwrap().out = input;
    assert!(why(&program).contains("two writers"), "{}", why(&program));
}

#[test]
fn indices_have_the_extent_of_what_they_point_into() {
    let mut program = sums();
    for extra in &mut first_loop(&mut program).extras {
        if let Extra::Index { len, .. } = extra {
            *len += 1;
        }
    }
    assert!(why(&program).contains("index 0"), "{}", why(&program));
    let mut program = sums();
    program.indices[0].len -= 1;
    assert!(why(&program).contains("index 0"), "{}", why(&program));
}

#[test]
fn places_without_memory_are_refused() {
    let mut program = line();
    let body = &mut first_loop(&mut program).body;
    body[0].a.region = Region::Register;
    assert!(why(&program).contains("no memory"), "{}", why(&program));
}

/// The rules cannot know which value a reader means; who wrote it says so, against a program that
/// never reuses memory.
#[test]
fn another_values_register_shows_in_who_is_read() {
    let expected = verify(&sums()).unwrap();
    let mut program = sums();
    let register = instruction(&mut program, Code::Exp).out;
    let tanh = instruction(&mut program, Code::Tanh);
    assert_ne!(tanh.a, register);
    tanh.a = register;
    let body = &mut first_loop(&mut program).body;
    body.sort_by_key(|i| i.code == Code::Tanh || i.code.is_sink());
    assert!(verify(&program).map_or(true, |reads| reads != expected));
}

/// Of places that are moved by a line, few leave a program that keeps all rules: those whose value
/// nobody reads.
#[test]
fn most_moved_places_are_found() {
    let [mut found, mut all] = [0, 0];
    for make in [sums, line, factor] {
        let count = first_loop_len(&mut make());
        for k in 0..count {
            for which in 0..3 {
                for by in [-16i64, -8, 8, 16] {
                    let mut program = make();
                    let i = &mut first_loop(&mut program).body[k];
                    let place = [&mut i.out, &mut i.a, &mut i.b].into_iter().nth(which).unwrap();
                    if *place == Place::NONE || place.region != Region::Arena {
                        continue;
                    }
                    let offset = (i64::from(place.offset) + by).max(0);
                    place.offset = u32::try_from(offset).unwrap();
                    all += 1;
                    found += usize::from(verify(&program).is_err());
                }
            }
        }
    }
    assert!(found * 10 >= all * 8, "{found} of {all}");
}

fn first_loop_len(program: &mut Program) -> usize {
    match program.stages.iter().any(|stage| matches!(stage, Stage::Loop(_))) {
        true => first_loop(program).body.len(),
        false => 0,
    }
}
