"""What the tables of this folder share: numbers to any precision, derivatives, rows.

Every number is computed by mpmath with as many digits as it takes: two precisions must agree to 1e-22 of the value, else
there are more digits (1e-15 for derivatives). Derivatives are central differences of the same functions with a step of a third of the digits.
"""

import math
import signal
import sys

from mpmath import mp, mpf

INF, NAN = math.inf, math.nan
LEVELS = (50, 100, 250, 700, 1600)


class Undefined(Exception):
    """The function has no value there."""


def settled(f, digits=LEVELS, agreement=22):
    """The value of f() at a precision that no longer matters; None if there is no such precision."""
    before = None
    for dps in digits:
        mp.dps = dps
        try:
            value = f()
        except (ZeroDivisionError, OverflowError):
            return None
        except mp.NoConvergence:
            before = None
            continue
        if isinstance(value, mp.mpc):
            return None
        if mp.isnan(value):
            before = None
            continue
        if mp.isinf(value):
            return value
        if before is not None and abs(value - before) <= abs(value) * mpf(10) ** -agreement:
            return value
        # Zero may be what is left where too few digits cancel.
        before = value if value != 0 or dps >= 700 else None
    return None


def number(value):
    """A double's shortest digits."""
    if value is None:
        return "-"
    value = float(value)
    if value == 0:
        return "0"
    if value != value:
        return "nan"
    text = repr(value)
    if text.endswith(".0"):
        text = text[:-2]
    return text.replace("e+", "e").replace("e-0", "e-")


def short(value):
    """Fewer digits, for derivatives, which are compared more loosely."""
    if value is None:
        return "-"
    value = float(value)
    if value != value:
        return "-"
    text = "%.12g" % value
    return "0" if text == "-0" else text.replace("e+", "e")


def derivative(f, args, k, digits=(60, 180, 400, 1000, 2200)):
    """The derivative of f by argument k, or None where there is none."""

    # Beside a zero a tiny argument may be where the function bends.
    reals = [abs(a) for a in args if isinstance(a, float)]
    if 0 in reals and any(0 < a < 1e-30 for a in reals):
        return None

    def difference():
        x = mpf(args[k])
        h = mpf(10) ** -(mp.dps // 3) * (abs(x) if x else 1)
        moved = lambda by: f(*(x + by if i == k else mpf(a) if isinstance(a, float) else a for i, a in enumerate(args)))
        return (moved(h) - moved(-h)) / (2 * h)

    try:
        slope = settled(difference, digits, 15)
    except (Undefined, ValueError, TypeError):
        return None
    return None if slope is None or mp.isinf(slope) else slope


class TooLong(Exception):
    """Some point takes mpmath more than a few seconds."""


def ring(*_):
    raise TooLong


signal.signal(signal.SIGALRM, ring)


def row(f, args, *, edge=None, smooth=None, few=False):
    """The line of `plain_row`, or nothing where that takes too long."""
    signal.setitimer(signal.ITIMER_REAL, 3)
    try:
        return plain_row(f, args, edge, smooth, few)
    except TooLong:
        print("too long:", args, file=sys.stderr, flush=True)
        return None
    finally:
        signal.alarm(0)


def plain_row(f, args, edge, smooth, few):
    """One line: arguments, value, derivatives by the real ones.

    `f` is for finite arguments; `edge` is asked first and gives a float, a token or None; `smooth` says whether derivatives
    are claimed there; `few` is for integrals of positive functions, where nothing cancels.
    """
    value = edge(*args) if edge else None
    slopes = None
    if value is None:
        if any(isinstance(a, float) and not math.isfinite(a) for a in args):
            value = NAN
        else:
            given = [mpf(a) if isinstance(a, float) else a for a in args]
            try:
                value = settled(lambda: f(*given), (40, 80, 160) if few else LEVELS)
            except (Undefined, ValueError):
                value = NAN
            if value is None:
                return None
    text = value if isinstance(value, str) else number(value)
    real = [k for k, a in enumerate(args) if isinstance(a, float)]
    finite = all(math.isfinite(a) for a in args) and text not in ("nan", "inf", "-inf") and not isinstance(value, str)
    if finite and (smooth is None or smooth(*args)):
        slopes = [derivative(f, args, k, *[(50, 100)] * few) for k in real]
    else:
        slopes = [None] * len(real)
    return " ".join([*(number(a) if isinstance(a, float) else str(a) for a in args), text, *(short(s) for s in slopes)])


def write(path, sections):
    with open(path, "w") as out:
        for head, rows in sections:
            out.write(f"# {head}\n")
            for line in rows:
                if line is not None:
                    out.write(line + "\n")
            out.flush()


def chosen(name):
    """Whether the command line asks for this section (no argument: all)."""
    return len(sys.argv) < 3 or name in sys.argv[2:]
