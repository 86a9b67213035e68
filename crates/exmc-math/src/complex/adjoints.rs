//! Adjoints of decompositions' results -> that of the matrix.
//!
//! All follow from the first-order change of the equation that defines the decomposition and of the
//! condition that fixes a vector's length and phase. A pair of equal eigenvalues or singular values
//! has no share in the change of the vectors: right for what turning the pair's vectors does not
//! change. **Reference**: Giles 2008; Boeddeker et al. 2017 (arXiv 1701.00392), complex forms.

use num_complex::Complex64;

use super::{EigenLayout, SchurLayout, SingularLayout, ZERO, get, put, size};

const I: Complex64 = Complex64::new(0.0, 1.0);

/// The quotient, zero where there is nothing to divide or nothing to divide by.
fn ratio(above: Complex64, below: Complex64) -> Complex64 {
    if above == ZERO || below == ZERO { ZERO } else { above / below }
}

/// The adjoint of the matrix of [`eigen`](super::eigen), complex `[n, n]` in front of `out`, whose
/// other numbers are memory: $V^{-*}\bar PV^*$ with $\bar P_{ij} =
/// \overline{(\lambda_j-\lambda_i)^{-1}}(V^*\bar W)_{ij}$ beside the diagonal of $\bar\lambda$,
/// $\bar W$ being $\bar V$ without what length and phase take away.
///
/// `found` and `adjoint` have the layout of [`EigenLayout`]; `out` has [`EigenLayout::adjoint_len`]
/// numbers.
pub fn eigen_adjoint(n: usize, found: &[f64], adjoint: &[f64], out: &mut [f64]) {
    between(n, (found, adjoint), out, false);
}

/// The same of [`hermitian`](super::hermitian), where $V^{-*} = V$.
pub fn hermitian_adjoint(n: usize, found: &[f64], adjoint: &[f64], out: &mut [f64]) {
    between(n, (found, adjoint), out, true);
}

impl EigenLayout {
    /// Numbers of [`eigen_adjoint`]'s result with its memory.
    pub fn adjoint_len(self) -> usize {
        6 * self.n * self.n
    }
}

fn between(n: usize, (found, adjoint): (&[f64], &[f64]), out: &mut [f64], unitary: bool) {
    let layout = EigenLayout { n };
    let v = |i: usize, j: usize| get(&found[layout.vectors()..], i * n + j);
    let v_bar = |i: usize, j: usize| get(&adjoint[layout.vectors()..], i * n + j);
    let (result, rest) = out.split_at_mut(2 * n * n);
    let (p, work) = rest.split_at_mut(2 * n * n);
    for j in 0..n {
        // `work` holds the column of W's adjoint.
        let share: Complex64 = (0..n).map(|i| v(i, j).conj() * v_bar(i, j)).sum();
        let row = found[layout.pivots() + j] as usize;
        for i in 0..n {
            let mut w_bar = v_bar(i, j) - v(i, j) * share.re;
            if i == row && share.im != 0.0 {
                w_bar -= I * (share.im / v(row, j).re);
            }
            put(work, i, w_bar);
        }
        for i in 0..n {
            let value = if i == j {
                get(adjoint, j)
            } else {
                let turned: Complex64 = (0..n).map(|k| v(k, i).conj() * get(work, k)).sum();
                let gap = (get(found, j) - get(found, i)).conj();
                if unitary { turned } else { ratio(turned, gap) }
            };
            put(p, i * n + j, value);
        }
    }
    if unitary {
        halve(n, found, p);
    }
    // P V*, row by row.
    for i in 0..n {
        for j in 0..n {
            let sum: Complex64 = (0..n).map(|k| get(p, i * n + k) * v(j, k).conj()).sum();
            put(result, i * n + j, sum);
        }
    }
    if unitary {
        p.copy_from_slice(result);
        for i in 0..n {
            for j in 0..n {
                let sum: Complex64 = (0..n).map(|k| v(i, k) * get(p, k * n + j)).sum();
                put(result, i * n + j, sum);
            }
        }
        return;
    }
    for i in 0..n {
        for j in 0..n {
            put(p, i * n + j, v(j, i).conj());
        }
    }
    solve(n, p, result);
}

/// The Hermitian part of what is divided by gaps: the difference is taken first, so that what
/// turning the vectors of close values does not change loses no digits.
fn halve(n: usize, found: &[f64], p: &mut [f64]) {
    for i in 0..n {
        for j in 0..i {
            let difference = get(p, i * n + j) - get(p, j * n + i).conj();
            let part = ratio(difference * 0.5, get(found, j) - get(found, i));
            put(p, i * n + j, part);
            put(p, j * n + i, part.conj());
        }
    }
}

