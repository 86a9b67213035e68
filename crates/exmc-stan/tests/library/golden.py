"""Values of Stan's library functions by NumPy and SciPy: writes golden.txt beside this file.

One row a call: name | arguments | value, each array as kind[extents] numbers. Formulas are those of the
Stan functions reference. Run with NumPy and SciPy: python golden.py
"""
import pathlib

import numpy as np
from scipy import linalg, special, stats

ROWS = []


class Arg:
    def __init__(self, kind, value):
        self.kind, self.value = kind, np.asarray(value, dtype=float)


def i(value): return Arg("int", value)
def r(value): return Arg("real", value)
def v(value): return Arg("vector", value)
def rv(value): return Arg("row_vector", value)
def m(value): return Arg("matrix", value)
def ia(value): return Arg("ints", value)
def ra(value): return Arg("reals", value)
def va(value): return Arg("vectors", value)


def text(kind, value):
    value = np.asarray(value, dtype=float)
    extents = ",".join(str(e) for e in value.shape)
    return f"{kind}[{extents}] " + " ".join(repr(float(x)) for x in value.ravel())


def row(name, args, value):
    ROWS.append(" | ".join([name, "; ".join(text(a.kind, a.value) for a in args), text("value", value)]))


def elementwise():
    x = np.array([0.3, 1.7, -0.8])
    unit = np.array([0.2, 0.55, 0.93])
    positive = np.array([0.4, 1.3, 7.2])
    table = {
        "abs": (x, np.abs), "exp": (x, np.exp), "exp2": (x, np.exp2), "expm1": (x, np.expm1),
        "log": (positive, np.log), "log2": (positive, np.log2), "log10": (positive, np.log10),
        "log1p": (positive, np.log1p), "log1m": (unit, lambda u: np.log1p(-u)),
        "log1p_exp": (x, lambda u: np.logaddexp(0, u)), "log1m_exp": (-positive, lambda u: np.log1p(-np.exp(u))),
        "log_inv_logit": (x, special.log_expit), "log1m_inv_logit": (x, lambda u: special.log_expit(-u)),
        "logit": (unit, special.logit), "inv_logit": (x, special.expit),
        "inv_cloglog": (x, lambda u: -np.expm1(-np.exp(u))), "sqrt": (positive, np.sqrt), "cbrt": (x, np.cbrt),
        "square": (x, np.square), "inv": (x, lambda u: 1 / u), "inv_sqrt": (positive, lambda u: u ** -0.5),
        "inv_square": (x, lambda u: u ** -2), "sin": (x, np.sin), "cos": (x, np.cos), "tan": (x, np.tan),
        "asin": (unit, np.arcsin), "acos": (unit, np.arccos), "atan": (x, np.arctan), "sinh": (x, np.sinh),
        "cosh": (x, np.cosh), "tanh": (x, np.tanh), "asinh": (x, np.arcsinh), "acosh": (1 + positive, np.arccosh),
        "atanh": (unit, np.arctanh), "erf": (x, special.erf), "erfc": (x, special.erfc),
        "inv_erfc": (unit, special.erfcinv), "Phi": (x, special.ndtr),
        "Phi_approx": (x, lambda u: special.expit(0.07056 * u ** 3 + 1.5976 * u)), "inv_Phi": (unit, special.ndtri),
        "lgamma": (positive, special.gammaln), "tgamma": (np.array([0.4, 3.3, -1.7]), special.gamma),
        "digamma": (positive, special.digamma), "trigamma": (positive, lambda u: special.polygamma(1, u)),
        "minus": (x, np.negative), "floor": (x, np.floor), "ceil": (x, np.ceil), "trunc": (x, np.trunc),
        "std_normal_log_qf": (np.log(unit), lambda u: special.ndtri(np.exp(u))),
        "round": (x, np.round), "step": (x, lambda u: (u >= 0).astype(float)), "int_step": (x, lambda u: (u > 0).astype(float)),
    }
    for name, (at, f) in table.items():
        row(name, [v(at)], f(at))
    row("exp", [r(0.4)], np.exp(0.4))
    row("exp", [m([[0.1, -0.2], [1.0, 0.5]])], np.exp([[0.1, -0.2], [1.0, 0.5]]))
    a, b = np.array([0.6, 1.5, 3.1]), np.array([2.1, 0.7, 1.2])
    two = {
        "add": np.add, "subtract": np.subtract, "elt_multiply": np.multiply, "elt_divide": np.divide, "pow": np.power,
        "fmin": np.minimum, "fmax": np.maximum, "fdim": lambda p, q: np.maximum(p - q, 0), "fmod": np.fmod,
        "atan2": np.arctan2, "hypot": np.hypot, "beta": special.beta, "lbeta": special.betaln,
        "multiply_log": lambda p, q: p * np.log(q), "lmultiply": lambda p, q: p * np.log(q),
        "log_rising_factorial": lambda p, q: special.gammaln(p + q) - special.gammaln(p),
        "rising_factorial": special.poch, "gamma_p": special.gammainc, "gamma_q": special.gammaincc,
        "owens_t": special.owens_t,
        "log_falling_factorial": lambda p, q: special.gammaln(p + 1) - special.gammaln(p - q + 1),
    }
    for name, f in two.items():
        p, q = (a + 2, b) if "falling" in name else (a, b)
        row(name, [v(p), v(q)], f(p, q))
        row(name, [r(p[0]), v(q)], f(p[0], q))
        row(name, [v(p), r(q[0])], f(p, q[0]))
    row("log_diff_exp", [v([1.2, 0.3]), v([0.4, -2.0])], np.log(np.exp([1.2, 0.3]) - np.exp([0.4, -2.0])))
    row("log_inv_logit_diff", [v([1.2, 0.3]), v([0.4, -2.0])],
        np.log(special.expit([1.2, 0.3]) - special.expit([0.4, -2.0])))
    row("lchoose", [v([7.5, 9.0]), v([2.0, 3.5])], [
        special.gammaln(8.5) - special.gammaln(3) - special.gammaln(6.5),
        special.gammaln(10) - special.gammaln(4.5) - special.gammaln(6.5)])
    row("log_sum_exp", [r(0.7), r(-1.1)], np.logaddexp(0.7, -1.1))
    for order in (0, 1, 4, -2):
        row("modified_bessel_first_kind", [i(order), v(x)], special.iv(order, x))
        row("modified_bessel_second_kind", [i(order), v(positive)], special.kv(order, positive))
    row("modified_bessel_first_kind", [i(2), r(31.0)], special.iv(2, 31.0))
    row("modified_bessel_second_kind", [i(3), r(0.9)], special.kv(3, 0.9))
    for order, at in ((1.7, 0.8), (0.0, 2.1), (-0.6, 1.2), (2.5, 300.0), (60.0, 4.0), (0.4, 2e5)):
        row("log_modified_bessel_first_kind", [r(order), r(at)], np.log(special.ive(order, at)) + at)
    row("lmgamma", [i(3), r(4.2)], special.multigammaln(4.2, 3))
    row("fma", [r(2.0), r(3.5), r(-1.0)], 6.0)
    row("inc_beta", [r(2.3), r(1.4), r(0.35)], special.betainc(2.3, 1.4, 0.35))
    for power in (-1, 1, 2, 3, 4):
        row("pow", [v([0.6, -1.4]), i(power)], np.array([0.6, -1.4]) ** power)


