"""A plan keeps what the evaluation says it keeps, after what must be kept, and says why."""

import json
import os
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serve_stores import model

from memvalue.serve.budget import Budget
from memvalue.serve.plan import REASONS, plan_forgetting
from memvalue.train.objective import retention

VALUES = st.lists(st.integers(0, 6).map(lambda i: i / 6), min_size=1, max_size=60)
SHARES = st.sampled_from([0.01, 0.05, 0.1, 0.29, 0.3, 0.5, 0.999, 1.0])


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("10%", Budget(0.1)),
        ("0.1", Budget(0.1)),
        (0.3, Budget(0.3)),
        ("100%", Budget(1.0)),
        (1.0, Budget(1.0)),
        ("1", Budget(1, share=False)),
        (500, Budget(500, share=False)),
        ("10%tokens", Budget(0.1, "tokens")),
        (" 10% Tokens", Budget(0.1, "tokens")),
        ("2000 tokens", Budget(2000, "tokens", share=False)),
        ("12 memories", Budget(12, share=False)),
    ],
)
def test_budgets_are_read(text, want):
    assert Budget.parse(text) == want
    assert Budget.parse(want) is want


@pytest.mark.parametrize(
    "text", ["", "ten", "0", "-1", "0%", "101%", "2.5", "nan", "inf", "%", True, None, "1e400"]
)
def test_other_budgets_are_refused(text):
    with pytest.raises(ValueError, match=r"budget|share|number"):
        Budget.parse(text)


def test_a_share_of_a_hundred_is_not_cut_short_by_rounding():
    assert [Budget(b).places(100) for b in (0.29, 0.57, 0.001)] == [29, 57, 1]


@given(VALUES, SHARES)
def test_it_keeps_as_many_as_the_evaluation_and_the_best(values, share):
    column = np.array(values)
    plan = plan_forgetting(column, share)
    k = max(1, int(np.floor(share * len(column) + 1e-9)))
    assert plan.kept.sum() == k
    assert (column[plan.kept].min() if k else 1) >= (column[~plan.kept].max() if k < len(column) else 0)
    assert (plan.margin[plan.kept] >= 0).all() and (plan.margin[~plan.kept] <= 0).all()
    assert plan.kept.sum() + plan.compressed.sum() + plan.forgotten.sum() == len(column)
    assert not plan.over_budget


@given(VALUES, SHARES, st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.2, 1.0]))
def test_within_tokens_it_keeps_the_longest_run_that_fits(values, share, seed, gamma):
    column = np.array(values)
    tokens = np.random.default_rng(seed).integers(1, 50, len(column))
    plan = plan_forgetting(column, Budget(share, "tokens"), tokens=tokens, density_exponent=gamma)
    kept = plan.kept
    limit = share * tokens.sum() + 1e-9
    assert tokens[kept].sum() <= limit or kept.sum() == 1
    if not kept.all():
        ranked = np.flatnonzero(~kept)
        following = ranked[np.argmax(plan.score[ranked])]
        same = ranked[plan.score[ranked] == plan.score[following]]
        assert tokens[kept].sum() + tokens[same].max() > limit
    assert not plan.over_budget


def test_with_different_values_retention_is_exactly_the_evaluations():
    rng = np.random.default_rng(0)
    offsets = np.arange(0, 2001, 50)
    values, needed = rng.random(2000), rng.random(2000) < 0.05
    tokens = rng.integers(1, 90, 2000)
    for share, cost in ((0.05, None), (0.3, None), (0.1, tokens)):
        found = []
        for lo, hi in pairwise(offsets):
            part = None if cost is None else cost[lo:hi]
            unit = "memories" if cost is None else "tokens"
            plan = plan_forgetting(values[lo:hi], Budget(share, unit), tokens=part)
            gold = needed[lo:hi]
            found.append((plan.kept & gold).sum() / gold.sum() if gold.any() else np.nan)
        want = retention(values, offsets, needed, [share], tokens=cost)[:, 0]
        np.testing.assert_allclose(found, want)


def test_ties_are_broken_by_the_id_alone_and_favour_neither_end():
    ids = [f"m{i}" for i in range(400)]
    plan = plan_forgetting(np.full(400, 0.5), 0.3, ids=ids)
    order = np.random.default_rng(1).permutation(400)
    mixed = plan_forgetting(np.full(400, 0.5), 0.3, ids=[ids[i] for i in order])
    assert {r["id"] for r in plan.keep()} == {r["id"] for r in mixed.keep()}
    assert 40 < plan.kept[:200].sum() < 80  # 60 expected of either half


