//! Every signature of the checker with a vector, matrix or complex argument (densities,
//! distribution functions, random numbers and functions of real numbers apart) runs on values and
//! on parameters, and both agree.

use exmc_stan::check::signatures::{Signature, names, signatures};
use exmc_stan::check::spell;
use exmc_stan::host::error::FaultKind;
use exmc_stan::library::LibraryError;
use exmc_stan::typed::Type;
use exmc_stan::value::Value;

use super::support::{is_complex, numbers, on_graph, on_host, on_lanes, value};

/// Rows and columns of everything.
const N: usize = 3;

/// An argument of a type: irregular, matrices near a multiple of the identity.
fn argument(ty: &Type, salt: usize) -> Value {
    let (depth, inner) = ty.array_parts();
    let mut shape = vec![N; depth];
    match inner {
        Type::Vector | Type::RowVector | Type::ComplexVector | Type::ComplexRowVector => {
            shape.push(N)
        }
        Type::Matrix | Type::ComplexMatrix => shape.extend([N, N]),
        _ => {}
    }
    let parts = if is_complex(ty) { 2 } else { 1 };
    let count = shape.iter().product::<usize>();
    let number = |k: usize| {
        let (element, part) = (k / parts, k % parts);
        let wave = (((element * 7 + salt * 5 + part * 3) % 11) as f64 + 1.0) / 13.0;
        match inner {
            Type::Int => (element % N + 1) as f64,
            Type::Matrix | Type::ComplexMatrix => {
                let (i, j) = (element / N % N, element % N);
                let wave = ((i.min(j) * 5 + i.max(j) * 3 + salt) % 7 + 1) as f64 / 29.0;
                // Symmetric, and Hermitian where complex.
                match (part, i.cmp(&j)) {
                    (0, std::cmp::Ordering::Equal) => 1.0 + 0.3 * i as f64 + wave,
                    (0, _) => wave,
                    (_, std::cmp::Ordering::Less) => wave,
                    (_, std::cmp::Ordering::Equal) => 0.0,
                    _ => -wave,
                }
            }
            _ => wave,
        }
    };
    value(ty, &shape, (0..count * parts).map(number).collect())
}

/// Arguments for which irregular numbers will not do.
fn special(name: &str, types: &[Type]) -> Option<Vec<Value>> {
    let int = |i| Value::Int(i);
    let ints = |v: &[i64]| Value::ints(v.to_vec());
    let sparse = || {
        let w = Value::reals(vec![0.5, -1.5, 2.0]);
        vec![int(3), int(3), w, ints(&[1, 3, 2]), ints(&[1, 3, 3, 4])]
    };
    Some(match name {
        "csr_to_dense_matrix" => sparse(),
        "csr_matrix_times_vector" => {
            let mut all = sparse();
            all.push(Value::reals(vec![0.3, 0.7, -0.2]));
            all
        }
        "to_matrix" if types.len() > 1 => {
            let size =
                if matches!(types[0], Type::Matrix | Type::ComplexMatrix) { N as i64 } else { 1 };
            let mut all = vec![argument(&types[0], 1), int(N as i64), int(size)];
            all.extend((types.len() > 3).then(|| int(1)));
            all
        }
        _ => return None,
    })
}

fn is_wanted(name: &str) -> bool {
    // Densities and random numbers have gates of their own; those that add to the target are no
    // functions of values.
    let others =
        ["student_t_qf", "wiener_lcdf_unnorm", "wiener_lccdf_unnorm", "generate_laplace_options"];
    if others.contains(&name) || name.starts_with("hypergeometric") {
        return false;
    }
    let apart =
        ["_lpdf", "_lpmf", "_cdf", "_lcdf", "_lccdf", "_rng", "_lupdf", "_lupmf", "_jacobian"];
    !apart.iter().any(|end| name.ends_with(end)) && !name.starts_with("hmm_")
}

fn has_container(ty: &Type) -> bool {
    let inner = ty.array_parts().1;
    is_complex(ty) || matches!(inner, Type::Vector | Type::RowVector | Type::Matrix)
}

fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Int | Type::Real)
}

/// Whether a function is one of numbers that stretches over containers: those have a gate of their
/// own.
fn is_elementwise(name: &str) -> bool {
    let here =
        ["add", "subtract", "multiply", "divide", "elt_multiply", "elt_divide", "minus", "plus"];
    let container_functions = ["log_sum_exp", "squared_distance", "size", "num_elements", "dims"];
    let of_numbers =
        |s: &Signature| s.arguments.iter().all(|a| is_number(&a.ty)) && is_number(&s.returns);
    !here.contains(&name)
        && !container_functions.contains(&name)
        && signatures(name).iter().any(of_numbers)
}

