"""Values of Stan's changes of variables by stanli, which runs Stan's own mathematics: writes golden_changes.txt beside this file.

A program declares the constrained variable; its log density is one element of it, or nothing, beside the log Jacobian.
Rows are those of golden.py; `X_log_jacobian` is what `X_jacobian` adds. Run with NumPy and stanli: python golden_changes.py
"""
import pathlib

import numpy as np
import stanli

from golden import Arg, i, m, r, v, text

ROWS = []


def row(name, args, value):
    ROWS.append(" | ".join([name, "; ".join(text(a.kind, a.value) for a in args), text("value", value)]))


def change(base, declaration, shape, u, extra=(), arg=None, inverse=None):
    """`u` is Stan's unconstrained vector, `arg` the argument that holds it, `extra` the other arguments."""
    u = np.asarray(u, dtype=float)
    x, log = constrained(declaration, shape, u)
    arg = arg or (v(u) if len(u) != 1 or shape else r(u[0]))
    row(base + "_constrain", [arg, *extra], x)
    row(base + "_log_jacobian", [arg, *extra], log)
    kind = {0: "real", 1: "vector", 2: "matrix"}[len(shape)]
    free = [] if base.startswith(("chol", "corr", "cov")) else extra
    row(base + "_unconstrain", [Arg(kind, x), *free], arg.value)


def constrained(declaration, shape, u):
    def lp(added):
        code = f"parameters {{ {declaration} x; }} model {{ {added} }}"
        return stanli.Model(stan_code=code, data={}).log_prob_grad(u)[0]

    log = lp("")
    indices = [",".join(str(j + 1) for j in index) for index in np.ndindex(*shape)]
    elements = [lp(f"target += x[{index}];" if index else "target += x;") - log for index in indices]
    return np.array(elements).reshape(shape), log


def stochastic(u):
    """Columns, or rows, that are simplexes, which stanli has no declaration for."""
    z = np.asarray(u)
    columns = [constrained(f"simplex[{len(z) + 1}]", (len(z) + 1,), column) for column in z.T]
    x, log = np.stack([value for value, _ in columns], axis=1), sum(log for _, log in columns)
    row("stochastic_column_constrain", [m(z)], x)
    row("stochastic_column_log_jacobian", [m(z)], log)
    row("stochastic_column_unconstrain", [m(x)], z)
    row("stochastic_row_constrain", [m(z.T)], x.T)
    row("stochastic_row_log_jacobian", [m(z.T)], log)
    row("stochastic_row_unconstrain", [m(x.T)], z.T)


def columns(u, rows, cols):
    return m(np.reshape(u, (cols, rows)).T)


if __name__ == "__main__":
    change("lower_bound", "real<lower=1.5>", (), [0.3], [r(1.5)])
    change("upper_bound", "real<upper=-0.5>", (), [0.7], [r(-0.5)])
    change("lower_upper_bound", "real<lower=-1, upper=2.5>", (), [-0.4], [r(-1.0), r(2.5)])
    change("lower_upper_bound", "vector<lower=-1, upper=2.5>[3]", (3,), [-0.4, 1.2, 3.1], [r(-1.0), r(2.5)])
    change("lower_bound", "vector<lower=0.25>[2]", (2,), [-0.4, 1.2], [r(0.25)])
    change("offset_multiplier", "vector<offset=0.5, multiplier=1.7>[2]", (2,), [-0.4, 1.2], [r(0.5), r(1.7)])
    change("ordered", "ordered[3]", (3,), [-0.4, 0.2, -1.1])
    change("positive_ordered", "positive_ordered[3]", (3,), [-0.4, 0.2, -1.1])
    change("simplex", "simplex[4]", (4,), [0.3, -0.8, 1.4])
    change("sum_to_zero", "sum_to_zero_vector[4]", (4,), [0.3, -0.8, 1.4])
    change("cholesky_factor_corr", "cholesky_factor_corr[3]", (3, 3), [0.3, -0.8, 0.6], [i(3)])
    change("cholesky_factor_cov", "cholesky_factor_cov[3]", (3, 3), [0.3, -0.8, 1.4, 0.2, -0.3, 0.5], [i(3), i(3)])
    change("cholesky_factor_cov", "cholesky_factor_cov[3, 2]", (3, 2), [0.3, -0.8, 1.4, 0.2, -0.3], [i(3), i(2)])
    change("corr_matrix", "corr_matrix[3]", (3, 3), [0.3, -0.8, 0.6], [i(3)])
    change("cov_matrix", "cov_matrix[3]", (3, 3), [0.3, -0.8, 1.4, 0.2, -0.3, 0.5], [i(3)])
    u = [0.3, -0.8, 1.4, 0.2, -0.3, 0.9]
    stochastic([[0.3, -0.8, 1.4], [0.2, -0.3, 0.9]])
    change("sum_to_zero", "sum_to_zero_matrix[3, 4]", (3, 4), u, arg=columns(u, 2, 3))
    pathlib.Path(__file__).with_name("golden_changes.txt").write_text("\n".join(ROWS) + "\n")
    print(len(ROWS), "rows")
