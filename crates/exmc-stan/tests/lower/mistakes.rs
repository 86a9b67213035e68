//! What goes wrong with data, and what cannot be run: named, at its place.

use exmc_stan::value::Value;

use super::harness::assert_refused;

#[test]
fn an_index_out_of_range() {
    let text = "data { int N; array[N] int g; }\nparameters { vector[2] a; }\nmodel {\n  for (n in 1:N)\n    target += a[g[n]];\n}";
    let data = [("N", Value::Int(2)), ("g", Value::ints(vec![1, 3]))];
    assert_refused(text, &data, 5, "index 3 is out of range; expecting 1..2");
}

#[test]
fn a_reject_that_data_decide() {
    let text = "data { int N; }\nparameters { real x; }\nmodel {\n  if (N > 2) reject(\"N is \", N);\n  x ~ normal(0, 1);\n}";
    assert_refused(text, &[("N", Value::Int(3))], 4, "N is 3");
}

#[test]
fn sizes_that_do_not_fit() {
    let text =
        "parameters { vector[2] a; }\nmodel {\n  vector[3] x;\n  x = a;\n  target += x[1];\n}";
    assert_refused(text, &[], 4, "`x` has size [3]");
}

#[test]
fn data_outside_of_a_densitys_domain() {
    let text = "data { real s; }\nparameters { real x; }\nmodel {\n  x ~ normal(0, s);\n}";
    assert_refused(text, &[("s", Value::Real(-1.0))], 4, "positive");
}

#[test]
fn a_loop_bounded_by_a_parameter() {
    let text = "parameters { real x; }\nmodel {\n  int n = 1;\n  while (n < x) n += 1;\n  for (i in 1:n) target += x;\n}";
    assert_refused(text, &[], 5, "a bound of a loop that depends on parameters");
}

/// As in Stan, where what is printed is evaluated; the message itself is not printed.
#[test]
fn an_index_out_of_range_in_what_is_printed() {
    let text = "parameters { array[2] vector[3] a; }\nmodel {\n  print(\"a: \", a[1, 4]);\n  print(a[2, 3]);\n}";
    assert_refused(text, &[], 3, "index 4 is out of range; expecting 1..3");
}
