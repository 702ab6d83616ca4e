"""Simulated businesses have the factors that their logs say, by the features' own code."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from memvalue.data import Consolidation, Event
from memvalue.data.errors import DataError
from memvalue.data.worlds.tenants import PAGE_FACTORS, START, tenant
from memvalue.eval.simulated_tenants import spoiled, tenant_table
from memvalue.features import FACTORS
from memvalue.features.log_evidence import log_evidence
from memvalue.features.usage_history import USES

DAY = timedelta(days=1)


def test_the_same_seed_gives_the_same_table():
    one, other, third = (tenant_table(tenant(seed, 12)) for seed in (3, 3, 4))
    assert one.digest() == other.digest()
    assert one.digest() != third.digest()


def test_uses_and_harm_are_those_of_the_events_that_the_runtime_would_read():
    business = tenant(5, 6, pages=30, logged=1.0)
    table = tenant_table(business)
    epoch = START.astype(datetime).replace(tzinfo=UTC)
    for case in (0, 5):
        now = epoch + timedelta(hours=float(business.now[case]))
        there = np.flatnonzero(business.world.created <= business.now[case])
        row = {int(page): i for i, page in enumerate(there)}
        events = tuple(
            Event(kind, row[page], epoch + timedelta(hours=time))
            for time, page, kind in zip(
                business.event_time.tolist(), business.event_page.tolist(), business.event_kind, strict=True
            )
            if time <= business.now[case]
        )
        n = len(there)
        view = Consolidation(
            texts=("",) * n, roles=("user",) * n, sessions=np.zeros(n, int), positions=np.arange(n),
            times=np.full(n, START), now=np.datetime64(now.replace(tzinfo=None), "s"), events=events,
        )  # fmt: skip
        uses, harm = log_evidence(view)
        rows = slice(*table.offsets[case : case + 2])
        assert table.uses[rows] == pytest.approx(uses, rel=1e-4, abs=1e-5)
        history = table.factors[rows, FACTORS.index("usage_history")]
        assert history == pytest.approx(USES * (1 - np.exp(-uses / 2)), abs=1e-4)
        # A plain statement of a person is .75, half of reliability; trust is the other half.
        expected = (0.375 + 0.5 * business.pages[there, PAGE_FACTORS.index("trust")]) * np.exp(-harm)
        assert table.factors[rows, FACTORS.index("reliability")] == pytest.approx(expected, abs=1e-4)


def test_needed_is_what_is_asked_in_the_horizon():
    business = tenant(1, 8, every_days=7, horizon_days=3)
    table = tenant_table(business)
    case = 4
    start = business.now[case]
    asked = {
        int(page)
        for time, page in zip(business.world.need_time, business.world.need_page, strict=True)
        if start <= time < start + 72
    }
    there = np.flatnonzero(business.world.created <= start)
    rows = slice(*table.offsets[case : case + 2])
    assert {int(p) for p in there[table.needed[rows]]} == asked & set(there.tolist())
    assert (table.ends - table.times == np.timedelta64(3 * 86400, "s")).all()


def test_a_factor_that_the_business_wants_tells_needed_pages_from_others():
    gaps = []
    for seed in range(8):
        business = tenant(seed, 30, known=0.8)
        table = tenant_table(business)
        best = int(business.weights[:5].argmax())
        X = table.factors[:, best]
        gaps.append(X[table.needed].mean() - X[~table.needed].mean())
    assert np.mean(gaps) > 0.02


def test_businesses_that_know_nothing_of_their_pages_have_uninformative_page_factors():
    tables = [tenant_table(tenant(seed, 30, known=0.0)) for seed in range(6)]
    gaps = [t.factors[t.needed, :5].mean(axis=0) - t.factors[~t.needed, :5].mean(axis=0) for t in tables]
    assert np.abs(np.mean(gaps, axis=0)).max() < 0.03


@pytest.mark.parametrize("cases", [1, 5, 60])
def test_tables_have_as_many_cases_as_asked_for(cases):
    for seed in range(10):
        assert len(tenant_table(tenant(seed, cases, pages=40))) == cases


def test_spoiled_labels_are_as_many_and_a_third_of_them_wrong():
    table = tenant_table(tenant(2, 40))
    wrong = spoiled(table, 1 / 3, np.random.default_rng(0))
    per_case = [np.add.reduceat(t.needed, t.offsets[:-1]) for t in (table, wrong)]
    assert np.array_equal(*per_case)
    lost = (table.needed & ~wrong.needed).sum() / table.needed.sum()
    assert lost == pytest.approx(1 / 3, abs=0.08)
    assert np.array_equal(spoiled(table, 0.0, np.random.default_rng(0)).needed, table.needed)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cases": 0}, "a case or more"),
        ({"every_days": 0.0}, "every_days"),
        ({"different": -1.0}, "different"),
        ({"known": 1.0}, "known"),
        ({"logged": 0.0}, "logged"),
        ({"pages": 3}, "at least 24 pages"),
    ],
)
def test_businesses_out_of_range_are_refused(changes, message):
    with pytest.raises(DataError, match=message):
        tenant(0, **({"cases": 5} | changes))


def test_a_share_out_of_range_is_refused():
    with pytest.raises(ValueError, match="share"):
        spoiled(tenant_table(tenant(0, 3)), 1.5, np.random.default_rng(0))