/// Slots of a tuple's functions, under the names of the library on graphs.
fn parts(name: &str) -> &'static [&'static str] {
    match name {
        "qr" => &["qr_Q", "qr_R"],
        "qr_thin" => &["qr_thin_Q", "qr_thin_R"],
        "eigendecompose_sym" => &["eigenvectors_sym", "eigenvalues_sym"],
        "svd" => &["svd_U", "singular_values", "svd_V"],
        "eigendecompose" => &["eigenvectors", "eigenvalues"],
        "complex_schur_decompose" => &["complex_schur_decompose_u", "complex_schur_decompose_t"],
        "csr_extract" => &["csr_extract_w", "csr_extract_v", "csr_extract_u"],
        _ => &[],
    }
}

/// What is wrong with a call over two lanes, the first with these arguments and the second with
/// others.
fn lanes_differ(name: &str, args: &[(Type, Value)], first: &[f64]) -> Option<String> {
    let others: Vec<Value> = match special(name, &[]) {
        Some(_) => return None,
        None => args.iter().enumerate().map(|(k, (ty, _))| argument(ty, k + 2)).collect(),
    };
    let others: Vec<(Type, Value)> = args
        .iter()
        .zip(others)
        .map(|((ty, value), other)| {
            let is_int = *ty.array_parts().1 == Type::Int;
            (ty.clone(), if is_int || name == "to_matrix" { value.clone() } else { other })
        })
        .collect();
    let second = on_graph(name, &others).ok()?;
    let together = match on_lanes(name, &[args.to_vec(), others]) {
        Ok(values) => values,
        // The lowering then asks for one lane at a time.
        Err(LibraryError::Unbatchable | LibraryError::Varies(_) | LibraryError::Unknown(_)) => {
            return None;
        }
        Err(error) => return Some(format!("over lanes: {error}")),
    };
    let alone = [first, &second].concat();
    let near = |(a, b): (&f64, &f64)| {
        a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9 * a.abs().max(1.0)
    };
    let same = together.len() == alone.len() && together.iter().zip(&alone).all(near);
    (!same).then(|| format!("over lanes {together:?}, alone {alone:?}"))
}

#[test]
fn every_signature_runs_on_values_and_on_parameters_and_both_agree() {
    let (mut refused, mut unequal, mut count) = (Vec::new(), Vec::new(), 0);
    for name in names().iter().filter(|name| is_wanted(name)) {
        let elementwise = is_elementwise(name);
        for signature in signatures(name) {
            let types: Vec<Type> = signature.arguments.iter().map(|a| a.ty.clone()).collect();
            let deepest = types.iter().map(|ty| ty.array_parts().0).max().unwrap_or(0);
            let elementwise = elementwise && !types.iter().any(is_complex);
            if !types.iter().any(has_container) || deepest > 1 || elementwise {
                continue;
            }
            count += 1;
            let values = special(name, &types).unwrap_or_else(|| {
                types.iter().enumerate().map(|(k, ty)| argument(ty, k)).collect()
            });
            let args: Vec<(Type, Value)> = types.iter().cloned().zip(values).collect();
            let spelt: Vec<String> = types.iter().map(spell).collect();
            let call = format!("{name}({})", spelt.join(", "));
            let host = on_host(name, &args, &signature.returns);
            if let Err(fault) = &host
                && fault.kind == FaultKind::Unsupported
            {
                refused.push(format!("host: {call}: {}", fault.message));
            }
            if signature.arguments.iter().any(|a| a.data_only) {
                continue;
            }
            let graph = match (&signature.returns, parts(name)) {
                (Type::Tuple(_), []) => Err(LibraryError::Unsupported("a tuple".to_owned())),
                (Type::Tuple(_), parts) => parts
                    .iter()
                    .map(|part| on_graph(part, &args))
                    .collect::<Result<Vec<_>, _>>()
                    .map(|all| all.concat()),
                _ => on_graph(name, &args),
            };
            if let Ok(graph) = &graph
                && parts(name).is_empty()
                && let Some(what) = lanes_differ(name, &args, graph)
            {
                unequal.push(format!("{call}: {what}"));
            }
            match (graph, host) {
                (Ok(graph), Ok(host)) => {
                    let host = numbers(&host);
                    let near = |(a, b): (&f64, &f64)| {
                        a == b
                            || (a.is_nan() && b.is_nan())
                            || (a - b).abs() <= 1e-9 * a.abs().max(1.0)
                    };
                    if host.len() != graph.len() || !host.iter().zip(&graph).all(near) {
                        unequal.push(format!("{call}: host {host:?}, graph {graph:?}"));
                    }
                }
                (Err(LibraryError::Unsupported(what)), _) => {
                    refused.push(format!("graph: {call}: {what}"))
                }
                (Err(error), Ok(_)) => unequal.push(format!("{call}: graph: {error}")),
                (Ok(_), Err(fault)) => unequal.push(format!("{call}: host: {}", fault.message)),
                _ => {}
            }
        }
    }
    let all: Vec<&str> = refused.iter().chain(&unequal).map(String::as_str).collect();
    assert!(all.is_empty(), "{} of {count} signatures:\n{}", all.len(), all.join("\n"));
}