X = np.array([[1.2, -0.4, 0.3], [0.5, 2.0, -1.1]])
S = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.4], [0.1, -0.4, 1.1]])
L = linalg.cholesky(S, lower=True)
A = np.array([[1.5, 0.2, -0.7], [0.4, -2.0, 0.3], [0.9, 0.6, 1.3]])
u = np.array([0.5, -1.2, 2.2])
w = np.array([1.1, 0.3, -0.6])


def reductions():
    for arg in (v(u), rv(u), ra(u), m(X)):
        a = arg.value
        row("sum", [arg], a.sum())
        row("prod", [arg], a.prod())
        row("mean", [arg], a.mean())
        row("sd", [arg], a.std(ddof=1))
        row("variance", [arg], a.var(ddof=1))
        row("max", [arg], a.max())
        row("min", [arg], a.min())
        row("log_sum_exp", [arg], special.logsumexp(a))
    row("sd", [v([4.0])], 0.0)
    row("dot_self", [v(u)], u @ u)
    row("dot_product", [v(u), v(w)], u @ w)
    row("dot_product", [rv(u), v(w)], u @ w)
    row("dot_product", [ra(u), ra(w)], u @ w)
    row("norm1", [v(u)], np.abs(u).sum())
    row("norm2", [v(u)], np.sqrt(u @ u))
    row("distance", [v(u), v(w)], linalg.norm(u - w))
    row("squared_distance", [v(u), v(w)], (u - w) @ (u - w))
    Y = X[::-1] + 0.25
    row("rows_dot_product", [m(X), m(Y)], (X * Y).sum(1))
    row("columns_dot_product", [m(X), m(Y)], (X * Y).sum(0))
    row("rows_dot_product", [v(u), v(w)], u * w)
    row("columns_dot_product", [v(u), v(w)], [u @ w])
    row("rows_dot_self", [m(X)], (X * X).sum(1))
    row("columns_dot_self", [m(X)], (X * X).sum(0))
    row("trace", [m(A)], np.trace(A))


