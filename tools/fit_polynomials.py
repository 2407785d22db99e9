#!/usr/bin/env python3
"""Finds the polynomial coefficients of src/codegen/prelude/cpu/math.h.

Each row below names a function g(t), the interval of t, the number of coefficients and a weight
w(t). The script finds p(t) = c0 + c1 t + ... that minimises the largest |w (p - g)|:

  1. least squares in high precision at Chebyshev nodes, reweighted until the error levels out
     (Lawson's algorithm), which converges to the minimax polynomial;
  2. coefficients rounded to binary32 one at a time, highest weight (c0) first, the remaining ones
     refitted after each rounding, so that the rounding of one is absorbed by the others.

Needs mpmath and numpy. Prints the coefficients as C++ hexadecimal floats and the largest weighted
error in units of 2^-24.

  fit_polynomials.py [name ...]
"""
import sys

import numpy as np
from mpmath import mp, mpf

mp.dps = 60
LN2 = mp.log(2)


def over(f, leading, power):
    """(f(t) - leading(t)) / t^power, by Taylor expansion near zero."""

    def g(t):
        with mp.workdps(90):
            return (f(t) - leading(t)) / t**power

    return g


def odd_tail(f, sign=1):
    """g(u) with f(x) = x + x^3 g(x^2)."""

    def g(u):
        with mp.workdps(90):
            x = mp.sqrt(u)
            return (f(x) - x) / x**3

    return g


# name: (g, low, high, coefficients, weight). The weight turns the error of g into the relative
# error of the whole function (absolute where noted).
FITS = {
    # e^r = 1 + r + r^2 g(r), |r| <= ln2 / 2
    "exp": (over(mp.exp, lambda t: 1 + t, 2), -LN2 / 2 * mpf("1.01"), LN2 / 2 * mpf("1.01"), 5,
            lambda t: t**2 / mp.exp(t)),
    # expm1(r) = r + r^2 g(r): the same g, relative to expm1
    "expm1": (over(mp.exp, lambda t: 1 + t, 2), -LN2 / 2 * mpf("1.01"), LN2 / 2 * mpf("1.01"), 6,
              lambda t: t**2 / mp.expm1(t) if t else mpf(0)),
    # 2^f = 1 + f g(f), |f| <= 1/2
    "exp2": (over(lambda t: mp.power(2, t), lambda t: 1, 1), mpf("-0.505"), mpf("0.505"), 6,
             lambda t: t / mp.power(2, t)),
    # log(1 + f) = f - f^2/2 + f^3 g(f), 1 + f in [sqrt(1/2), sqrt(2)]
    "log": (over(mp.log1p, lambda t: t - t**2 / 2, 3), mp.sqrt(mpf(1) / 2) - 1, mp.sqrt(2) - 1, 9,
            lambda t: t**3 / mp.log1p(t) if t else mpf(0)),
    # tanh(x) = x + x^3 g(x^2), |x| <= 0.65
    "tanh": (odd_tail(mp.tanh), mpf(0), mpf("0.65") ** 2, 5,
             lambda u: u * mp.sqrt(u) / mp.tanh(mp.sqrt(u)) if u else mpf(0)),
    # erf(x) = x + x g(x^2), |x| <= 1
    "erf_small": (lambda u: (mp.erf(mp.sqrt(u)) / mp.sqrt(u) if u else 2 / mp.sqrt(mp.pi)) - 1,
                  mpf(0), mpf("1.01"), 7,
                  lambda u: mp.sqrt(u) / mp.erf(mp.sqrt(u)) if u else mpf("0.886")),
    # erf(x) = 1 - exp(-g(x)), 1 <= x < 3.95, absolute error of erf
    "erf_large": (lambda t: -mp.log(mp.erfc(t)), mpf("0.98"), mpf("3.95"), 6,
                  lambda t: mp.erfc(t)),
    # sin(r) = r + r^3 g(r^2), cos(r) = 1 - r^2/2 + r^4 g(r^2), |r| <= pi/4
    "sin": (odd_tail(mp.sin), mpf(0), (mp.pi / 4 * mpf("1.01")) ** 2, 4,
            lambda u: u * mp.sqrt(u) / mp.sin(mp.sqrt(u)) if u else mpf(0)),
    "cos": (lambda u: (mp.cos(mp.sqrt(u)) - 1 + u / 2) / u**2, mpf(0),
            (mp.pi / 4 * mpf("1.01")) ** 2, 4, lambda u: u**2 / mp.cos(mp.sqrt(u))),
    # tan(r) = r + r^3 g(r^2), |r| <= pi/4
    "tan": (odd_tail(mp.tan), mpf(0), (mp.pi / 4 * mpf("1.01")) ** 2, 7,
            lambda u: u * mp.sqrt(u) / mp.tan(mp.sqrt(u)) if u else mpf(0)),
    # asin(x) = x + x^3 g(x^2), |x| <= 1/2
    "asin": (odd_tail(mp.asin), mpf(0), mpf("0.2501"), 6,
             lambda u: u * mp.sqrt(u) / mp.asin(mp.sqrt(u)) if u else mpf(0)),
    # atan(x) = x + x^3 g(x^2), |x| <= 1
    "atan": (odd_tail(mp.atan), mpf(0), mpf(1), 10,
             lambda u: u * mp.sqrt(u) / mp.atan(mp.sqrt(u)) if u else mpf(0)),
    # sinh(x) = x + x^3 g(x^2), |x| <= 1
    "sinh": (odd_tail(mp.sinh), mpf(0), mpf("1.01"), 4,
             lambda u: u * mp.sqrt(u) / mp.sinh(mp.sqrt(u)) if u else mpf(0)),
}
# log2((1 + s) / (1 - s)) = s g(s^2) for pow, in binary64
FITS64 = {
    "log2": (lambda u: 2 * mp.atanh(mp.sqrt(u)) / mp.sqrt(u) / LN2 if u else 2 / LN2, mpf(0),
             (3 - 2 * mp.sqrt(2)) ** 2 * mpf("1.01"), 8, lambda u: mpf(1)),
}


