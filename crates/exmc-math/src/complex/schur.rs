//! A complex matrix -> its Schur form, by reflections to a Hessenberg matrix and QR steps with
//! Wilkinson's shift.
//!
//! **Reference**: Golub and Van Loan 2013, sections 7.4.2 and 7.5; Bai and Demmel 1993 for the
//! order.

use num_complex::Complex64;

use super::{ONE, ZERO, get, pivot, put, scale_of, size, to_positive};

/// QR steps for one eigenvalue; two or three are usual.
const MAX_STEPS: usize = 80;

/// Real parts that differ by less than this share of the matrix's size count as equal.
const SAME: f64 = 1e-12;

/// Where the parts of [`schur`]'s result are, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchurLayout {
    /// Rows of the matrix.
    pub n: usize,
}

impl SchurLayout {
    /// T, complex `[n, n]`, starts at 0; U there.
    pub fn unitary(self) -> usize {
        2 * self.n * self.n
    }

    /// Eigenvalues, complex `[n]`, and then the row of each column of U that is real, `[n]`.
    pub fn values(self) -> usize {
        4 * self.n * self.n
    }

    /// Numbers in all.
    pub fn len(self) -> usize {
        4 * self.n * self.n + 3 * self.n
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.n == 0
    }
}

/// $A = UTU^*$, U unitary, T upper triangular: `out` as [`SchurLayout`] says.
///
/// **Order**: the diagonal of T ascends by real part; real parts that are equal up to rounding (a
/// share of 1e-12 of the largest element times n) descend by imaginary part, so that of a conjugate
/// pair the value above the axis comes first. The listed eigenvalues of a real matrix are exactly
/// real or in exactly conjugate pairs. **Edges**: NaN everywhere where an element is not finite.
/// **Panics** if lengths disagree.
///
/// ```
/// use exmc_math::complex::{SchurLayout, schur};
/// let layout = SchurLayout { n: 2 };
/// let mut out = vec![0.0; layout.len()];
/// schur(&[0.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0, 0.0], &mut out);
/// let values = &out[layout.values()..];
/// assert!(values[0].abs() < 1e-15 && (values[1] - 1.0).abs() < 1e-15 && (values[3] + 1.0).abs() < 1e-15);
/// ```
pub fn schur(a: &[f64], out: &mut [f64]) {
    let n = (a.len() / 2).isqrt();
    let layout = SchurLayout { n };
    assert!(
        a.len() == 2 * n * n && out.len() == layout.len(),
        "a Schur form is of a square matrix"
    );
    let Some(factor) = scale_of(a) else {
        out.fill(f64::NAN);
        return;
    };
    let (t, rest) = out.split_at_mut(layout.unitary());
    let (u, rest) = rest.split_at_mut(layout.unitary());
    let (values, pivots) = rest.split_at_mut(2 * n);
    for (t, a) in t.iter_mut().zip(a) {
        *t = a * factor;
    }
    u.fill(0.0);
    (0..n).for_each(|k| put(u, k * n + k, ONE));
    let largest = t.iter().fold(0.0_f64, |m, x| m.max(x.abs())) * n as f64;
    let is_real = a.iter().skip(1).step_by(2).all(|im| *im == 0.0);
    hessenberg(n, t, u);
    if !triangular(n, t, u) {
        out.fill(f64::NAN);
        return;
    }
    (0..n).for_each(|k| put(values, k, get(t, k * n + k)));
    if is_real {
        pair(n, values, pivots);
    }
    sort(n, (t, u), values, SAME * largest);
    // Phases: column k of U turns by p, so row k of T by its conjugate and column k by p.
    for k in 0..n {
        let row = pivot(u, k, n, n);
        let phase = to_positive(get(u, row * n + k));
        for i in 0..n {
            put(u, i * n + k, get(u, i * n + k) * phase);
            put(t, i * n + k, get(t, i * n + k) * phase);
        }
        u[2 * (row * n + k) + 1] = 0.0;
        for j in 0..n {
            put(t, k * n + j, get(t, k * n + j) * phase.conj());
        }
        pivots[k] = row as f64;
    }
    t.iter_mut().chain(values).for_each(|x| *x /= factor);
}