def products():
    row("multiply", [m(X), v(u)], X @ u)
    row("multiply", [rv(u), v(w)], u @ w)
    row("multiply", [v(u), rv(w[:2])], np.outer(u, w[:2]))
    row("multiply", [rv(w[:2]), m(X)], w[:2] @ X)
    row("multiply", [m(X), m(A)], X @ A)
    row("multiply", [r(1.5), m(X)], 1.5 * X)
    row("multiply", [m(X), r(1.5)], 1.5 * X)
    row("multiply", [v(u), r(1.5)], 1.5 * u)
    row("multiply", [m([[1.0], [2.0]]), rv(w)], np.outer([1.0, 2.0], w))
    row("divide", [v(u), r(1.5)], u / 1.5)
    row("tcrossprod", [m(X)], X @ X.T)
    row("crossprod", [m(X)], X.T @ X)
    row("multiply_lower_tri_self_transpose", [m(A)], np.tril(A) @ np.tril(A).T)
    row("diag_pre_multiply", [v(u), m(A)], np.diag(u) @ A)
    row("diag_post_multiply", [m(A), v(u)], A @ np.diag(u))
    row("quad_form_diag", [m(S), v(u)], np.diag(u) @ S @ np.diag(u))
    row("quad_form", [m(A), v(u)], u @ A @ u)
    row("quad_form", [m(S), m(X.T)], X @ S @ X.T)
    row("quad_form_sym", [m(S), v(u)], u @ S @ u)
    row("trace_quad_form", [m(S), m(X.T)], np.trace(X @ S @ X.T))
    row("trace_quad_form", [m(S), v(u)], u @ S @ u)
    D = np.array([[0.7, 0.2], [-0.3, 1.9]])
    row("trace_gen_quad_form", [m(D), m(S), m(X.T)], np.trace(D @ X @ S @ X.T))
    # The matrix [[0, 2.5, 0], [1.5, 0, -0.5]] in compressed rows.
    row("csr_matrix_times_vector", [i(2), i(3), v([2.5, 1.5, -0.5]), ia([2, 1, 3]), ia([1, 2, 4]), v(u)],
        np.array([[0, 2.5, 0], [1.5, 0, -0.5]]) @ u)


