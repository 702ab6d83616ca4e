"""What has changed since the last run."""

import json
from dataclasses import replace

import numpy as np
import pytest
from factor_tables import planted_table

from memvalue.train.drift import Snapshot, drift


def test_the_same_business_later_on_has_not_drifted():
    before, after = (Snapshot.of(planted_table(seed=s), np.full(40, 0.5)) for s in (0, 1))
    found = drift(before, after)
    assert {f["verdict"] for f in found["factors"].values()} == {"steady"}
    assert found["changed"] == []


def test_a_factor_that_moves_is_named_with_its_means():
    table = planted_table()
    X = table.factors.copy()
    X[:, 2] = X[:, 2] ** 3
    found = drift(Snapshot.of(table), Snapshot.of(replace(table, factors=X)))
    assert found["factors"]["value_alignment"]["verdict"] == "shifted"
    assert found["factors"]["value_alignment"]["mean_after"] == pytest.approx(0.25, abs=0.03)
    assert found["factors"]["self_relevance"]["index"] == 0.0
    assert found["changed"][0].startswith("value_alignment has shifted: mean 0.5")


def test_the_index_is_the_sum_over_bins_by_hand():
    counts = {"x": [0] * 12}
    before, after = ({"x": list(counts["x"])} for _ in range(2))
    before["x"][1], before["x"][2] = 59, 39  # with half a memory added: 59.5 and 39.5 of 99
    after["x"][1], after["x"][2] = 39, 59
    snap = Snapshot(before, 1, 98, 1, float("nan"), float("nan"))
    p, q = 59.5 / 99, 39.5 / 99
    expected = 2 * (p - q) * np.log(p / q)
    assert drift(snap, replace(snap, counts=after))["factors"]["x"]["index"] == pytest.approx(expected)


def test_a_few_memories_are_not_called_a_shift():
    table = planted_table(cases=1, memories=6, wanted=1)
    other = planted_table(cases=1, memories=6, wanted=1, seed=1)
    found = drift(Snapshot.of(table), Snapshot.of(other))
    assert {f["verdict"] for f in found["factors"].values()} == {"steady"}


def test_retention_is_better_or_worse_only_beyond_its_error():
    rng = np.random.default_rng(0)
    table = planted_table()
    kept = rng.uniform(0.4, 0.6, 40)
    same, worse = Snapshot.of(table, kept + 0.001), Snapshot.of(table, kept - 0.2)
    before = Snapshot.of(table, kept)
    assert drift(before, same)["kept"]["verdict"] == "steady"
    found = drift(before, worse)
    assert found["kept"]["verdict"] == "worse"
    assert found["kept"]["change"] == pytest.approx(-0.2)
    assert drift(worse, before)["kept"]["verdict"] == "better"
    assert drift(before, Snapshot.of(table))["kept"]["verdict"] == "unknown"


def test_a_snapshot_survives_json():
    for kept in ((), [0.25, 0.75, np.nan]):
        snap = Snapshot.of(planted_table(cases=3), kept)
        again = Snapshot.from_dict(json.loads(json.dumps(snap.to_dict(), allow_nan=False)))
        assert again.to_dict() == snap.to_dict()
    assert again.kept == 0.5


def test_values_at_the_ends_have_bins_of_their_own():
    table = planted_table(cases=2, memories=4, wanted=1)
    X = np.zeros_like(table.factors)
    X[:3] = 1.0
    X[3] = 0.9999
    assert Snapshot.of(replace(table, factors=X)).counts["self_relevance"] == [4, *[0] * 9, 1, 3]


def test_what_cannot_be_compared_is_refused():
    one = Snapshot.of(planted_table())
    with pytest.raises(ValueError, match="other factors"):
        drift(one, replace(one, counts={"x": [0] * 12}))
    with pytest.raises(ValueError, match="no snapshot"):
        Snapshot.from_dict({"counts": {}})
    with pytest.raises(ValueError, match="12 counts"):
        Snapshot.from_dict(one.to_dict() | {"counts": {"x": [1, 2]}})
