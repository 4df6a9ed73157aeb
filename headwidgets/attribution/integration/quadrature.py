"""Rules for an integral from 0 to 1, and how far one of them is off.

Under ``steps="auto"`` a layer starts with a Gauss-Legendre rule of few points. Its error is estimated entry by entry
from the same evaluations: the integrand at the points is written in Legendre polynomials, whose coefficients fall
geometrically for a smooth integrand; a rule of degree d sees those up to d and is off by about the next one. When that
is too large, the rule is extended to its Kronrod rule (all points are used again). After that the path is halved
where that is needed (`panels`); between kinks it is replaced by 20, 40 and 80 points first, where the last two rules
are compared directly.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from headwidgets.errors import InputError

RULES = ("gauss-legendre", "left", "right", "midpoint")
Floats = NDArray[np.float64]
MOST = 4096
"""Points that a fixed rule may have."""


@dataclass(frozen=True)
class Rule:
    """Points and weights on [0, 1]; exact for polynomials up to `degree`."""

    points: Floats
    weights: Floats
    degree: int

    def __len__(self) -> int:
        return len(self.points)


@cache
def gauss(n: int) -> Rule:
    """Gauss-Legendre with n points."""
    x, w = legendre.leggauss(n)
    return Rule((x + 1) / 2, w / 2, 2 * n - 1)


@cache
def kronrod(n: int) -> Rule:
    """Gauss-Legendre with n points, extended by n + 1 more; the n come first, in `gauss`'s order.

    The new points are the roots of the Stieltjes polynomial E of degree n + 1, for which the integral of
    P_n E q vanishes for every polynomial q of degree up to n.
    """
    x, w = legendre.leggauss(2 * n + 4)
    basis = np.stack([legendre.legval(x, [0.0] * k + [1.0]) for k in range(n + 2)])
    moments = np.einsum("x,ix,kx->ik", w * basis[n], basis[: n + 1], basis)
    lower = np.linalg.lstsq(moments[:, : n + 1], -moments[:, n + 1], rcond=None)[0]
    new = np.sort(legendre.legroots([*lower, 1.0]).real)
    points = (np.concatenate([legendre.leggauss(n)[0], new]) + 1) / 2
    return Rule(points, _interpolatory(points), 2 * ((3 * n + 1) // 2) + 1)


def _interpolatory(points: Floats) -> Floats:
    return np.asarray(to_legendre(points)[0])


def to_legendre(points: Floats) -> Floats:
    """Matrix [k, points] from values at points to the coefficients of P_0 .. P_(n-1) on [0, 1]."""
    return np.asarray(np.linalg.inv(legendre.legvander(2 * points - 1, len(points) - 1)), dtype=np.float64)


@cache
def riemann(name: str, n: int) -> Rule:
    """The published sums: ``left`` (0, 1/n, ..), ``right`` (1/n, .., 1) and ``midpoint``, equal weights.

    Hao et al. print the right sum (n = 20); their code takes the left one (with 20 and 64 points).
    """
    shift = {"left": 0.0, "right": 1.0, "midpoint": 0.5}[name]
    return Rule((np.arange(n) + shift) / n, np.full(n, 1 / n), 1 if name == "midpoint" else 0)


def fixed(rule: str, steps: int) -> Rule:
    """A rule by name with a fixed number of points."""
    return gauss(steps) if rule == "gauss-legendre" else riemann(rule, steps)


def check(rule: Any, steps: Any, tolerance: Any) -> int | None:
    """The fixed number of points, or None for "auto".

    Raises:
        InputError: an unknown rule, a number of points or a tolerance that makes no sense.
    """
    if rule not in RULES:
        raise InputError(f"expected rule to be one of {', '.join(RULES)}, got {rule!r}")
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float)) or not 0 < tolerance < 1:
        raise InputError(f"expected tolerance between 0 and 1 (relative to a layer's change), got {tolerance!r}")
    if steps == "auto":
        return None if rule == "gauss-legendre" else 20
    if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or not 1 <= steps <= MOST:
        raise InputError(f'expected steps="auto" or a whole number from 1 to {MOST}, got {steps!r}')
    return int(steps)


def first_points(tolerance: float) -> int:
    """Points to begin with, from experience: the fewest that most layers of fine-tuned classifiers are content with."""
    return 3 if tolerance >= 1e-2 else 4 if tolerance > 2e-3 else 5 if tolerance > 1e-5 else 8


LARGE = (20, 40, 80)
"""Gauss-Legendre rules after the Kronrod rule; so many only where units with a kink (ReLU) switch along the path."""


def unseen(first: Floats, before: Floats, last: Floats, points: int, degree: int) -> Floats:
    """What a rule is off by, about, from the sizes of the integrand's Legendre coefficients.

    Args:
        first: Size of the coefficient of P_1.
        before: Size of that of P_(n-2).
        last: Size of that of P_(n-1), the highest that n points can tell.
        points: n, at least 3.
        degree: Of the rule.

    Returns:
        The size of the first coefficient that the rule does not see, if they go on falling as they did.
    """
    tiny = np.finfo(np.float64).tiny
    base = np.maximum(first, tiny)
    ratio = (np.maximum(last, tiny) / base) ** (1 / (points - 2))
    if points > 3:  # odd or even coefficients alone may vanish
        ratio = np.maximum(ratio, (np.maximum(before, tiny) / base) ** (1 / (points - 3)))
    ratio = np.clip(ratio, 0, 1)
    return np.asarray(np.maximum(last, before * ratio) * ratio ** (degree + 2 - points))