/// Gauss's elimination with partial pivoting: `a` is lost, `b` becomes $A^{-1}B$.
fn solve(n: usize, a: &mut [f64], b: &mut [f64]) {
    for k in 0..n {
        let mut best = k;
        for i in k + 1..n {
            if get(a, i * n + k).norm_sqr() > get(a, best * n + k).norm_sqr() {
                best = i;
            }
        }
        for matrix in [&mut *a, &mut *b] {
            for j in 0..2 * n {
                matrix.swap(k * 2 * n + j, best * 2 * n + j);
            }
        }
        for i in k + 1..n {
            let factor = get(a, i * n + k) / get(a, k * n + k);
            for j in k..n {
                put(a, i * n + j, get(a, i * n + j) - factor * get(a, k * n + j));
            }
            for j in 0..n {
                put(b, i * n + j, get(b, i * n + j) - factor * get(b, k * n + j));
            }
        }
    }
    for i in (0..n).rev() {
        for j in 0..n {
            let known: Complex64 = (i + 1..n).map(|k| get(a, i * n + k) * get(b, k * n + j)).sum();
            put(b, i * n + j, (get(b, i * n + j) - known) / get(a, i * n + i));
        }
    }
}

/// The adjoint of the matrix of [`schur`](super::schur), complex `[n, n]` in front of `out`, of `6
/// n n` numbers.
///
/// With $dU = U\Omega$ the change of the form is $dT = U^*dA\,U - \Omega T + T\Omega$, whose lower
/// part is zero: that gives the lower part of $\Omega$, its being anti-Hermitian the upper one, U's
/// phases the diagonal. The equations are solved backwards, transposed. `found` and `adjoint` have
/// the layout of [`SchurLayout`]; the listed values have their adjoints too.
pub fn schur_adjoint(n: usize, found: &[f64], adjoint: &[f64], out: &mut [f64]) {
    let layout = SchurLayout { n };
    let t = |i: usize, j: usize| get(found, i * n + j);
    let u = |i: usize, j: usize| get(&found[layout.unitary()..], i * n + j);
    let u_bar = |i: usize, j: usize| get(&adjoint[layout.unitary()..], i * n + j);
    let (result, rest) = out.split_at_mut(2 * n * n);
    let (h, x) = rest.split_at_mut(2 * n * n);
    // The adjoint of T's upper triangle.
    for i in 0..n {
        for j in 0..n {
            let t_bar = match i.cmp(&j) {
                std::cmp::Ordering::Less => get(adjoint, i * n + j),
                std::cmp::Ordering::Equal => {
                    get(adjoint, i * n + j) + get(&adjoint[layout.values()..], i)
                }
                std::cmp::Ordering::Greater => ZERO,
            };
            put(x, i * n + j, t_bar);
        }
    }
    // That of all of Omega: U*U_bar - (T_bar T* - T* T_bar).
    for i in 0..n {
        for j in 0..n {
            let product: Complex64 = (0..n).map(|k| u(k, i).conj() * u_bar(k, j)).sum();
            let after: Complex64 = (i.max(j)..n).map(|k| get(x, i * n + k) * t(j, k).conj()).sum();
            let before: Complex64 =
                (0..=i.min(j)).map(|k| t(k, i).conj() * get(x, k * n + j)).sum();
            put(h, i * n + j, product - after + before);
        }
    }
    for j in 0..n {
        let row = found[layout.values() + 2 * n + j] as usize;
        let weight = get(h, j * n + j).im / u(row, j).re;
        if weight != 0.0 {
            for k in (0..n).filter(|k| *k != j) {
                let step = I * weight * u(row, k).conj();
                put(h, k * n + j, get(h, k * n + j) - step);
            }
        }
    }
    // The lower part, away from the diagonal.
    for distance in 1..n {
        for j in 0..n - distance {
            let i = j + distance;
            let mut numerator = get(h, i * n + j) - get(h, j * n + i).conj();
            for k in j + 1..i {
                numerator -= get(x, i * n + k) * t(j, k).conj();
                numerator += t(k, i).conj() * get(x, k * n + j);
            }
            put(x, i * n + j, ratio(numerator, (t(j, j) - t(i, i)).conj()));
        }
    }
    // U X U*.
    for i in 0..n {
        for j in 0..n {
            let sum: Complex64 = (0..n).map(|k| get(x, i * n + k) * u(j, k).conj()).sum();
            put(h, i * n + j, sum);
        }
    }
    for i in 0..n {
        for j in 0..n {
            let sum: Complex64 = (0..n).map(|k| u(i, k) * get(h, k * n + j)).sum();
            put(result, i * n + j, sum);
        }
    }
}

