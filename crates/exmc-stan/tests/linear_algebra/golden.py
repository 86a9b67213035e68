"""Values and derivatives of Stan's matrix functions by NumPy: writes golden.txt beside this file.

One row a call: name | arguments | value | weights | derivatives of the weighted sum of the value by all arguments' numbers. Arrays are
kind[extents] numbers, complex ones in pairs. Order and phase are those that exmc's documentation states, applied here to NumPy's results:
eigenvalues by real part, of a conjugate pair the one above the axis first; the largest element of a vector real and positive. Derivatives
are central differences of sixth order of NumPy's values. Run: python golden.py
"""
import pathlib

import numpy as np

ROWS = []
RNG = np.random.default_rng(20260729)


def numbers(x):
    x = np.asarray(x)
    if np.iscomplexobj(x):
        return np.stack([x.real, x.imag], -1).ravel()
    return x.astype(float).ravel()


def text(kind, x):
    extents = ",".join(str(n) for n in np.shape(x))
    return f"{kind}[{extents}] " + " ".join(repr(float(v)) for v in numbers(x))


def moved(x, k, h):
    flat = numbers(x).copy()
    flat[k] += h
    if np.iscomplexobj(x):
        return (flat[0::2] + 1j * flat[1::2]).reshape(np.shape(x))
    return flat.reshape(np.shape(x))


def row(name, args, f, kind=None, differentiable=True):
    """args: (kind, value) pairs; integers are known."""
    values = [np.asarray(v) for _, v in args]
    out = np.asarray(f(*values))
    w = np.cos(1.0 + 2.3 * np.arange(len(numbers(out)))) + 0.4
    slopes = []
    if differentiable:
        h = 2e-3
        for a, (akind, _) in enumerate(args):
            if akind in ("int", "ints"):
                continue
            for k in range(len(numbers(values[a]))):
                def at(step):
                    changed = list(values)
                    changed[a] = moved(values[a], k, step)
                    return float(np.dot(w, numbers(f(*changed))))
                d = 45 * (at(h) - at(-h)) - 9 * (at(2 * h) - at(-2 * h)) + (at(3 * h) - at(-3 * h))
                slopes.append(d / (60 * h))
    kind = kind or ("complex_matrix" if np.iscomplexobj(out) else "matrix")
    ROWS.append(" | ".join([name, "; ".join(text(k, v) for k, v in args), text(kind, out), text("reals", w),
                            text("reals", slopes)]))


def phase(v):
    """Columns turned so that the largest element (first of those nearly equal) is real and positive."""
    v = np.array(v, dtype=complex)
    for k in range(v.shape[1]):
        size = np.abs(v[:, k])
        p = np.argmax(size >= size.max() * (1 - 1e-9))
        v[:, k] *= np.conj(v[p, k]) / size[p]
    return v


def ordered(values):
    scale = np.abs(values).max()
    return sorted(range(len(values)), key=lambda k: (round(values[k].real / scale, 9), -values[k].imag))


def eigen(a):
    values, vectors = np.linalg.eig(np.asarray(a, dtype=complex))
    order = ordered(values)
    vectors = vectors[:, order]
    return values[order], phase(vectors / np.linalg.norm(vectors, axis=0))


def hermitian(a):
    lower = np.tril(a, -1)
    whole = lower + lower.conj().T + np.diag(np.diag(a).real)
    values, vectors = np.linalg.eigh(whole)
    return values.astype(complex), phase(vectors)


def schur(a):
    """Gram-Schmidt of the eigenvectors in their order."""
    _, vectors = eigen(a)
    u = phase(np.linalg.qr(vectors)[0])
    return np.triu(u.conj().T @ a @ u), u


