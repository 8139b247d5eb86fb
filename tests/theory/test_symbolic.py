"""Theorems 1-5, and every step that the paper leaves to the reader, derived again by SymPy.

The paper points to a notebook for these; here they run with every change.
"""

import pytest
import sympy as sp

from weakly import theory as th

d, q, g, t, delta, M, T, rho = sp.symbols("d_e d_q gamma t delta M T rho", positive=True)
PRESENT = d * (2 * g * q - 2 * g**2 * d + q) / (q * (d + q))  # Theorem 1, d_q >= gamma d_e
ABSENT = q / (d + q)
BEST = d * g * (2 * g + sp.sqrt(4 * g**2 + 4 * g + 2)) / (2 * g + 1)  # Theorem 2
TOP = 2 * g * (2 * g + 1 - sp.sqrt(4 * g**2 + 4 * g + 2)) + 1  # Theorem 3


def is_zero(expression):
    return sp.simplify(sp.expand(expression)) == 0


def test_theorem_1_case_i_by_integration():
    # d_e >= d_q: the overlap is t, then d_q, then d_e + d_q - t; present from gamma d_e on
    rise = sp.integrate(1 - t / q, (t, 0, g * d)) + sp.integrate(t / q, (t, g * d, q))
    area = 2 * rise + (d - q)
    assert is_zero(area / (d + q) - PRESENT)


def test_theorem_1_case_ii_by_integration():
    # d_e < d_q, left to the reader: the overlap stays at d_e, and F at d_e / d_q
    rise = sp.integrate(1 - t / q, (t, 0, g * d)) + sp.integrate(t / q, (t, g * d, d))
    area = 2 * rise + (q - d) * d / q
    assert is_zero(area / (d + q) - PRESENT)


@pytest.mark.parametrize("case", ["i", "ii"])
def test_theorem_1_from_the_table_of_states(case):
    # Table 2 of the paper through the trapezes of its proof
    top, ceiling = (q, 1) if case == "i" else (d, d / q)
    end = d if case == "i" else q
    t0, t1, t2, t3 = 0, g * d, top, end
    a1 = (1 + (q - g * d) / q) / 2 * (t1 - t0)
    a2 = (g * d / q + ceiling) / 2 * (t2 - t1)
    a3 = ceiling * (t3 - t2)
    assert is_zero((2 * a1 + 2 * a2 + a3) / (d + q) - PRESENT)


def test_theorem_1_without_presence():
    # d_q < gamma d_e: always absent, so F falls to zero while the segment enters the event
    area = 2 * sp.integrate(1 - t / q, (t, 0, q)) + 0 * (d - q)
    assert is_zero(area / (d + q) - ABSENT)


def test_theorem_2_critical_point():
    slope = sp.numer(sp.together(sp.diff(PRESENT, q)))
    quadratic = sp.expand((2 * g + 1) * q**2 - 4 * g**2 * d * q - 2 * g**2 * d**2)
    assert sp.rem(sp.Poly(sp.expand(slope), q), sp.Poly(quadratic, q)).is_zero
    roots = sp.solve(quadratic, q)
    assert any(is_zero(root - BEST) for root in roots)
    assert quadratic.subs(q, 0).is_negative  # so the other root is negative


def test_theorem_2_is_at_least_gamma_d_e():
    # (2 gamma + sqrt(...)) / (2 gamma + 1) >= 1 because the root is >= 1
    assert sp.simplify((4 * g**2 + 4 * g + 2) - 1).is_positive
    assert is_zero(BEST / (g * d) - 1 - (sp.sqrt(4 * g**2 + 4 * g + 2) - 1) / (2 * g + 1))


def test_theorem_2_is_a_maximum():
    # the slope is -((2g+1) q^2 - 4 g^2 d q - 2 g^2 d^2) d / (q (d+q))^2: positive before the root, negative after
    quadratic = (2 * g + 1) * q**2 - 4 * g**2 * d * q - 2 * g**2 * d**2
    assert is_zero(sp.diff(PRESENT, q) + d * quadratic / (q * (d + q)) ** 2)
    curvature = sp.diff(PRESENT, q, 2).subs(q, BEST)
    for value in (sp.Rational(1, 100), sp.Rational(1, 2), sp.Integer(1)):
        assert curvature.subs({g: value, d: 1}).evalf() < 0