def solves():
    row("cholesky_decompose", [m(S)], L)
    row("mdivide_left_tri_low", [m(L), v(u)], linalg.solve(L, u))
    row("mdivide_left_tri_low", [m(L), m(A)], linalg.solve(L, A))
    row("mdivide_right_tri_low", [rv(u), m(L)], linalg.solve(L.T, u))
    row("mdivide_right_tri_low", [m(X), m(L)], X @ linalg.inv(L))
    row("mdivide_left_spd", [m(S), v(u)], linalg.solve(S, u))
    row("mdivide_left_spd", [m(S), m(A)], linalg.solve(S, A))
    row("mdivide_left", [m(A), v(u)], linalg.solve(A, u))
    row("mdivide_left", [m(A), m(X.T)], linalg.solve(A, X.T))
    row("mdivide_right", [rv(u), m(A)], u @ linalg.inv(A))
    row("divide", [m(X), m(A)], X @ linalg.inv(A))
    row("mdivide_right_spd", [m(X), m(S)], X @ linalg.inv(S))
    row("inverse", [m(A)], linalg.inv(A))
    row("inverse_spd", [m(S)], linalg.inv(S))
    row("chol2inv", [m(L)], linalg.inv(S))
    row("log_determinant", [m(A)], np.log(abs(linalg.det(A))))
    row("log_determinant_spd", [m(S)], np.log(linalg.det(S)))
    row("determinant", [m(A)], linalg.det(A))
    row("determinant", [m(S)], linalg.det(S))


def eigen():
    values, vectors = linalg.eigh(S)
    row("eigenvalues_sym", [m(S)], values)
    # Signs are arbitrary; a function of the vectors that does not see them is compared in eigen.rs.
    five = np.diag([2.0, 1.1, 0.4, 3.0, 0.9]) + 0.15 * np.outer(np.arange(5) - 1.5, np.arange(5) - 1.5)
    row("eigenvalues_sym", [m(five)], linalg.eigvalsh(five))
    row("eigenvalues_sym", [m([[1.7]])], [1.7])
    row("eigenvalues_sym", [m([[2.0, 0.0], [0.0, 1.0]])], [1.0, 2.0])
    row("matrix_power", [m(A), i(3)], A @ A @ A)
    row("matrix_power", [m(A), i(0)], np.eye(3))


def exponentials():
    row("matrix_exp", [m(A)], linalg.expm(A))
    row("matrix_exp", [m(0.05 * A)], linalg.expm(0.05 * A))
    row("matrix_exp", [m([[-3.0]])], [[np.exp(-3.0)]])
    # Rates of a chain of compartments, over a long time: many squarings.
    rates = np.array([[-2.0, 0.5, 0.0], [2.0, -1.5, 0.3], [0.0, 1.0, -0.3]])
    row("matrix_exp", [m(40.0 * rates)], linalg.expm(40.0 * rates))
    row("matrix_exp_multiply", [m(A), m(X.T)], linalg.expm(A) @ X.T)
    row("scale_matrix_exp_multiply", [r(0.7), m(A), m(X.T)], linalg.expm(0.7 * A) @ X.T)


def orthogonal():
    for a in (A, X, X.T, np.array([[-2.0]])):
        q, upper = np.linalg.qr(a)
        signs = np.sign(np.diag(upper))
        q, upper = q * signs, upper * signs[:, None]
        row("qr_thin_Q", [m(a)], q)
        row("qr_thin_R", [m(a)], upper)
        whole, square = np.linalg.qr(a, mode="complete")
        whole[:, :len(signs)] *= np.sign(np.diag(square))
        row("qr_Q", [m(a)], whole)
        row("qr_R", [m(a)], np.vstack([upper, np.zeros((a.shape[0] - upper.shape[0], a.shape[1]))]))
        left, values, right = np.linalg.svd(a, full_matrices=False)
        turn = np.sign(left[np.abs(left).argmax(0), np.arange(len(values))])
        row("singular_values", [m(a)], values)
        row("svd_U", [m(a)], left * turn)
        row("svd_V", [m(a)], right.T * turn)
    row("sort_asc", [v(u)], np.sort(u))
    row("sort_asc", [ra(u)], np.sort(u))
    row("sort_desc", [rv(u)], np.sort(u)[::-1])
    row("rank", [v(u), i(1)], 1)