/// Reflections that clear what is below the first subdiagonal.
fn hessenberg(n: usize, t: &mut [f64], u: &mut [f64]) {
    for k in 0..n.saturating_sub(2) {
        let tail: f64 = (k + 2..n).map(|i| get(t, i * n + k).norm_sqr()).sum();
        if tail == 0.0 {
            continue;
        }
        let first = get(t, (k + 1) * n + k);
        let length = (tail + first.norm_sqr()).sqrt();
        // The vector of the reflection stays in the column until it has been applied.
        let reflector_head = first + to_positive(first).conj() * length;
        let half = 0.5 * (tail + reflector_head.norm_sqr());
        put(t, (k + 1) * n + k, reflector_head);
        for j in k + 1..n {
            let share: Complex64 =
                (k + 1..n).map(|i| get(t, i * n + k).conj() * get(t, i * n + j)).sum::<Complex64>()
                    / half;
            for i in k + 1..n {
                put(t, i * n + j, get(t, i * n + j) - get(t, i * n + k) * share);
            }
        }
        for matrix in [0, 1] {
            for i in 0..n {
                let share: Complex64 = (k + 1..n)
                    .map(|j| {
                        get(if matrix == 0 { &*t } else { &*u }, i * n + j) * get(t, j * n + k)
                    })
                    .sum::<Complex64>()
                    / half;
                for j in k + 1..n {
                    let step = share * get(t, j * n + k).conj();
                    let target = if matrix == 0 { &mut *t } else { &mut *u };
                    put(target, i * n + j, get(target, i * n + j) - step);
                }
            }
        }
        put(t, (k + 1) * n + k, -to_positive(first).conj() * length);
        (k + 2..n).for_each(|i| put(t, i * n + k, ZERO));
    }
}

/// QR steps until everything below the diagonal is zero; whether they converge.
fn triangular(n: usize, t: &mut [f64], u: &mut [f64]) -> bool {
    let (mut high, mut steps) = (n.saturating_sub(1), 0);
    while high > 0 {
        let taxi = |z: Complex64| z.re.abs() + z.im.abs();
        let low = (1..=high).rev().find(|&k| {
            let beside = taxi(get(t, (k - 1) * n + k - 1)) + taxi(get(t, k * n + k));
            let below = taxi(get(t, k * n + k - 1));
            below <= f64::EPSILON * beside || below < f64::MIN_POSITIVE
        });
        let low = low.unwrap_or(0);
        if low > 0 {
            put(t, low * n + low - 1, ZERO);
        }
        if low == high {
            (high, steps) = (high - 1, 0);
            continue;
        }
        if steps == MAX_STEPS {
            return false;
        }
        steps += 1;
        let shift = match steps % 11 {
            0 => get(t, high * n + high) + taxi(get(t, high * n + high - 1)),
            _ => wilkinson([
                get(t, (high - 1) * n + high - 1),
                get(t, (high - 1) * n + high),
                get(t, high * n + high - 1),
                get(t, high * n + high),
            ]),
        };
        let (mut x, mut y) = (get(t, low * n + low) - shift, get(t, (low + 1) * n + low));
        for k in low..high {
            turn(n, (t, u), k, (x, y));
            if k > low {
                put(t, (k + 1) * n + k - 1, ZERO);
            }
            if k + 1 < high {
                (x, y) = (get(t, (k + 1) * n + k), get(t, (k + 2) * n + k));
            }
        }
    }
    true
}

/// The eigenvalue of `[a, b; c, d]` that is closer to d.
fn wilkinson([a, b, c, d]: [Complex64; 4]) -> Complex64 {
    let half = (a - d) * 0.5;
    let product = b * c;
    let root = root(half * half + product);
    let (plus, minus) = (half + root, half - root);
    let denominator = if plus.norm_sqr() >= minus.norm_sqr() { plus } else { minus };
    if denominator == ZERO { d } else { d - product / denominator }
}

