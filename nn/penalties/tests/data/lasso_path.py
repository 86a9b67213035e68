"""Writes lasso_path.json: a regression and its lasso path by scikit-learn, for tests/lasso.rs.

python lasso_path.py > lasso_path.json
Numbers are rounded to 6 decimals before anything is fitted, so that both sides read the same problem.
scikit-learn minimises |y - Xw|^2 / 2n + alpha |w|_1; its duality gap is asked to be below 1e-15.
"""

import json
import warnings

import numpy as np
import sklearn
from sklearn.linear_model import lasso_path

rng = np.random.default_rng(20261124)
n, d, active = 60, 20, 7
base = rng.normal(size=(n, d))
X = np.round(base + 0.5 * base[:, [0]], 6)  # correlated columns
w = np.zeros(d)
w[:active] = rng.normal(size=active) * 2
y = np.round(X @ w + 0.5 * rng.normal(size=n), 6)
largest = np.abs(X.T @ y).max() / n
alphas = np.array([float(f"{a:.9g}") for a in np.geomspace(largest * 0.99, largest * 1e-3, 100)])
with warnings.catch_warnings():
    warnings.simplefilter("error")
    _, coefficients, gaps = lasso_path(X, y, alphas=alphas, tol=1e-15, max_iter=10_000_000)
print(json.dumps({
    "scikit_learn": sklearn.__version__,
    "x": X.tolist(),
    "y": y.tolist(),
    "alphas": alphas.tolist(),
    "coefficients": coefficients.T.tolist(),
}))
