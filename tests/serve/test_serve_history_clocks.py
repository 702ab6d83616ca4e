"""The long clock and what it keeps in view."""

from __future__ import annotations

import math

import numpy as np
import pytest
from history_cases import at, event, folded
from hypothesis import given
from hypothesis import strategies as st

from memvalue.serve.history import HistoryError, States, activation, named_list
from memvalue.serve.history.activation import KEPT, activation_from_latest


def approximate(ages: list[float]) -> float:
    """B by the constant-space form, the moment asked about being hour 0."""
    times = sorted((-a for a in ages), reverse=True)
    latest = (times + [-math.inf] * KEPT)[:KEPT]
    return activation_from_latest(latest, float(len(times)), times[-1], 0.0)


def test_activation_by_hand() -> None:
    # 1/√1 + 1/√4 + 1/√9 = 1.8333…
    assert activation([1, 4, 9]) == pytest.approx(0.6061358, abs=1e-7)
    assert activation([]) == -math.inf
    assert activation([0.0]) == activation([1 / 60]) == pytest.approx(math.log(math.sqrt(60)))
    with pytest.raises(HistoryError, match="after the moment"):
        activation([1.0, -1.0])


def test_the_approximation_by_hand() -> None:
    # Eight uses 1 h ago, two more, the first 100 h ago: 8·1 + 2·2/(√100 + √1) = 8.363636…
    assert approximate([1.0] * 8 + [50.0, 100.0]) == pytest.approx(math.log(8.3636364), abs=1e-7)


@given(st.lists(st.floats(0.0, 20_000.0), min_size=1, max_size=KEPT))
def test_up_to_the_kept_uses_it_is_exact(ages: list[float]) -> None:
    assert approximate(ages) == pytest.approx(activation(ages), abs=1e-12)


@given(st.lists(st.floats(0.02, 20_000.0), min_size=KEPT + 1, max_size=60))
def test_beyond_it_lies_between_the_extremes(ages: list[float]) -> None:
    # The others are somewhere between the oldest kept and the first use: so is what they add.
    ages.sort()
    kept = sum(1 / math.sqrt(a) for a in ages[:KEPT])
    more = len(ages) - KEPT
    least, most = kept + more / math.sqrt(ages[-1]), kept + more / math.sqrt(ages[KEPT - 1])
    assert math.log(least) - 1e-9 <= approximate(ages) <= math.log(most) + 1e-9


def test_the_stated_error() -> None:
    rng = np.random.default_rng(0)
    scattered, bursty = [], []
    for _ in range(500):
        n = 1 + rng.poisson(rng.choice([3, 10, 30, 100]))
        ages = (rng.uniform(24, 17_520) * rng.random(n)).tolist()
        scattered.append(abs(approximate(ages) - activation(ages)))
        times = np.cumsum(rng.pareto(0.6, n) * rng.choice([0.1, 1, 10]))
        ages = (times[-1] - times + rng.pareto(0.6) + 0.02).tolist()
        bursty.append(abs(approximate(ages) - activation(ages)))
    assert np.mean(scattered) < 0.02
    assert np.mean(bursty) < 0.15


def test_use_raises_it_and_time_lowers_it() -> None:
    states = folded(event("written", 0), event("opened", 10))
    assert states.state("a", at(11)).activation > folded(event("written", 0)).state("a", at(11)).activation
    assert states.state("a", at(50)).activation < states.state("a", at(11)).activation


def view() -> States:
    return folded(
        event("written", 0, "old-and-used"),
        *(event("opened", h, "old-and-used") for h in (100, 200, 300)),
        event("written", 350, "new"),
        event("written", 0, "old"),
        *(event("shown", h, "old") for h in range(300, 400)),
        event("imported", 10, "from-a-peer"),
        event("written", 0, "gone"),
        event("forgotten", 390, "gone"),
        event("shown", 390, "never-written"),
    )


def test_what_stays_in_view_is_what_is_used_not_what_is_shown() -> None:
    # At 400 h: 1/√400 + 1/√300 + 1/√200 + 1/√100 = .278; 1/√50 = .141; 1/√390 = .0506; 1/√400 = .05.
    assert named_list(view(), 10, at(400)) == ["old-and-used", "new", "from-a-peer", "old"]
    assert named_list(view(), 2, at(400)) == ["old-and-used", "new"]
    assert named_list(view(), 0, at(400)) == []
    assert named_list(States(), 5, at(400)) == []
    with pytest.raises(HistoryError, match="size is 0 or more"):
        named_list(view(), -1, at(400))


@given(st.integers(0, 12))
def test_equal_memories_are_named_in_the_order_of_their_ids(size: int) -> None:
    states = folded(*(event("written", 5, f"m{i}") for i in (7, 2, 9, 0, 5)), event("written", 6, "last"))
    assert named_list(states, size, at(9)) == ["last", "m0", "m2", "m5", "m7", "m9"][:size]