fn root(z: Complex64) -> Complex64 {
    let length = size(z);
    let large = (0.5 * (length + z.re.abs())).sqrt();
    if large == 0.0 {
        return ZERO;
    }
    let small = 0.5 * z.im / large;
    if z.re >= 0.0 {
        Complex64::new(large, small)
    } else {
        Complex64::new(small.abs(), large.copysign(z.im))
    }
}

/// The rotation of rows k and k + 1 that brings (x, y) to (r, 0), its inverse on columns of T and
/// U.
fn turn(n: usize, (t, u): (&mut [f64], &mut [f64]), k: usize, (x, y): (Complex64, Complex64)) {
    let length = (x.norm_sqr() + y.norm_sqr()).sqrt();
    if length == 0.0 {
        return;
    }
    let (c, s) = (x / length, y / length);
    for j in 0..n {
        let (above, below) = (get(t, k * n + j), get(t, (k + 1) * n + j));
        put(t, k * n + j, c.conj() * above + s.conj() * below);
        put(t, (k + 1) * n + j, c * below - s * above);
    }
    for matrix in [t, u] {
        for i in 0..n {
            let (left, right) = (get(matrix, i * n + k), get(matrix, i * n + k + 1));
            put(matrix, i * n + k, left * c + right * s);
            put(matrix, i * n + k + 1, right * c.conj() - left * s.conj());
        }
    }
}

/// Eigenvalues of a real matrix, made real or exactly conjugate; `done` has a number for each.
fn pair(n: usize, values: &mut [f64], done: &mut [f64]) {
    done.fill(0.0);
    loop {
        // The highest above the axis that is left finds its image, or is nearer to its own: then it
        // is real.
        let above = (0..n).filter(|k| done[*k] == 0.0 && values[2 * k + 1] > 0.0);
        let Some(k) = above.max_by(|a, b| values[2 * a + 1].total_cmp(&values[2 * b + 1])) else {
            break;
        };
        let value = get(values, k);
        let distance = |j: usize| (get(values, j) - value.conj()).norm_sqr();
        let others = (0..n).filter(|j| done[*j] == 0.0 && *j != k && values[2 * j + 1] < 0.0);
        let image = others.min_by(|a, b| distance(*a).total_cmp(&distance(*b)));
        done[k] = 1.0;
        match image.filter(|j| distance(*j) < 4.0 * value.im * value.im) {
            Some(j) => {
                done[j] = 1.0;
                put(values, j, value.conj());
            }
            None => values[2 * k + 1] = 0.0,
        }
    }
    for k in 0..n {
        if done[k] == 0.0 {
            values[2 * k + 1] = 0.0;
        }
    }
}

/// Brings the diagonal into order by rotations that swap neighbours.
fn sort(n: usize, (t, u): (&mut [f64], &mut [f64]), values: &mut [f64], same: f64) {
    let swap = |t: &mut [f64], u: &mut [f64], values: &mut [f64], k: usize| {
        let difference = get(t, (k + 1) * n + k + 1) - get(t, k * n + k);
        let above = get(t, k * n + k + 1);
        turn(n, (&mut *t, &mut *u), k, (above, difference));
        put(t, (k + 1) * n + k, ZERO);
        let (first, second) = (get(values, k), get(values, k + 1));
        put(values, k, second);
        put(values, k + 1, first);
    };
    for end in (1..n).rev() {
        for k in 0..end {
            if values[2 * k] > values[2 * k + 2] {
                swap(t, u, values, k);
            }
        }
    }
    let mut start = 0;
    while start < n {
        let apart = (start + 1..n).find(|k| values[2 * k] - values[2 * k - 2] > same);
        let stop = apart.unwrap_or(n);
        for end in (start + 1..stop).rev() {
            for k in start..end {
                if values[2 * k + 1] < values[2 * k + 3] {
                    swap(t, u, values, k);
                }
            }
        }
        start = stop;
    }
}
