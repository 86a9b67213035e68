//! The reference values of the requirements, each under its name, to the six digits they are given
//! with.
#![expect(clippy::approx_constant, reason = "a reference value is quoted as it was given")]

use super::harness::Quantity::{Lccdf, Lpdf};
use super::harness::{Quantity, value};

#[track_caller]
fn golden(name: &str, quantity: Quantity, y: f64, parameters: &[f64], expected: f64) {
    let found = value(name, quantity, y, parameters);
    assert!((found - expected).abs() <= 5.1e-7, "{name}({y} | {parameters:?}): {found}");
}

#[test]
fn normal() {
    golden("normal", Lpdf, 0.0, &[0.0, 1.0], -0.918939);
    golden("normal", Lpdf, 1.5, &[1.0, 2.0], -1.643336);
    golden("normal", Lccdf, 10.0, &[0.0, 1.0], -53.231285);
    golden("normal", Lccdf, 40.0, &[0.0, 1.0], -804.608442);
}

#[test]
fn half_normal() {
    golden("half_normal", Lpdf, 0.5, &[1.0], -0.350791);
    golden("half_normal", Lpdf, 1.0, &[2.0], -1.043939);
}

#[test]
fn exponential() {
    golden("exponential", Lpdf, 0.5, &[2.0], -0.306853);
}

#[test]
fn gamma() {
    golden("gamma", Lpdf, 1.0, &[2.0, 1.0], -1.0);
    golden("gamma", Lpdf, 2.0, &[3.0, 0.5], -2.386294);
}

#[test]
fn beta() {
    golden("beta", Lpdf, 0.4, &[2.0, 3.0], 0.546965);
}

#[test]
fn uniform01() {
    golden("uniform01", Lpdf, 0.3, &[0.0, 1.0], 0.0);
}

#[test]
fn student_t() {
    golden("student_t", Lpdf, 0.0, &[3.0, 0.0, 1.0], -1.000889);
    golden("student_t", Lpdf, 4.0, &[5.0, 1.0, 2.0], -2.776457);
}

#[test]
fn cauchy() {
    golden("cauchy", Lpdf, 0.0, &[0.0, 1.0], -1.144730);
    golden("cauchy", Lpdf, 1.0, &[0.0, 2.0], -2.061021);
}

#[test]
fn half_cauchy() {
    golden("half_cauchy", Lpdf, 1.0, &[1.0], -1.144730);
    golden("half_cauchy", Lpdf, 2.0, &[5.0], -2.209441);
}

#[test]
fn laplace() {
    golden("laplace", Lpdf, 0.0, &[0.0, 1.0], -0.693147);
}

#[test]
fn lognormal() {
    golden("lognormal", Lpdf, 1.0, &[0.0, 1.0], -0.918939);
    golden("lognormal", Lpdf, 2.0, &[0.5, 0.7], -1.293478);
}

#[test]
fn truncated_normal() {
    golden("truncated_normal", Lpdf, 0.0, &[0.0, 1.0, -1.0, 1.0], -0.537223);
    golden("truncated_normal", Lpdf, 9.0, &[0.0, 1.0, 8.0, f64::INFINITY], -6.405501);
}

#[test]
fn weibull() {
    golden("weibull", Lpdf, 1.0, &[2.0, 1.0], -0.306853);
    golden("weibull", Lpdf, 3.0, &[1.5, 2.0], -1.922067);
    golden("weibull", Lccdf, 3.0, &[1.5, 2.0], -1.837117);
}