/// What is left of a vector of that size, over a singular value; a rest of rounding size is none.
fn over(rest: Complex64, scale: f64, value: f64) -> Complex64 {
    if size(rest) <= 1e-15 * scale { ZERO } else { rest / value }
}

impl SingularLayout {
    /// Numbers of [`singular_adjoint`]'s result, complex `[rows, columns]`, with its memory.
    pub fn adjoint_len(self) -> usize {
        let count = self.count();
        2 * self.rows * self.columns + 2 * count * (self.rows + self.columns + count)
    }
}

/// The adjoint of the matrix of [`singular`](super::singular), complex `[rows, columns]` in front
/// of `out`: $U\bar PV^* + (1-UU^*)\bar WS^{-1}V^* + US^{-1}\bar V^*(1-VV^*)$, with $\bar P_{ij} =
/// \big((G-G^*)_{ij}s_j + (H-H^*)_{ij}s_i\big)/(s_j^2-s_i^2)$, $G = U^*\bar W$, $H = V^*\bar V$,
/// beside a diagonal of $\bar s$ and of what the phase of V takes from U's, and $\bar W$ being
/// $\bar U$ with what the condition on the phase adds.
pub fn singular_adjoint(layout: SingularLayout, found: &[f64], adjoint: &[f64], out: &mut [f64]) {
    let SingularLayout { rows, columns } = layout;
    let count = layout.count();
    let s = &found[..count];
    let u = |i: usize, j: usize| get(&found[layout.left()..], i * count + j);
    let v = |i: usize, j: usize| get(&found[layout.right()..], i * count + j);
    let v_bar = |i: usize, j: usize| get(&adjoint[layout.right()..], i * count + j);
    let (result, rest) = out.split_at_mut(2 * rows * columns);
    let (w, rest) = rest.split_at_mut(2 * rows * count);
    let (z, p) = rest.split_at_mut(2 * columns * count);
    w.copy_from_slice(&adjoint[layout.left()..layout.right()]);
    for j in 0..count {
        let of_left: Complex64 = (0..rows).map(|i| u(i, j).conj() * get(w, i * count + j)).sum();
        let of_right: Complex64 = (0..columns).map(|i| v(i, j).conj() * v_bar(i, j)).sum();
        let row = found[layout.pivots() + j] as usize;
        let weight = of_left.im + of_right.im;
        if weight != 0.0 {
            put(w, row * count + j, get(w, row * count + j) - I * (weight / u(row, j).re));
        }
        let phase = if of_right.im == 0.0 { 0.0 } else { -of_right.im / s[j] };
        put(p, j * count + j, Complex64::new(adjoint[j], phase));
    }
    let left = |w: &[f64], i: usize, j: usize| -> Complex64 {
        (0..rows).map(|k| u(k, i).conj() * get(w, k * count + j)).sum()
    };
    let right = |i: usize, j: usize| -> Complex64 {
        (0..columns).map(|k| v(k, i).conj() * v_bar(k, j)).sum()
    };
    for i in 0..count {
        for j in (0..count).filter(|j| *j != i) {
            let g = left(w, i, j) - left(w, j, i).conj();
            let h = right(i, j) - right(j, i).conj();
            let gap = (s[j] - s[i]) * (s[j] + s[i]);
            put(p, i * count + j, ratio(g * s[j] + h * s[i], Complex64::new(gap, 0.0)));
        }
    }
    // (1 - UU*) W over s, and the same for the right side; shares of rounding size are none.
    for (j, &value) in s.iter().enumerate() {
        let scale = (0..rows).map(|i| size(get(w, i * count + j))).fold(0.0, f64::max);
        for i in 0..rows {
            let inside: Complex64 = (0..count).map(|k| u(i, k) * left(w, k, j)).sum();
            put(result, i, over(get(w, i * count + j) - inside, scale, value));
        }
        (0..rows).for_each(|i| put(w, i * count + j, get(result, i)));
    }
    for (j, &value) in s.iter().enumerate() {
        let scale = (0..columns).map(|i| size(v_bar(i, j))).fold(0.0, f64::max);
        for i in 0..columns {
            let inside: Complex64 = (0..count).map(|k| v(i, k) * right(k, j)).sum();
            put(z, i * count + j, over(v_bar(i, j) - inside, scale, value));
        }
    }
    for i in 0..rows {
        for j in 0..columns {
            let mut sum = ZERO;
            for k in 0..count {
                let inner: Complex64 = (0..count).map(|l| u(i, l) * get(p, l * count + k)).sum();
                sum += (inner + get(w, i * count + k)) * v(j, k).conj();
                sum += u(i, k) * get(z, j * count + k).conj();
            }
            put(result, i * columns + j, sum);
        }
    }
}