def round_to(x, bits):
    """x rounded to a significand of that many bits."""
    if x == 0:
        return mpf(0)
    m, e = mp.frexp(x)
    return mp.ldexp(mp.nint(mp.ldexp(m, bits)), int(e) - bits)


def nodes(low, high, count):
    return [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * i + 1) / (2 * count))
            for i in range(count)]


def fit(values, ts, weights, free):
    """Coefficients of t^free that minimise the maximum of weights * |p - values| (Lawson)."""
    scale = max(abs(t) for t in ts)
    basis = np.array([[float((t / scale) ** j) for j in free] for t in ts])
    w = np.array([float(x) for x in weights])
    # Because binary64 limits one solve, its residual in full precision is fitted twice more.
    best, coefficients = None, [mpf(0)] * len(free)
    residual = list(values)
    for _ in range(3):
        y = np.array([float(r) for r in residual])
        lawson = np.full(len(ts), 1.0)
        local = None
        for _ in range(60):
            ww = np.sqrt(lawson) * w
            c, *_ = np.linalg.lstsq(basis * ww[:, None], y * ww, rcond=None)
            err = np.abs((basis @ c - y) * w)
            worst = err.max()
            if local is None or worst < local[0]:
                local = (worst, c)
            if worst == 0:
                break
            lawson = lawson * err
            lawson /= lawson.sum()
        trial = [a + mpf(float(b)) for a, b in zip(coefficients, local[1])]
        r = [v - sum(cc * (t / scale) ** j for cc, j in zip(trial, free))
             for v, t in zip(values, ts)]
        worst = max(abs(x * ww) for x, ww in zip(r, weights))
        if best is None or worst < best:
            best, coefficients, residual = worst, trial, r
    return [c / scale**j for c, j in zip(coefficients, free)]


def minimax(g, low, high, count, weight, bits):
    ts = nodes(low, high, 400)
    values = [g(t) for t in ts]
    weights = [abs(weight(t)) for t in ts]
    fixed = []
    for j in range(count):
        rest = [v - sum(c * t**i for i, c in enumerate(fixed)) for v, t in zip(values, ts)]
        fixed.append(round_to(fit(rest, ts, weights, list(range(j, count)))[0], bits))
    worst = max(abs((sum(c * t**i for i, c in enumerate(fixed)) - v) * w)
                for t, v, w in zip(ts, values, weights))
    return fixed, worst


def main():
    wanted = sys.argv[1:]
    for table, bits, suffix in ((FITS, 24, "f"), (FITS64, 53, "")):
        for name, (g, low, high, count, weight) in table.items():
            if wanted and name not in wanted:
                continue
            coefficients, worst = minimax(g, low, high, count, weight, bits)
            print(f"// {name}: largest weighted error {float(worst * 2**bits):.3f} * 2^-{bits}")
            print(", ".join(float(c).hex() + suffix for c in coefficients))
            print(", ".join(repr(float(c)) + suffix for c in coefficients))


if __name__ == "__main__":
    main()