def shapes():
    row("rep_vector", [r(1.5), i(3)], [1.5] * 3)
    row("rep_row_vector", [r(1.5), i(2)], [1.5] * 2)
    row("rep_array", [r(1.5), i(2), i(3)], np.full((2, 3), 1.5))
    row("rep_array", [v(u), i(2)], np.stack([u, u]))
    row("rep_matrix", [r(1.5), i(2), i(3)], np.full((2, 3), 1.5))
    row("rep_matrix", [v(u), i(2)], np.stack([u, u], 1))
    row("rep_matrix", [rv(u), i(2)], np.stack([u, u], 0))
    row("zeros_vector", [i(2)], [0, 0])
    row("ones_row_vector", [i(2)], [1, 1])
    row("identity_matrix", [i(2)], np.eye(2))
    row("linspaced_vector", [i(4), r(1.0), r(2.5)], np.linspace(1, 2.5, 4))
    row("linspaced_array", [i(1), r(1.0), r(2.5)], [2.5])
    row("size", [v(u)], 3)
    row("size", [m(X)], 6)
    row("num_elements", [va([[1, 2], [3, 4], [5, 6]])], 6)
    row("rows", [m(X)], 2)
    row("cols", [m(X)], 3)
    row("rows", [rv(u)], 1)
    row("dims", [va([[1, 2], [3, 4], [5, 6]])], [3, 2])
    row("transpose", [m(X)], X.T)
    row("to_vector", [m(X)], X.T.ravel())
    row("to_vector", [ra(u)], u)
    row("to_array_1d", [m(X)], X.T.ravel())
    row("to_array_1d", [va(X)], X.ravel())
    row("to_array_2d", [m(X)], X)
    row("to_matrix", [v(u)], u[:, None])
    row("to_matrix", [rv(u)], u[None, :])
    six = np.arange(6.0) + 0.5
    row("to_matrix", [v(six), i(2), i(3)], six.reshape(3, 2).T)
    row("to_matrix", [ra(six), i(2), i(3), i(0)], six.reshape(2, 3))
    row("to_matrix", [m(X), i(3), i(2)], X.T.ravel().reshape(2, 3).T)
    row("append_row", [v(u), v(w)], np.concatenate([u, w]))
    row("append_row", [r(0.5), v(w)], np.concatenate([[0.5], w]))
    row("append_row", [m(X), rv(u)], np.vstack([X, u]))
    row("append_row", [rv(w), rv(u)], np.vstack([w, u]))
    row("append_col", [v(u), v(w)], np.stack([u, w], 1))
    row("append_col", [rv(u), r(0.5)], np.concatenate([u, [0.5]]))
    row("append_col", [m(A), v(w)], np.hstack([A, w[:, None]]))
    row("append_array", [ra(u), ra(w)], np.concatenate([u, w]))
    row("append_array", [va(X), va(A)], np.vstack([X, A]))
    row("head", [v(u), i(2)], u[:2])
    row("tail", [v(u), i(2)], u[-2:])
    row("segment", [v(u), i(2), i(2)], u[1:3])
    row("segment", [v(u), i(1), i(0)], [])
    row("head", [va(X), i(1)], X[:1])
    row("block", [m(A), i(2), i(1), i(2), i(2)], A[1:3, :2])
    row("sub_row", [m(A), i(2), i(2), i(2)], A[1, 1:3])
    row("sub_col", [m(A), i(2), i(3), i(2)], A[1:3, 2])
    row("row", [m(X), i(2)], X[1])
    row("col", [m(X), i(2)], X[:, 1])
    row("reverse", [v(u)], u[::-1])
    row("reverse", [va(X)], X[::-1])
    row("diagonal", [m(A)], np.diag(A))
    row("diag_matrix", [v(u)], np.diag(u))
    row("add_diag", [m(A), r(0.3)], A + 0.3 * np.eye(3))
    row("add_diag", [m(A), v(u)], A + np.diag(u))
    row("add_diag", [m(X), v(u[:2])], X + np.hstack([np.diag(u[:2]), np.zeros((2, 1))]))
    row("symmetrize_from_lower_tri", [m(A)], np.tril(A) + np.tril(A, -1).T)


