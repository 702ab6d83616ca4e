"""Retention counts what a budget keeps, ties in expectation, checked against plain enumeration."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memvalue.train.objective import RetentionObjective, mean_retention, retention


def enumerated(scores, needed, budget):
    """Mean over every order of the rows of what a stable sort keeps: the definition, word for word."""
    n = len(scores)
    k = max(1, int(np.floor(budget * n + 1e-9)))
    kept = [
        sum(needed[i] for i in sorted(order, key=lambda i: -scores[i])[:k])
        for order in permutations(range(n))
    ]
    return np.mean(kept) / sum(needed)


def longest_prefix(scores, needed, tokens, budget):
    """Token budget without ties, one memory at a time."""
    left, kept = budget * sum(tokens) + 1e-9, 0
    for place, i in enumerate(sorted(range(len(scores)), key=lambda i: -scores[i])):
        if place > 0 and tokens[i] > left:
            break
        left -= tokens[i]
        kept += needed[i]
        if left < 0:
            break
    return kept / sum(needed)


case = st.integers(1, 6).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
        st.lists(st.booleans(), min_size=n, max_size=n),
        st.lists(st.integers(1, 9), min_size=n, max_size=n),
    )
)
budget = st.sampled_from([0.01, 0.1, 0.2, 0.3, 0.5, 2 / 3, 0.9, 1.0])


@settings(max_examples=60, deadline=None)
@given(st.lists(case, min_size=1, max_size=4), st.lists(budget, min_size=1, max_size=3))
def test_ties_count_in_expectation_over_all_orders(cases, budgets):
    scores = np.concatenate([c[0] for c in cases]).astype(np.float64)
    needed = np.concatenate([c[1] for c in cases]).astype(bool)
    offsets = np.cumsum([0] + [len(c[0]) for c in cases])
    got = retention(scores, offsets, needed, budgets)
    assert got.shape == (len(cases), len(budgets))
    for c, (s, y, _) in enumerate(cases):
        for b, share in enumerate(budgets):
            if any(y):
                assert got[c, b] == pytest.approx(enumerated(s, y, share), abs=1e-12)
            else:
                assert np.isnan(got[c, b])


@settings(max_examples=100, deadline=None)
@given(case, budget, st.randoms(use_true_random=False))
def test_a_token_budget_keeps_the_longest_prefix_that_fits(drawn, share, random):
    _, needed, tokens = drawn
    scores = [float(i) for i in range(len(needed))]
    random.shuffle(scores)
    got = retention(np.array(scores), [0, len(scores)], needed, [share], tokens=tokens)[0, 0]
    if any(needed):
        assert got == pytest.approx(longest_prefix(scores, needed, tokens, share))
    else:
        assert np.isnan(got)


@settings(max_examples=60, deadline=None)
@given(case, budget)
def test_candidates_are_judged_independently_of_each_other(drawn, share):
    scores, needed, tokens = (np.array(x) for x in drawn)
    table = np.stack([scores, -scores, scores * 0]).astype(np.float64)
    for cost in (None, tokens):
        together = retention(table, [0, len(scores)], needed, [share, 1.0], tokens=cost)
        for p in range(3):
            alone = retention(table[p], [0, len(scores)], needed, [share, 1.0], tokens=cost)
            np.testing.assert_array_equal(together[p], alone)


@settings(max_examples=60, deadline=None)
@given(st.lists(case, min_size=1, max_size=4), st.booleans())
def test_more_budget_never_keeps_less(cases, by_tokens):
    scores = np.concatenate([c[0] for c in cases]).astype(np.float64)
    needed = np.concatenate([c[1] for c in cases]).astype(bool)
    tokens = np.concatenate([c[2] for c in cases]) if by_tokens else None
    offsets = np.cumsum([0] + [len(c[0]) for c in cases])
    got = retention(scores, offsets, needed, [0.1, 0.3, 0.6, 1.0], tokens=tokens)
    usable = ~np.isnan(got[:, 0])
    assert (np.diff(got[usable], axis=1) >= -1e-12).all()
    np.testing.assert_allclose(got[usable, 3], 1.0)


def test_a_tied_group_that_fits_in_part_is_kept_by_its_share_of_tokens():
    # 20 tokens, half of them: the first memory takes 4, the tied three take 12, of which 6 still fit.
    got = retention(
        np.array([2.0, 1, 1, 1, 0]), [0, 5], [False, True, False, False, False], [0.5], tokens=[4, 3, 4, 5, 4]
    )
    assert got[0, 0] == pytest.approx(0.5)


def test_one_memory_is_always_kept():
    assert retention(np.array([1.0, 0.0]), [0, 2], [True, False], [0.01])[0, 0] == 1.0
    assert retention(np.array([1.0, 0.0]), [0, 2], [True, False], [0.01], tokens=[99, 1])[0, 0] == 1.0
    assert retention(np.array([1.0, 1.0]), [0, 2], [True, False], [0.01], tokens=[99, 1])[0, 0] == 0.5
    assert retention(np.array([0.5]), [0, 1], [True], [0.3])[0, 0] == 1.0


def test_a_share_that_is_a_whole_number_on_paper_is_not_rounded_down():
    scores = np.arange(100.0)[::-1]
    needed = np.zeros(100, bool)
    needed[28] = True  # the 29th best; 0.29 * 100 is 28.999999999999996 in floating point
    assert retention(scores, [0, 100], needed, [0.29])[0, 0] == 1.0


def test_a_constant_score_earns_the_budget():
    rng = np.random.default_rng(0)
    needed = rng.random(1000) < 0.1
    got = retention(np.zeros(1000), [0, 400, 1000], needed, [0.05, 0.3])
    np.testing.assert_allclose(got, [[0.05, 0.3]] * 2)


def test_infinite_scores_rank_first_and_last():
    assert retention(np.array([-np.inf, 0, np.inf]), [0, 3], [False, False, True], [0.3])[0, 0] == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": [0.0, np.nan]}, "NaN"),
        ({"scores": np.zeros((2, 2, 2))}, "shape"),
        ({"offsets": [0, 3]}, "offsets"),
        ({"offsets": [1, 2]}, "offsets"),
        ({"needed": [True]}, "needed"),
        ({"budgets": [0.0]}, "share in"),
        ({"budgets": [30]}, "0.3"),
        ({"budgets": []}, "non-empty"),
        ({"budgets": [np.nan]}, "share in"),
        ({"tokens": [0, 1]}, "at least 1"),
        ({"tokens": [1.0, 2.0]}, "integers"),
    ],
)
def test_bad_input_is_named(change, message):
    given = {"scores": [0.0, 1.0], "offsets": [0, 2], "needed": [True, False], "budgets": [0.5]} | change
    with pytest.raises(ValueError, match=message):
        retention(
            given["scores"], given["offsets"], given["needed"], given["budgets"], tokens=given.get("tokens")
        )


def test_the_mean_leaves_out_cases_that_need_nothing():
    scores, offsets = np.array([1.0, 0, 1, 0]), [0, 2, 4]
    assert mean_retention(scores, offsets, [True, False, False, False], [0.5]) == 1.0
    weighted = mean_retention(scores, offsets, [True, False, False, True], [0.5], case_weight=[3, 1])
    assert weighted == pytest.approx(0.75)
    with pytest.raises(ValueError, match="no case"):
        mean_retention(scores, offsets, [False] * 4, [0.5])


# Quarters keep every product and sum exact, so ties are the same in float32 and in plain Python.
quarters = st.integers(0, 4).map(lambda q: q / 4)
rows = st.lists(
    st.tuples(
        st.tuples(quarters, quarters), st.booleans(), st.integers(0, 2), st.booleans(), st.integers(1, 5)
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=80, deadline=None)
@given(rows, st.booleans())
def test_the_prepared_objective_equals_retention_of_its_scores(drawn, by_tokens):
    X = np.array([r[0] for r in drawn])
    needed = np.array([r[1] for r in drawn])
    groups = np.array([r[2] for r in drawn])
    mask = np.array([r[3] for r in drawn])
    tokens = np.array([r[4] for r in drawn]) if by_tokens else None
    W = np.array([[1.0, 0], [0.5, 0.5], [0.25, 0.75]])
    if not (needed & mask).any():
        with pytest.raises(ValueError, match="no needed memory"):
            RetentionObjective(X, needed, groups, [0.3, 0.5], tokens=tokens, mask=mask)
        return
    got = RetentionObjective(X, needed, groups, [0.3, 0.5], tokens=tokens, mask=mask)(W)
    for p in range(3):
        per_case = []
        for g in np.unique(groups):
            part = (groups == g) & mask
            if (needed & part).any():
                cost = None if tokens is None else tokens[part]
                per_case.append(
                    retention(X[part] @ W[p], [0, part.sum()], needed[part], [0.3, 0.5], tokens=cost).mean()
                )
        assert got[p] == pytest.approx(np.mean(per_case))


def test_case_weights_follow_the_order_of_first_appearance():
    X = np.array([[1.0], [0.0], [1.0], [0.0]])
    groups = ["late", "late", "early", "early"]
    objective = RetentionObjective(X, [True, False, False, True], groups, [0.5], case_weight=[3, 1])
    assert objective([[1.0]])[0] == pytest.approx(0.75)
    assert RetentionObjective(X, [True, False, False, True], groups, [0.5], case_weight=[0, 1]).n_cases == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": [[np.nan], [1.0]]}, "finite"),
        ({"needed": [True]}, "needed"),
        ({"groups": [1]}, "case id"),
        ({"groups": [1.0, np.nan]}, "NaN"),
        ({"case_weight": [1, 2]}, "case_weight"),
        ({"case_weight": [-1]}, "case_weight"),
        ({"mask": [True]}, "mask"),
        ({"mask": [False, True]}, "no needed"),
    ],
)
def test_the_prepared_objective_names_bad_input(change, message):
    given = {"X": [[1.0], [0.0]], "needed": [True, False], "groups": None, "budgets": [0.5]} | change
    with pytest.raises(ValueError, match=message):
        RetentionObjective(**given)


def test_the_prepared_objective_refuses_weights_of_another_width():
    with pytest.raises(ValueError, match="columns"):
        RetentionObjective([[1.0], [0.0]], [True, False], None, [0.5])([[1.0, 2.0]])
