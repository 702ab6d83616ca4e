"""Forget risk over several data sets: each counts the same, and the calibration is judged on other cases."""

from __future__ import annotations

import numpy as np
import pytest
from eval_cases import bench_of, case

from memvalue.eval.bench import Bench
from memvalue.eval.forgetting import BETAS
from memvalue.eval.pooled_forgetting import pooled_forgetting


def benched(needed: np.ndarray) -> Bench:
    return bench_of(*(case(f"c{c}", np.flatnonzero(row), n=len(row)) for c, row in enumerate(needed)))


def labelled(cases: int, size: int, seed: int) -> tuple[Bench, np.ndarray]:
    """Cases whose memories are needed with the odds that their value states."""
    rng = np.random.default_rng(seed)
    value = rng.random(cases * size)
    needed = rng.random(cases * size) < 1 / (1 + np.exp(4.0 - 6.0 * value))
    return benched(needed.reshape(cases, size)), value


def test_what_values_state_is_found_and_each_set_gives_as_many_memories() -> None:
    sets, values = {}, {}
    for name, (cases, size, seed) in {"large": (40, 100, 1), "small": (10, 60, 2)}.items():
        sets[name], values[name] = labelled(cases, size, seed)
    found = pooled_forgetting(sets, values)
    assert found is not None
    assert len(np.asarray(found.held.values)) == 2 * 600
    assert found.figures["ece"] <= 0.05  # 120 memories a bin: chance alone gives about .03
    assert found.figures["skill"] > 0.1
    assert found.beta in BETAS and found.beta > 0


def test_values_that_say_nothing_have_no_skill() -> None:
    bench, _ = labelled(40, 50, 3)
    found = pooled_forgetting({"a": bench}, {"a": np.random.default_rng(4).random(len(bench))})
    assert found is not None
    assert abs(found.figures["skill"]) < 0.02


@pytest.mark.parametrize("needed", [False, True])
def test_without_needed_memories_or_without_others_there_is_nothing_to_calibrate(needed: bool) -> None:
    bench = benched(np.full((4, 5), needed))
    assert pooled_forgetting({"a": bench}, {"a": np.linspace(0, 1, len(bench))}) is None