def test_pinned_and_young_memories_come_first_whatever_they_cost():
    values = np.array([0.9, 0.8, 0.1, 0.2, 0.0])
    plan = plan_forgetting(
        values,
        2,
        ids=list("abcde"),
        pinned=np.array([False, False, True, False, False]),
        age_days=np.array([50, 50, 50, 0.5, 50]),
        grace_days=1.0,
    )
    assert [(r["id"], r["reason"]) for r in plan.rows()] == [
        ("a", "below the cut"),
        ("b", "below the cut"),
        ("c", "pinned"),
        ("d", "within the grace period"),
        ("e", "below the cut"),
    ]
    assert plan.keep()[0]["margin"] is None
    assert not plan.over_budget
    crowded = plan_forgetting(values, 1, pinned=np.array([True, False, True, False, False]))
    assert crowded.over_budget and crowded.kept.sum() == 2
    tokens = plan_forgetting(
        values,
        "3 tokens",
        tokens=np.array([4, 1, 1, 1, 1]),
        pinned=np.array([True, False, False, False, False]),
    )
    assert tokens.over_budget and tokens.kept.tolist() == [True, False, False, False, False]
    assert not plan_forgetting(values, "1 tokens", tokens=np.array([4, 1, 1, 1, 1])).over_budget


def test_expired_memories_go_first_unless_pinned():
    plan = plan_forgetting(
        [0.9, 0.8, 0.1],
        2,
        pinned=np.array([True, False, False]),
        expired=np.array([True, True, False]),
        age_days=np.zeros(3),
        grace_days=7.0,
    )
    assert [r["reason"] for r in plan.rows()] == ["pinned", "expired", "within the grace period"]


def test_what_is_worth_a_summary_is_compressed():
    plan = plan_forgetting([0.9, 0.6, 0.5, 0.1], 1, ids=list("abcd"), summary_from=0.5)
    assert [r["id"] for r in plan.compress()] == ["b", "c"]
    assert [r["id"] for r in plan.forget()] == ["d"]
    assert [r["id"] for r in plan.near_misses(1)] == ["b"]
    assert plan.compress()[0]["margin"] == pytest.approx(-0.3)
    summary = plan.summary()
    assert summary["compress"]["memories"] == 2
    assert summary["keep"]["reasons"] == {"value within the budget": 1}


def test_the_density_exponent_prefers_the_short_one_of_equals():
    tokens = np.array([100, 10])
    plain = plan_forgetting([0.6, 0.5], "100 tokens", tokens=tokens)
    dense = plan_forgetting([0.6, 0.5], "100 tokens", tokens=tokens, density_exponent=1.0)
    assert plain.kept.tolist() == [True, False]
    assert dense.kept.tolist() == [False, True]
    assert plan_forgetting([0.6, 0.5], 1, tokens=tokens, density_exponent=1.0).kept.tolist() == [True, False]


def test_a_plan_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    plan = plan_forgetting([0.2, 0.9], 1, ids=["a", "b"], tokens=np.array([3, 4]))
    plan.write(tmp_path / "plan.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "plan.jsonl").read_text().splitlines()]
    assert [(r["id"], r["action"], r["tokens"]) for r in rows] == [("a", "forget", 3), ("b", "keep", 4)]
    assert {r["reason"] for r in rows} <= set(REASONS)
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        plan.write(tmp_path / "other.jsonl")
    assert os.listdir(tmp_path) == ["plan.jsonl"]


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"values": [np.nan]}, "finite"),
        ({"ids": ["a"]}, "2 different names"),
        ({"ids": ["a", "a"]}, "2 different names"),
        ({"budget": "10%tokens"}, "needs the memories' tokens"),
        ({"budget": "10%tokens", "tokens": np.array([1, 0])}, "1 or more"),
        ({"budget": "10%tokens", "tokens": np.ones(2, int), "density_exponent": -1}, "density_exponent"),
        ({"pinned": [1, 0]}, "pinned must be 2 flags"),
        ({"grace_days": 1.0}, "needs age_days"),
        ({"grace_days": 1.0, "age_days": [1.0]}, "age_days must be 2"),
    ],
)
def test_bad_input_is_named(given_, message):
    with pytest.raises(ValueError, match=message):
        plan_forgetting(**{"values": [0.1, 0.2], "budget": 0.5, **given_})


def test_an_empty_store_has_an_empty_plan():
    plan = plan_forgetting([], 0.3)
    assert len(plan) == 0 and plan.keep() == [] and not plan.over_budget


def test_on_real_cases_a_plan_keeps_what_the_evaluation_says(shared_data):
    from memvalue.data import load
    from memvalue.eval import Bench

    bench = Bench.build(load(f"longmemeval:{shared_data.longmemeval(24)}"))
    values = model().value(bench.factors)
    want = retention(values, bench.offsets, bench.needed, [0.3])[:, 0]
    found, tied = [], []
    for c, (lo, hi) in enumerate(pairwise(bench.offsets)):
        ids = [f"{bench.case_ids[c]}/{i}" for i in range(hi - lo)]
        plan = plan_forgetting(values[lo:hi], "30%", ids=ids)
        gold = bench.needed[lo:hi]
        found.append((plan.kept & gold).sum() / gold.sum())
        at = plan.score == plan.cut
        tied.append(bool((at & gold).any() and (at & ~plan.kept).any()))
    found, tied = np.array(found), np.array(tied)
    np.testing.assert_allclose(found[~tied], want[~tied])
    assert tied.mean() < 0.2
    assert abs(found.mean() - want.mean()) < 0.02