def test_step_2a_value_at_the_edge():
    assert is_zero(PRESENT.subs(q, g * d) - 1 / (1 + g))


def test_step_2b_limit_of_long_segments():
    assert sp.limit(PRESENT, q, sp.oo) == 0


def test_step_2c_the_best_beats_the_edge():
    # f* >= 1/(1+gamma), squared and cleared, leaves exactly (2 gamma + 1)^2 >= 0
    left = (1 + g) * (1 + 2 * g * (2 * g + 1)) - 1  # (1+g) f* - 1 = left - 2g(1+g) sqrt(...)
    residual = sp.expand((left / g) ** 2 - (2 * (1 + g)) ** 2 * (4 * g**2 + 4 * g + 2))
    assert is_zero(residual - (2 * g + 1) ** 2)
    assert is_zero((1 + g) * TOP - 1 - (left - 2 * g * (1 + g) * sp.sqrt(4 * g**2 + 4 * g + 2)))


def test_step_2f_absent_branch_rises_and_stays_below():
    assert is_zero(sp.diff(ABSENT, q) - d / (q + d) ** 2)
    assert is_zero(sp.limit(ABSENT, q, g * d) - g / (1 + g))
    assert sp.simplify(1 / (1 + g) - g / (1 + g)).subs(g, sp.Rational(1, 2)) > 0


def test_theorem_3_value():
    # with a symbol for the root, both sides are rational functions modulo its square
    r = sp.Symbol("r", positive=True)
    best, top = (form.subs(sp.sqrt(4 * g**2 + 4 * g + 2), r) for form in (BEST, TOP))
    square = sp.Poly(r**2 - (4 * g**2 + 4 * g + 2), r)
    for claim in (PRESENT.subs(q, best), (1 + 2 * g) / (1 + 2 * best / d)):
        numerator = sp.Poly(sp.expand(sp.numer(sp.together(claim - top))), r)
        assert sp.rem(numerator, square).is_zero
    assert not TOP.has(d)


def test_theorem_3_falls_from_one():
    assert sp.limit(TOP, g, 0) == 1
    slope = sp.diff(TOP, g)
    # zero slope needs equal squares of two positive sides; their difference has no positive root
    root = sp.sqrt(4 * g**2 + 4 * g + 2)
    assert is_zero(slope * root - ((8 * g + 2) * root - (16 * g**2 + 12 * g + 4)))
    difference = sp.expand((16 * g**2 + 12 * g + 4) ** 2 - (8 * g + 2) ** 2 * (4 * g**2 + 4 * g + 2))
    assert all(c > 0 for c in sp.Poly(difference, g).all_coeffs() if c != 0)


def test_theorem_4_is_the_definition():
    assert is_zero(T / BEST * BEST - T)
    assert float((T / BEST).subs({T: 100, d: 1, g: sp.Rational(1, 2)})) == pytest.approx(
        th.optimal_query_count(recording_length=100, event_length=1, presence_criterion=0.5), abs=1e-9
    )


def test_theorem_5_both_branches():
    area = PRESENT * (d + q)
    printed = -2 * M * d**2 * g**2 / (T * q) + 2 * M * d * g / T - M * q / T + 1
    assert is_zero((area * M + T - M * (d + q)) / T - printed)
    never = ABSENT * (d + q)  # the branch that the paper leaves out
    assert is_zero((never * M + T - M * (d + q)) / T - (1 - M * d / T))


def test_theorem_5_optimum():
    wrong = q - 2 * g * d + 2 * g**2 * d**2 / q
    best = sp.sqrt(2) * g * d
    assert is_zero(sp.diff(wrong, q).subs(q, best))
    assert is_zero(wrong.subs(q, best) - 2 * (sp.sqrt(2) - 1) * g * d)
    assert sp.diff(wrong, q, 2).is_positive