def mixtures():
    theta = np.array([0.2, 0.5, 0.3])
    row("softmax", [v(u)], special.softmax(u))
    row("log_softmax", [v(u)], special.log_softmax(u))
    row("cumulative_sum", [v(u)], np.cumsum(u))
    row("cumulative_sum", [ra(u)], np.cumsum(u))
    row("log_mix", [r(0.3), r(-1.2), r(0.4)], np.log(0.3 * np.exp(-1.2) + 0.7 * np.exp(0.4)))
    row("log_mix", [v(theta), v(u)], np.log(theta @ np.exp(u)))
    row("log_mix", [v(theta), ra(u)], np.log(theta @ np.exp(u)))
    row("log_mix", [v(theta), va([u, w])], np.log(theta @ np.exp(u)) + np.log(theta @ np.exp(w)))
    emissions = np.array([[-0.5, -1.2, -0.3, -2.0], [-1.0, -0.2, -1.6, -0.4]])
    moves, start = np.array([[0.8, 0.2], [0.35, 0.65]]), np.array([0.6, 0.4])
    forward = start * np.exp(emissions[:, 0])
    for t in range(1, 4):
        forward = (forward @ moves) * np.exp(emissions[:, t])
    row("hmm_marginal", [m(emissions), m(moves), v(start)], np.log(forward.sum()))
    row("hmm_marginal", [m(emissions[:, :1]), m(moves), v(start)], np.log(start @ np.exp(emissions[:, 0])))


def kernels():
    t = np.array([0.1, 0.9, 2.3])
    d = np.abs(t[:, None] - t[None, :])
    s, l, p = 1.3, 0.8, 1.7
    row("gp_exp_quad_cov", [ra(t), r(s), r(l)], s ** 2 * np.exp(-0.5 * d ** 2 / l ** 2))
    row("gp_exponential_cov", [ra(t), r(s), r(l)], s ** 2 * np.exp(-d / l))
    a, b = np.sqrt(3) * d / l, np.sqrt(5) * d / l
    row("gp_matern32_cov", [ra(t), r(s), r(l)], s ** 2 * (1 + a) * np.exp(-a))
    row("gp_matern52_cov", [ra(t), r(s), r(l)], s ** 2 * (1 + b + b ** 2 / 3) * np.exp(-b))
    row("gp_periodic_cov", [ra(t), r(s), r(l), r(p)], s ** 2 * np.exp(-2 * np.sin(np.pi * d / p) ** 2 / l ** 2))
    row("gp_dot_prod_cov", [ra(t), r(s)], s ** 2 + np.outer(t, t))
    other = np.array([0.4, 1.5])
    row("gp_exp_quad_cov", [ra(t), ra(other), r(s), r(l)],
        s ** 2 * np.exp(-0.5 * (t[:, None] - other) ** 2 / l ** 2))
    points, lengths = X.T, np.array([0.7, 1.9])
    scaled = points / lengths
    e = ((scaled[:, None] - scaled[None]) ** 2).sum(-1)
    row("gp_exp_quad_cov", [va(points), r(s), ra(lengths)], s ** 2 * np.exp(-0.5 * e))
    plain = ((points[:, None] - points[None]) ** 2).sum(-1)
    row("gp_exp_quad_cov", [va(points), r(s), r(l)], s ** 2 * np.exp(-0.5 * plain / l ** 2))
    row("gp_dot_prod_cov", [va(points), r(s)], s ** 2 + points @ points.T)


if __name__ == "__main__":
    elementwise()
    reductions()
    products()
    solves()
    eigen()
    exponentials()
    orthogonal()
    shapes()
    mixtures()
    kernels()
    pathlib.Path(__file__).with_name("golden.txt").write_text("\n".join(ROWS) + "\n")
    print(len(ROWS), "rows")
