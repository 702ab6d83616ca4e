"""Taking over what others know: by trust, at a limited rate, and from scalar confidences."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from history_cases import at, event, folded, same
from hypothesis import given
from hypothesis import strategies as st

from memvalue.serve.history import (
    EventColumns,
    History,
    HistoryError,
    MemoryState,
    PeerLimit,
    SqliteLog,
    States,
    merge_peer,
    migrate,
    migration_record,
    peer_record,
)


def state(alpha: float, beta: float, stability: float) -> MemoryState:
    known = folded(event("written", 0, signal=0.7), event("corrected", 1)).state("a", at(9))
    return replace(known, alpha=alpha, beta=beta, stability=stability)


def test_merging_by_hand() -> None:
    mine, peer = state(2.0, 3.0, 5.0), state(4.0, 1.0, 30.0)
    # α = 2 + .5·4, β = 3 + .5·1, S = max(5, .5·30)
    merged = merge_peer(mine, peer, 0.5)
    assert (merged.alpha, merged.beta, merged.stability) == (4.0, 3.5, 15.0)
    assert merge_peer(mine, peer, 0.1).stability == 5.0
    # All else is the owner's own.
    assert replace(merged, alpha=2.0, beta=3.0, stability=5.0) == mine
    assert merge_peer(mine, peer, 0.0) == mine


def test_a_side_without_reviews_has_no_stability_to_give() -> None:
    assert merge_peer(state(1, 1, 5.0), state(1, 1, math.nan), 0.5).stability == 5.0
    assert merge_peer(state(1, 1, math.nan), state(1, 1, 8.0), 0.5).stability == 4.0
    assert peer_record("a", state(1, 1, math.nan), trust=1.0, source="p", time=at(1)).stability is None  # type: ignore[union-attr]


def test_no_trust_changes_nothing_and_little_trust_gives_no_impossible_stability() -> None:
    mine, peer = state(1, 1, math.nan), state(4, 1, 8.0)
    assert merge_peer(mine, peer, 0.0) is mine
    assert merge_peer(mine, peer, 1e-9).stability == 0.001
    for trust in (1e-9, 1e-320):
        record = peer_record("a", peer, trust=trust, source="p", time=at(1))
        assert record is not None
        assert record.stability == 0.001


def test_a_stability_below_all_measure_is_taken_as_the_least() -> None:
    told = [event("imported", i, m, stability=5e-324) for i in range(3) for m in map(str, range(100))]
    used = [event("opened", 99, m) for m in map(str, range(100))]
    states = States.rebuild(EventColumns.from_records([*told, *used]))
    assert same(states, folded(*told, *used))
    assert 0.0 < states.retrievability(at(9999)).min() <= 1.0
    assert 0.0 < folded(*told).state("7", at(9999)).retrievability < 0.5


@given(st.floats(0.1, 50), st.floats(0.1, 50), st.floats(0.1, 500), st.floats(0.01, 1.0))
def test_the_event_does_what_the_formula_says(
    alpha: float, beta: float, stability: float, trust: float
) -> None:
    states = folded(event("written", 0), event("confirmed", 1))
    mine, peer = states.state("a", at(2)), state(alpha, beta, stability)
    record = peer_record("a", peer, trust=trust, source="peer", time=at(2))
    assert record is not None and record.actor == "peer"
    states.apply(record)
    found, wanted = states.state("a", at(2)), merge_peer(mine, peer, trust)
    assert (found.alpha, found.beta) == pytest.approx((wanted.alpha, wanted.beta))
    assert found.stability == pytest.approx(wanted.stability)


def test_a_source_brings_in_no_more_than_its_allowance(tmp_path: Path) -> None:
    limit = PeerLimit(per_memory=10.0, per_source=25.0, hours=24.0)
    peer = state(60.0, 20.0, 300.0)
    with SqliteLog(tmp_path / "events.db") as log:
        history = History(log)
        history.append_many([event("written", 0, m) for m in "abcd"])

        def take(memory: str, hours: float, source: str = "peer") -> float:
            before = history.states.state(memory, at(hours))
            told = history.import_peer(memory, peer, trust=1.0, source=source, time=at(hours), limit=limit)
            after = history.states.state(memory, at(hours))
            gain = after.alpha + after.beta - before.alpha - before.beta
            assert (told is None) == (gain == 0.0)
            # The ratio stays the peer's, and the stability is trusted no more than the evidence.
            assert after.alpha - before.alpha == pytest.approx(0.75 * gain)
            assert after.stability == pytest.approx(max(before.stability, 300.0 * gain / 80.0))
            return gain

        assert take("a", 1) == pytest.approx(10.0)
        assert take("a", 2) == 0.0
        assert take("b", 3) == pytest.approx(10.0)
        assert take("c", 4) == pytest.approx(5.0)
        assert take("d", 5) == 0.0
        assert take("d", 6, "another") == pytest.approx(10.0)
        assert take("a", 25.5) == pytest.approx(10.0)  # a day after the first


def test_ten_thousand_imports_of_a_flood_move_little(tmp_path: Path) -> None:
    with SqliteLog(tmp_path / "events.db") as log:
        history = History(log)
        history.append_many([event("written", 0), *(event("confirmed", 0) for _ in range(20))])
        hostile = state(0.001, 1000.0, 1.0)
        for i in range(300):
            history.import_peer("a", hostile, trust=1.0, source="hostile", time=at(1 + i / 300))
        assert history.state("a", at(3)).utility > 0.6
        assert log.count() <= 25


@pytest.mark.parametrize("trust", [-0.1, 1.1, math.nan])
def test_trust_is_a_share(trust: float) -> None:
    with pytest.raises(HistoryError, match=r"trust must lie in \[0, 1\]"):
        merge_peer(state(1, 1, 1), state(1, 1, 1), trust)
    with pytest.raises(HistoryError, match="trust"):
        peer_record("a", state(1, 1, 1), trust=trust, source="p", time=at(0))


def test_limits_are_checked() -> None:
    with pytest.raises(ValueError, match="per_source"):
        PeerLimit(per_source=-1.0)


def test_a_scalar_confidence_becomes_counts() -> None:
    found = migrate(0.8, 0.05)
    # α = .8·10, β = .2·10, S = 1/.05
    assert (found.alpha, found.beta) == pytest.approx((8.0, 2.0))
    assert found.stability == pytest.approx(20.0)
    assert migrate(0.0, 1.0, weight=4.0).beta == 4.0
    states = folded(event("written", 0), migration_record("a", found, time=at(1)))
    taken = states.state("a", at(1))
    assert (taken.alpha, taken.beta) == pytest.approx((8.5, 2.5))  # on top of the prior
    assert taken.stability == pytest.approx(20.0)


@pytest.mark.parametrize(("confidence", "rate", "weight"), [(1.2, 0.1, 10), (0.5, 0.0, 10), (0.5, 0.1, 0.0)])
def test_migration_refuses(confidence: float, rate: float, weight: float) -> None:
    with pytest.raises(HistoryError, match="must"):
        migrate(confidence, rate, weight=weight)
