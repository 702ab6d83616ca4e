"""The event log: deliberate uses and corrections, decayed; being shown is no use."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest
from feature_cases import DAY, prefix, store, stores
from hypothesis import given

from memvalue.data.consolidation import Consolidation
from memvalue.data.event import Event
from memvalue.features.log_evidence import log_evidence


def at(hours: float) -> datetime:
    return DAY + timedelta(hours=hours)


def logged(*events: Event, now: float = 100.0) -> Consolidation:
    """Three memories, 0, 24 and 48 hours after the first, looked at ``now`` hours after it."""
    return store(["one"], ["two"], ["three"], events=events, now=at(now))


def test_no_log_is_not_a_log_without_uses() -> None:
    uses, harm = log_evidence(logged())
    assert np.isnan(uses).all() and np.isnan(harm).all()
    uses, harm = log_evidence(logged(Event("shown", 0, at(1))))
    assert uses.tolist() == [0, 0, 0] and harm.tolist() == [0, 0, 0]


def test_worked_by_hand() -> None:
    uses, harm = log_evidence(
        logged(
            Event("written", 0, at(0)),
            Event("opened", 0, at(90), signal=0.5, weight=2.0),
            Event("confirmed", 0, at(100)),
            Event("written", 0, at(50)),
            Event("corrected", 1, at(60)),
            Event("contradicted", 1, at(100), weight=0.5),
            Event("superseded", 2, at(99), signal=0.0),
        )
    )
    np.testing.assert_allclose(uses, [0.995**10 + 1 + 0.995**50, 0, 0], rtol=1e-12)
    np.testing.assert_allclose(harm, [0, 0.999**40 + 0.5, 0.999], rtol=1e-12)


@pytest.mark.parametrize("kind", ["shown", "rescored", "imported", "forgotten"])
def test_what_is_no_deliberate_use_counts_nothing(kind: str) -> None:
    uses, harm = log_evidence(logged(Event(kind, 1, at(30))))  # type: ignore[arg-type]
    assert not uses.any() and not harm.any()


def test_an_outcome_that_harmed_is_no_use() -> None:
    assert log_evidence(logged(Event("opened", 1, at(30), signal=0.0)))[0].tolist() == [0, 0, 0]


def test_what_is_still_to_come_does_not_count_and_makes_no_log() -> None:
    for events in ([Event("opened", 0, at(101))], [Event("corrected", 0, at(1000))]):
        uses, harm = log_evidence(logged(*events))
        assert np.isnan(uses).all() and np.isnan(harm).all()


def test_the_second_that_is_now_has_happened() -> None:
    late = at(100) + timedelta(microseconds=400_000)
    assert log_evidence(logged(Event("opened", 0, late)))[0].tolist() == [1, 0, 0]


def test_online_each_memory_is_looked_at_when_it_is_written() -> None:
    events = (
        Event("written", 1, at(24)),
        Event("written", 1, at(24)),
        Event("opened", 0, at(30)),
        Event("corrected", 2, at(47)),
        Event("corrected", 1, at(47)),
    )
    uses, harm = log_evidence(logged(*events), online=True)
    # Nobody kept a log when the first memory was written; later uses of it are not known then.
    np.testing.assert_array_equal(uses, [np.nan, 1, 0])
    np.testing.assert_allclose(harm, [np.nan, 0, 0.999])


@given(stores(max_sessions=6, log=True))
def test_online_is_what_the_store_knew_at_that_moment(c: Consolidation) -> None:
    whole = np.array(log_evidence(c, online=True))
    for i in range(len(c)):
        np.testing.assert_array_equal(np.array(log_evidence(prefix(c, i + 1)))[:, i], whole[:, i])
        np.testing.assert_array_equal(
            np.array(log_evidence(prefix(c, i + 1), online=True)), whole[:, : i + 1]
        )


def test_a_weight_beyond_all_reason_stays_finite() -> None:
    events = [Event(kind, 0, at(100), weight=1.7e308) for kind in ("opened", "corrected") * 2]  # type: ignore[arg-type]
    uses, harm = log_evidence(logged(*events))
    assert np.isfinite(uses.astype(np.float32)).all() and np.isfinite(harm.astype(np.float32)).all()


def test_an_empty_store_has_an_empty_log() -> None:
    assert [len(x) for x in log_evidence(store())] == [0, 0]
