//! A signature -> calls with arguments that fit it: literals, or parameters declared for them.

use exmc_stan::check::signatures::Signature;
use exmc_stan::typed::Type;

use crate::coverage::trial::DensityCall;

/// Values for the types without parts; calls are tried with one set after the other until one fits.
struct Values {
    /// Elements of vectors and arrays.
    size: usize,
    int: &'static str,
    real: &'static str,
    vector: &'static str,
    matrix: &'static str,
}

const SETS: [Values; 7] = [
    Values {
        size: 3,
        int: "1",
        real: "0.4",
        vector: "[0.2, 0.5, 0.3]",
        matrix: "[[1, 0.1, 0.2], [0.1, 1, 0.3], [0.2, 0.3, 1]]",
    },
    Values {
        size: 3,
        int: "3",
        real: "2.5",
        vector: "[1.2, 1.5, 2.3]",
        matrix: "[[3, 1.1, 1.2], [1.1, 3, 1.3], [1.2, 1.3, 3]]",
    },
    Values {
        size: 3,
        int: "2",
        real: "0.5",
        vector: "[0.2, 0.5, 0.3]",
        matrix: "[[1, 0, 0], [0.6, 0.8, 0], [0, 0.6, 0.8]]",
    },
    Values {
        size: 3,
        int: "3",
        real: "-0.2",
        vector: "[-0.2, -0.1, -0.3]",
        matrix: "[[0.2, 0.5, 0.3], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]]",
    },
    Values {
        size: 3,
        int: "0",
        real: "1.0",
        vector: "[0.6, 0, 0.8]",
        matrix: "[[0.1, -0.2, 0.1], [0.3, 0.1, -0.4], [-0.4, 0.1, 0.3]]",
    },
    Values {
        size: 3,
        int: "9",
        real: "3.5",
        vector: "[0.6, -0.9, 0.3]",
        matrix: "[[-0.1, -0.2, -0.3], [-0.1, -0.1, -0.2], [-0.3, -0.1, -0.1]]",
    },
    Values {
        size: 9,
        int: "3",
        real: "0.5",
        vector: "[1, 2, 3, 4, 5, 6, 7, 8, 9]",
        matrix: "[[1, 0.1, 0.2], [0.1, 1, 0.3], [0.2, 0.3, 1]]",
    },
];

/// Numbers that an argument must have for the others to fit: function, position, number (all
/// elements of a container have it).
const OWN: &[(&str, usize, &str)] = &[
    ("block", 3, "2"),
    ("block", 4, "2"),
    ("hypergeometric_lpmf", 0, "1"),
    ("hypergeometric_lpmf", 1, "3"),
    ("hypergeometric_lpmf", 2, "4"),
    ("hypergeometric_lpmf", 3, "5"),
    ("pareto_type_2_lpdf", 1, "0.1"),
    ("uniform_lpdf", 2, "4.5"),
    ("uniform_cdf", 2, "4.5"),
    ("uniform_lcdf", 2, "4.5"),
    ("uniform_lccdf", 2, "4.5"),
    ("uniform_rng", 1, "5"),
];

/// The value that an argument has in the calls, as Stan writes it.
fn literal(name: &str, position: usize, ty: &Type, set: &Values) -> String {
    let fixed_number = OWN.iter().find(|(function, k, _)| *function == name && *k == position);
    let fixed_number = fixed_number.map(|(_, _, number)| *number);
    let vector = || fixed_number.map_or(set.vector.to_owned(), |x| format!("[{x}, {x}, {x}]"));
    match ty {
        Type::Int => fixed_number.unwrap_or(set.int).to_owned(),
        Type::Real => fixed_number.unwrap_or(set.real).to_owned(),
        Type::Vector => format!("{}'", vector()),
        Type::RowVector => vector(),
        Type::Matrix => set.matrix.to_owned(),
        Type::Complex => format!("to_complex({}, 0.3)", set.real),
        Type::ComplexVector => format!("to_complex({0}', {0}')", vector()),
        Type::ComplexRowVector => format!("to_complex({0}, {0})", vector()),
        Type::ComplexMatrix => format!("to_complex({0}, {0})", set.matrix),
        Type::Array(element) => {
            let is_order = name.contains("bessel") || name == "lmgamma";
            if is_order && **element == Type::Int {
                // Orders that differ.
                let orders: Vec<String> = (0..set.size).map(|k| (1 + k % 2).to_string()).collect();
                return format!("{{{}}}", orders.join(", "));
            }
            let element = literal(name, position, element, set);
            format!("{{{}}}", vec![element; set.size].join(", "))
        }
        other => panic!("no function takes {other:?}"),
    }
}

