"""Writes ode_compartments.csv: closed forms of random linear compartments, by mpmath.

dy/dt = A y, where A moves mass between two to four compartments (and out of them) at rates from 1e-4 to
1e6. Columns: number of states, rates row by row (row i, column j: from j to i; on the diagonal out of the
model), initial states, time, states, and their derivatives by the logarithms of the largest and of the
smallest rate, each state's two together. Run by hand: python3 generate_compartments.py (mpmath 1.x).
"""
import random

from mpmath import expm, matrix, mp, mpf, zeros

mp.dps = 60


def generator(n, rates):
    """The matrix A."""
    a = zeros(n)
    for i in range(n):
        for j in range(n):
            a[j, j] -= rates[i][j]
            if i != j:
                a[i, j] += rates[i][j]
    return a


def by_log(n, rates, place):
    """dA / d log rate."""
    one = [[rates[i][j] if (i, j) == place else mpf(0) for j in range(n)] for i in range(n)]
    return generator(n, one)


source = random.Random(20261129)
for case in range(30):
    n = source.choice([2, 3, 4])
    rates = [[mpf(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            # Every compartment hands on to the next; other ways are there half of the time.
            if i == (j + 1) % n or source.random() < 0.5:
                rates[i][j] = mpf(float(f"{10 ** source.uniform(-4, 6):.6g}"))
    start = [mpf(float(f"{source.uniform(0, 10):.4g}")) for _ in range(n)]
    places = [(i, j) for i in range(n) for j in range(n) if rates[i][j] > 0]
    places.sort(key=lambda place: rates[place[0]][place[1]])
    a = generator(n, rates)
    for t in [mpf(10) ** k for k in (-5, -2, 0, 1, 3)]:
        columns = []
        for place in (places[-1], places[0]):
            block = zeros(2 * n)
            d = by_log(n, rates, place)
            for i in range(n):
                for j in range(n):
                    block[i, j] = block[n + i, n + j] = a[i, j] * t
                    block[i, n + j] = d[i, j] * t
            flow = expm(block, method="taylor")
            y = matrix([sum(flow[i, j] * start[j] for j in range(n)) for i in range(n)])
            columns.append([sum(flow[i, n + j] * start[j] for j in range(n)) for i in range(n)])
        numbers = [x for row in rates for x in row] + start + [t] + list(y)
        numbers += [columns[k][i] for i in range(n) for k in range(2)]
        print(",".join([str(n)] + [repr(float(x)) for x in numbers]))