def svd(a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    turned = phase(u)
    v = vh.conj().T * (np.sum(u.conj() * turned, axis=0))
    if not np.iscomplexobj(a):
        return turned.real, s, v.real
    return turned, s, v


def random(shape, is_complex):
    x = RNG.normal(size=shape)
    return x + 1j * RNG.normal(size=shape) if is_complex else x


def main():
    kinds = {False: "matrix", True: "complex_matrix"}
    for is_complex in (False, True):
        kind = kinds[is_complex]
        for n in (1, 2, 3, 4):
            a = random((n, n), is_complex)
            row("eigenvalues", [(kind, a)], lambda a: eigen(a)[0], "complex_vector")
            row("eigenvectors", [(kind, a)], lambda a: eigen(a)[1])
            row("complex_schur_decompose_t", [(kind, a)], lambda a: schur(a)[0])
            row("complex_schur_decompose_u", [(kind, a)], lambda a: schur(a)[1])
        for shape in ((1, 1), (2, 2), (3, 3), (4, 2), (2, 5)):
            a = random(shape, is_complex)
            row("singular_values", [(kind, a)], lambda a: svd(a)[1], "vector")
            row("svd_U", [(kind, a)], lambda a: svd(a)[0])
            row("svd_V", [(kind, a)], lambda a: svd(a)[2])
    for n in (1, 3):
        a = random((n, n), True)
        a = a + a.conj().T
        row("eigenvalues_sym", [("complex_matrix", a)], lambda a: hermitian(a)[0], "complex_vector")
        row("eigenvectors_sym", [("complex_matrix", a)], lambda a: hermitian(a)[1])
    # Rotations: eigenvectors whose elements are equally large.
    turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    row("eigenvalues", [("matrix", turn)], lambda a: eigen(a)[0], "complex_vector")
    row("eigenvectors", [("matrix", turn)], lambda a: eigen(a)[1], differentiable=False)
    for shape in ((3, 3), (4, 2), (2, 3)):
        row("generalized_inverse", [("matrix", random(shape, False))], np.linalg.pinv)
    deficient = np.outer([1.0, 2.0, -1.0], [0.5, 3.0])
    row("generalized_inverse", [("matrix", deficient)], np.linalg.pinv, differentiable=False)
    for n in (1, 2, 5, 6):
        row("fft", [("complex_vector", random(n, True))], np.fft.fft, "complex_vector")
        row("inv_fft", [("complex_vector", random(n, True))], np.fft.ifft, "complex_vector")
    row("fft2", [("complex_matrix", random((2, 3), True))], np.fft.fft2)
    row("inv_fft2", [("complex_matrix", random((3, 4), True))], np.fft.ifft2)
    m, v, r = random((3, 3), True), random(3, True), random(3, True)
    cm, cv, cr = "complex_matrix", "complex_vector", "complex_row_vector"
    row("add_diag", [(cm, m), (cv, v)], lambda m, v: m + np.diag(v))
    row("add_diag", [(cm, m), ("complex", 0.3 - 0.2j)], lambda m, z: m + z * np.eye(3))
    row("diag_matrix", [(cv, v)], np.diag)
    row("diagonal", [(cm, m)], np.diag, "complex_vector")
    row("diag_pre_multiply", [(cv, v), (cm, m)], lambda v, m: np.diag(v) @ m)
    row("diag_post_multiply", [(cm, m), (cr, r)], lambda m, r: m @ np.diag(r))
    row("cumulative_sum", [(cv, v)], np.cumsum, "complex_vector")
    # Eigen's dot product is conjugate in its first argument; Stan's sums over arrays, rows and columns are not.
    row("dot_product", [(cv, v), (cr, r)], np.vdot, "complex")
    row("dot_product", [("complexes", v), ("complexes", r)], lambda a, b: np.sum(a * b), "complex")
    row("dot_self", [(cv, v)], lambda v: np.vdot(v, v) + 0j, "complex")
    b = random((3, 3), True)
    row("columns_dot_product", [(cm, m), (cm, b)], lambda a, b: np.sum(a * b, axis=0), "complex_row_vector")
    row("rows_dot_product", [(cm, m), (cm, b)], lambda a, b: np.sum(a * b, axis=1), "complex_vector")
    row("columns_dot_self", [(cm, m)], lambda a: np.sum(abs(a) ** 2, axis=0) + 0j, "complex_row_vector")
    row("rows_dot_self", [(cm, m)], lambda a: np.sum(abs(a) ** 2, axis=1) + 0j, "complex_vector")
    row("trace", [(cm, m)], np.trace, "complex")
    row("multiply", [(cm, m), (cv, v)], lambda m, v: m @ v, "complex_vector")
    row("multiply", [("complex", 0.3 + 1j), (cm, m)], lambda z, m: z * m)
    row("mdivide_right", [(cm, b), (cm, m)], lambda b, m: np.linalg.solve(m.T, b.T).T)
    row("mdivide_right", [(cr, r), (cm, m)], lambda b, m: np.linalg.solve(m.T, b), "complex_row_vector")
    row("elt_divide", [(cm, b), (cm, m + 3)], lambda b, m: b / m)
    row("symmetrize_from_lower_tri", [(cm, m)], lambda m: np.tril(m) + np.tril(m, -1).conj().T)
    row("trace_dot", [("matrix", random((2, 3), False)), ("matrix", random((3, 2), False))],
        lambda a, b: np.trace(a @ b), "real")

    def from_rows(m, n, w, v, u):
        out = np.zeros((int(m), int(n)))
        for i in range(int(m)):
            for k in range(int(u[i]) - 1, int(u[i + 1]) - 1):
                out[i, int(v[k]) - 1] = w[k]
        return out

    sparse = [("int", 3), ("int", 3), ("vector", [0.5, -1.5, 2.5]), ("ints", [1, 3, 2]), ("ints", [1, 3, 3, 4])]
    row("csr_to_dense_matrix", sparse, from_rows)
    row("csr_matrix_times_vector", sparse + [("vector", [0.3, -0.7, 1.1])], lambda *a: from_rows(*a[:5]) @ a[5],
        "vector")
    full = random((2, 3), False)
    row("csr_extract_w", [("matrix", full)], lambda a: a.ravel(), "vector")
    row("csr_extract_v", [("matrix", full)], lambda a: np.array([1, 2, 3, 1, 2, 3]), "ints", differentiable=False)
    row("csr_extract_u", [("matrix", full)], lambda a: np.array([1, 4, 7]), "ints", differentiable=False)
    here = pathlib.Path(__file__).parent
    (here / "golden.txt").write_text("\n".join(ROWS) + "\n")
    print(len(ROWS), "rows")


main()
