"""Businesses made of benchmark cases keep the past and the future apart."""

import numpy as np
import pytest

from memvalue.data import load
from memvalue.eval.bench import Bench
from memvalue.eval.grouped_tenants import bench_table, question_tenants, weekly_table
from memvalue.features import Definition


@pytest.fixture(scope="module")
def benches():
    data = load("simulated:cases=12,seed=0")
    return {
        regime: Bench.build(data, definition=Definition.named("default"), regime=regime)
        for regime in ("batch", "online")
    }


def test_a_bench_becomes_a_table_case_by_case(benches):
    bench = benches["batch"]
    table = bench_table(bench)
    assert len(table) == bench.cases
    assert np.array_equal(table.factors, bench.factors)
    assert np.array_equal(table.machine, ~bench.person)
    assert table.definition["name"] == "default"


def test_a_business_has_every_case_once_in_an_order_by_chance(benches):
    table = bench_table(benches["batch"])
    kinds = tuple("ab"[i % 2] for i in range(12))
    for business in question_tenants(table, kinds, 5, 12, np.random.default_rng(0)):
        sizes = np.diff(business.offsets)
        assert sorted(sizes) == sorted(np.diff(table.offsets))
        digests = {
            business.factors[a:b].tobytes()
            for a, b in zip(business.offsets, business.offsets[1:], strict=False)
        }
        assert len(digests) == 12


def test_rows_stay_with_their_case(benches):
    table = bench_table(benches["batch"])
    original = {
        table.factors[a:b].tobytes(): table.needed[a:b].tobytes()
        for a, b in zip(table.offsets[:-1], table.offsets[1:], strict=True)
    }
    business = next(question_tenants(table, ("a",) * 12, 1, 7, np.random.default_rng(1)))
    for a, b in zip(business.offsets[:-1], business.offsets[1:], strict=True):
        assert original[business.factors[a:b].tobytes()] == business.needed[a:b].tobytes()


def test_businesses_ask_mostly_for_their_own_kinds(benches):
    table = bench_table(benches["batch"])
    kinds = ("a",) * 6 + ("b",) * 6
    first = {table.factors[a:b].tobytes() for a, b in zip(table.offsets[:6], table.offsets[1:7], strict=True)}
    shares = []
    for business in question_tenants(table, kinds, 40, 5, np.random.default_rng(2), concentration=0.05):
        parts = [
            business.factors[a:b].tobytes()
            for a, b in zip(business.offsets[:-1], business.offsets[1:], strict=True)
        ]
        shares.append(np.mean([p in first for p in parts]))
    assert np.mean(np.abs(np.array(shares) - 0.5)) > 0.35


def test_weeks_follow_each_other_and_share_no_memory(benches):
    bench = benches["online"]
    weeks = weekly_table(bench, 3, 4)
    one = bench.take([3])
    assert weeks.rows == len(one)
    assert len(weeks) == 4
    assert np.array_equal(weeks.needed, one.needed)
    # Sessions are not cut: the boundaries lie between two of them.
    inner = weeks.offsets[1:-1]
    assert (one.sessions[inner] > one.sessions[inner - 1]).all()


def test_wrong_input_is_named(benches):
    table = bench_table(benches["batch"])
    with pytest.raises(ValueError, match="online regime"):
        weekly_table(benches["batch"], 0, 4)
    with pytest.raises(ValueError, match="weeks"):
        weekly_table(benches["online"], 0, 1)
    with pytest.raises(ValueError, match="cannot be drawn"):
        next(question_tenants(table, ("a",) * 12, 1, 13, np.random.default_rng(0)))
    with pytest.raises(ValueError, match="concentration"):
        next(question_tenants(table, ("a",) * 12, 1, 3, np.random.default_rng(0), concentration=0.0))