def test_dimensionless_forms():
    ratio = ((2 * g + 1) * delta - 2 * g**2) / (delta * (1 + delta))
    assert is_zero(PRESENT.subs(q, delta * d) - ratio)
    five = (M * d * delta * (2 * g - delta) - 2 * M * d * g**2 + T * delta) / (T * delta)
    printed = -2 * M * d**2 * g**2 / (T * q) + 2 * M * d * g / T - M * q / T + 1
    assert is_zero(printed.subs(q, delta * d) - five)  # with d = d_e, which varies with delta if d_q is fixed


def test_flips():
    accuracy = sp.Symbol("F")
    assert is_zero((1 - rho) * accuracy + rho * (1 - accuracy) - (accuracy + rho * (1 - 2 * accuracy)))


def test_required_overlap_takes_the_place_of_gamma_d_e():
    x = sp.Symbol("x_0", positive=True)
    present, true = d + q - 2 * x, d - x**2 / q
    measure = 2 * sp.integrate(1, (t, x, q)) + (d - q)
    covered = (2 * sp.integrate(t, (t, x, q)) + (d - q) * q) / q
    assert is_zero(measure - present)
    assert is_zero(covered - true)
    assert is_zero((1 - (present + d - 2 * true) / (d + q)).subs(x, g * d) - PRESENT)


def test_mean_of_ratios_for_long_segments():
    one = (delta - 1) / delta / delta
    two = (sp.integrate(1 - t / delta, (t, 0, g)) + sp.integrate(t / delta, (t, g, 1))) / delta
    mean = (1 + g) / delta - (sp.Rational(1, 2) + g**2) / delta**2
    assert is_zero(one + two - mean)
    best = (1 + 2 * g**2) / (1 + g)
    assert is_zero(sp.diff(mean, delta).subs(delta, best))
    assert is_zero(mean.subs(delta, best) - (1 + g) ** 2 / (2 + 4 * g**2))


def test_wide_criteria_need_two_moments():
    mu1, mu2 = sp.symbols("mu_1 mu_2", positive=True)
    mean = ((1 + 2 * mu1) * delta - 2 * mu2) / (delta * (1 + delta))
    best = (2 * mu2 + sp.sqrt(4 * mu2**2 + 2 * mu2 * (1 + 2 * mu1))) / (1 + 2 * mu1)
    assert is_zero(sp.numer(sp.together(sp.diff(mean, delta))).subs(delta, best))
    values = {mu1: sp.Rational(1, 2), mu2: sp.Rational(1, 3)}
    assert is_zero((mean.subs(delta, best) - (1 + 2 * mu1) / (1 + 2 * best)).subs(values))


def test_clump_law_solves_the_delay_equation():
    lam, y = sp.symbols("lambda y", positive=True)
    nu = lam * sp.exp(-lam)  # unit events
    first = sp.exp(-lam) * (lam * y + 1)  # G(1 + y), y < 1
    assert is_zero(sp.diff(first, y) - nu)  # S' = -nu S(x - 1), S = 1 before
    second = first - sp.exp(-2 * lam) * ((lam * (y - 1)) ** 2 / 2 + lam * (y - 1))  # 1 < y < 2
    assert is_zero(sp.diff(second, y) - nu * (1 - first.subs(y, y - 1)))


def test_overlapping_windows_best_reach():
    eta, x = sp.symbols("eta x", positive=True)
    wrong = sp.integrate(x - t, (t, 0, x)) / eta + sp.integrate(t - x, (t, x, eta)) / eta
    assert is_zero(2 * wrong - (x**2 + (eta - x) ** 2) / eta)
    assert sp.solve(sp.diff(wrong, x), x) == [eta / 2]
    assert is_zero(2 * wrong.subs(x, eta / 2) - eta / 2)
    fixed = eta - 2 * g * d + 2 * g**2 * d**2 / eta  # the same number of queries without overlap
    assert is_zero(fixed - eta / 2 - (eta - 2 * g * d) ** 2 / (2 * eta))
