"""Rules are exact to their degree, and the error estimate is an estimate of the error."""

import numpy as np
import pytest

from headwidgets.attribution.integration import quadrature
from headwidgets.errors import InputError


def exactness(rule):
    """The first power that the rule does not integrate."""
    return next(d for d in range(200) if abs(rule.weights @ rule.points**d - 1 / (d + 1)) > 1e-11)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 8])
def test_gauss_is_exact_to_its_degree(n):
    assert exactness(quadrature.gauss(n)) == quadrature.gauss(n).degree + 1 == 2 * n


@pytest.mark.parametrize("n", [3, 4, 6])
def test_kronrod_extends_gauss_and_is_exact_to_its_degree(n):
    rule = quadrature.kronrod(n)
    assert len(rule) == 2 * n + 1
    np.testing.assert_array_equal(rule.points[:n], quadrature.gauss(n).points)
    assert exactness(rule) >= rule.degree + 1 > 3 * n + 1
    assert ((rule.points > 0) & (rule.points < 1)).all()
    assert (rule.weights > 0).all()


def test_published_sums():
    np.testing.assert_allclose(quadrature.riemann("left", 4).points, [0, 0.25, 0.5, 0.75])
    np.testing.assert_allclose(quadrature.riemann("right", 4).points, [0.25, 0.5, 0.75, 1])
    np.testing.assert_allclose(quadrature.riemann("midpoint", 4).points, [0.125, 0.375, 0.625, 0.875])


def test_coefficients_of_legendre_polynomials():
    points = quadrature.gauss(5).points
    t = 2 * points - 1
    values = 3 + 2 * t + 0.5 * (5 * t**3 - 3 * t)
    np.testing.assert_allclose(quadrature.to_legendre(points) @ values, [3, 2, 0, 1, 0], atol=1e-12)


def test_estimate_bounds_the_error_of_smooth_functions():
    """Slopes of sigmoids of many widths and places, a few at a time as the entries of a layer are."""
    generator = np.random.default_rng(0)
    ratios = []
    fine = quadrature.gauss(60)
    for _ in range(300):
        centre = generator.uniform(-0.5, 1.5) + 0.2 * generator.standard_normal((5, 1))
        width = generator.uniform(0.1, 0.6) * generator.uniform(0.7, 1.4, (5, 1))

        def f(x, centre=centre, width=width):
            return 1 / np.cosh((x - centre) / width / 2) ** 2

        for rule in (quadrature.gauss(4), quadrature.gauss(5), quadrature.kronrod(4)):
            error = np.abs(f(rule.points) @ rule.weights - f(fine.points) @ fine.weights).max()
            sizes = np.abs(quadrature.to_legendre(rule.points) @ f(rule.points).T).max(1)
            n = len(rule)
            estimate = float(quadrature.unseen(sizes[1], sizes[n - 2], sizes[n - 1], n, rule.degree))
            ratios.append((estimate + 1e-13) / (error + 1e-13))
    ratios = np.array(ratios)
    assert (ratios < 1).mean() < 0.02
    assert ratios.min() > 0.2
    assert np.median(ratios) < 300


@pytest.mark.parametrize(
    ("rule", "steps", "tolerance", "message"),
    [
        ("simpson", "auto", 1e-3, "gauss-legendre, left, right, midpoint"),
        ("left", 0, 1e-3, "whole number"),
        ("left", 2.5, 1e-3, "whole number"),
        ("left", True, 1e-3, "whole number"),
        ("left", "many", 1e-3, "auto"),
        ("left", 5, 0, "tolerance"),
        ("left", 5, 1.0, "tolerance"),
        ("left", 5, "small", "tolerance"),
    ],
)
def test_bad_arguments(rule, steps, tolerance, message):
    with pytest.raises(InputError, match=message):
        quadrature.check(rule, steps, tolerance)
