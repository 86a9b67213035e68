"""Writes golden.csv: log densities and gradients of the programs beside it at a few positions, by stanli.

Columns: program, position, log density, gradient (all semicolon-separated within). Run by hand:
python3 generate.py > golden.csv
"""
import ctypes
import pathlib

import numpy as np
import stanli
from stanli import _lib

POSITIONS = {
    "predators": [
        [-0.6, -3.5, -0.2, -3.7, 3.4, 1.4, 0.05, -0.4, 0.1],
        [-0.5, -3.7, -0.1, -3.5, 3.3, 1.8, -0.2, 0.0, -0.3],
    ],
    "epidemic": [[-0.5, -1.2, 2.1, -1.0], [0.4, -0.7, 3.5, -1.1]],
    "pools": [[-1.0, -2.0, 0.3, 0.2, 0.5], [0.2, -3.0, -0.1, 0.6, -0.4]],
    "absorption": [[-0.3, -1.0, 0.2], [0.6, 0.4, -0.5]],
    "equilibrium": [[-0.3, 0.4, 0.2], [0.8, -0.6, -0.7]],
}
P = ctypes.POINTER(ctypes.c_double)


def text(numbers):
    return ";".join(repr(float(x)) for x in numbers)


for name, positions in POSITIONS.items():
    program = pathlib.Path(__file__).with_name(name + ".stan")
    model = stanli.Model(stan_file=str(program), data={})
    for position in positions:
        q = np.ascontiguousarray(position, dtype=float)
        assert len(q) == model.n_unconstrained, (name, model.n_unconstrained)
        value, gradient = ctypes.c_double(), np.empty(len(q))
        _lib.stanli_grad(model._m, q.ctypes.data_as(P), ctypes.byref(value), gradient.ctypes.data_as(P))
        print(",".join([name, text(q), text([value.value]), text(gradient)]))