/// Whole calls: functions whose arguments are made for each other.
const WHOLE: &[(&str, &[&str])] = &[
    ("csr_matrix_times_vector", &["2", "3", "V", "{1, 3, 2}", "{1, 3, 4}", "V"]),
    ("csr_to_dense_matrix", &["2", "3", "V", "{1, 3, 2}", "{1, 3, 4}"]),
];

fn argument(name: &str, position: usize, ty: &Type, set: &Values) -> String {
    let fixed_arguments = WHOLE.iter().find(|(function, _)| *function == name);
    match fixed_arguments.map(|(_, texts)| texts[position]) {
        Some("V") | None => literal(name, position, ty, set),
        Some(text) => text.to_owned(),
    }
}

fn joined(name: &str, arguments: &[String]) -> String {
    let is_conditional =
        ["_lpdf", "_lpmf", "_cdf", "_lcdf", "_lccdf"].iter().any(|suffix| name.ends_with(suffix));
    match arguments {
        [outcome, rest @ ..] if is_conditional => {
            format!("{name}({outcome} | {})", rest.join(", "))
        }
        _ => format!("{name}({})", arguments.join(", ")),
    }
}

/// Calls on values, one for each set of them.
pub(crate) fn call(name: &str, signature: &Signature) -> (Vec<String>, Type) {
    let mut ways = Vec::new();
    for set in &SETS {
        let arguments = signature.arguments.iter().enumerate();
        let arguments: Vec<String> =
            arguments.map(|(k, a)| argument(name, k, &a.ty, set)).collect();
        let text = joined(name, &arguments);
        if !ways.contains(&text) {
            ways.push(text);
        }
    }
    (ways, signature.returns.clone())
}

/// A declaration of a parameter of a type.
fn declared(ty: &Type, name: &str, size: usize) -> String {
    let (depth, element) = ty.array_parts();
    let array = match depth {
        0 => String::new(),
        depth => format!("array[{}] ", vec![size.to_string(); depth].join(", ")),
    };
    let element = match element {
        Type::Real => "real".to_owned(),
        Type::Vector => format!("vector[{size}]"),
        Type::RowVector => format!("row_vector[{size}]"),
        Type::Matrix => "matrix[3, 3]".to_owned(),
        other => panic!("no parameter is {other:?}"),
    };
    format!("{array}{element} {name};")
}

/// The real type of the same shape, where there are complex numbers.
fn real_type(ty: &Type) -> Option<Type> {
    let (depth, element) = ty.array_parts();
    let real = match element {
        Type::Complex => Type::Real,
        Type::ComplexVector => Type::Vector,
        Type::ComplexRowVector => Type::RowVector,
        Type::ComplexMatrix => Type::Matrix,
        _ => return None,
    };
    Some(real.array(depth))
}

/// The numbers of a literal, in its order.
fn numbers(literal: &str) -> Vec<f64> {
    let words = literal.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'));
    words.filter_map(|word| word.parse().ok()).collect()
}

/// Calls of parameters, but for integers and for arguments that must be data.
pub(crate) fn parameter_call(name: &str, signature: &Signature) -> DensityCall {
    let mut ways = Vec::new();
    for set in &SETS {
        let (mut declarations, mut arguments) = (String::new(), Vec::new());
        let mut position = Vec::new();
        for (k, a) in signature.arguments.iter().enumerate() {
            let is_int = a.ty.array_parts().1 == &Type::Int;
            if is_int || a.data_only {
                arguments.push(argument(name, k, &a.ty, set));
            } else if let Some(real) = real_type(&a.ty) {
                declarations += &declared(&real, &format!("p{k}"), set.size);
                position.extend(numbers(&literal(name, k, &real, set)));
                arguments.push(format!("to_complex(p{k}, p{k})"));
            } else {
                declarations += &declared(&a.ty, &format!("p{k}"), set.size);
                position.extend(numbers(&literal(name, k, &a.ty, set)));
                arguments.push(format!("p{k}"));
            }
        }
        let way = (declarations, joined(name, &arguments), position);
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    DensityCall { ways, returns: signature.returns.clone() }
}
