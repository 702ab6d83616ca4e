"""The confound task gives the figures that were published for it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from memvalue.data.confound import RANGES, confound
from memvalue.data.dataset import Dataset
from memvalue.data.errors import DataError

EMOTION, GOAL, VALUE, SELF, TASK, RELIABILITY, USAGE = range(7)


def kept(scores: np.ndarray, needed: np.ndarray) -> float:
    """Share of the needed memories among the best eight of twenty, ties by the worst case."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], bool(needed[i])))
    return sum(bool(needed[i]) for i in order[:8]) / int(needed.sum())


def retention(dataset: Dataset, weights: dict[int, float]) -> float:
    figures = []
    for case in dataset:
        assert case.factors is not None
        scores = sum(w * case.factors[:, j].astype(np.float64) for j, w in weights.items())
        figures.append(kept(scores, case.sealed.open().needed))
    return float(np.mean(figures))


def test_uniform_weights_keep_62_percent_over_several_seeds() -> None:
    uniform = dict.fromkeys(range(7), 1.0)
    figures = [retention(confound(120, seed), uniform) for seed in range(5)]
    assert np.mean(figures) == pytest.approx(0.62, abs=0.03)
    assert figures[0] == pytest.approx(0.62, abs=0.03)  # the default seed by itself
    assert all(abs(figure - 0.62) < 0.08 for figure in figures)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_emotion_and_self_alone_keep_nothing_and_the_right_three_keep_all(seed: int) -> None:
    dataset = confound(60, seed)
    assert retention(dataset, {EMOTION: 1.0}) == 0.0
    assert retention(dataset, {SELF: 1.0}) == 0.0
    assert retention(dataset, {VALUE: 1.0}) == 0.0
    assert retention(dataset, {GOAL: 1.0, TASK: 1.0, RELIABILITY: 1.0}) == 1.0


def test_newest_first_keeps_nothing() -> None:
    for case in confound(60):
        view = case.consolidation
        newest = -(view.now - view.times).astype(np.float64)
        assert kept(newest, case.sealed.open().needed) == 0.0


def test_the_draws_lie_in_the_published_ranges() -> None:
    dataset = confound(50, 3)
    columns = {GOAL: "goal_relevance", VALUE: "value_alignment", SELF: "self_relevance"}
    columns |= {TASK: "task_utility", RELIABILITY: "reliability"}
    for case in dataset:
        needed = case.sealed.open().needed
        factors = case.factors
        assert factors is not None and factors.shape == (20, 7) and factors.dtype == np.float32
        assert needed.sum() == 4
        age = (case.consolidation.now - case.consolidation.times) / np.timedelta64(1, "D")
        for rows, side in ((needed, 0), (~needed, 1)):
            for j, name in columns.items():
                low, high = RANGES[name][side]
                assert (factors[rows, j] >= low - 1e-6).all() and (factors[rows, j] <= high + 1e-6).all()
            low, high = RANGES["age"][side]
            assert (age[rows] >= low - 1e-4).all() and (age[rows] <= high + 1e-4).all()
        assert (factors[needed, EMOTION] <= 0.2 * 0.5).all()
        assert (factors[needed, USAGE] <= 0.5).all() and (factors[:, USAGE] <= 0.8).all()


def test_usage_history_counts_the_retrievals_in_the_log() -> None:
    for case in confound(10):
        seen = np.zeros(20)
        written = case.consolidation.times
        for event in case.consolidation.events:
            assert event.kind == "shown"
            seen[event.memory] += 1
            when = np.datetime64(event.time.replace(tzinfo=None), "s")
            assert written[event.memory] - np.timedelta64(1, "s") <= when <= case.consolidation.now
        assert case.factors is not None
        np.testing.assert_allclose(case.factors[:, USAGE], seen / (1 + seen), rtol=1e-6)


def test_texts_do_not_tell_what_is_needed() -> None:
    numbers: list[list[int]] = [[], []]
    for case in confound(120):
        assert set(case.consolidation.roles) == {"user"}
        for text, needed in zip(case.consolidation.texts, case.sealed.open().needed, strict=True):
            numbers[int(needed)].append(int(text.split()[-1].rstrip(".")))
    assert abs(np.mean(numbers[0]) - np.mean(numbers[1])) < 1.0


def test_same_seed_same_data_in_another_process() -> None:
    code = "from memvalue.data.confound import confound; print(confound(5, 7).digest)"
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
        env={"PYTHONHASHSEED": "9"},
    )
    assert out.stdout.strip() == confound(5, 7).digest != confound(5, 8).digest
    assert confound(9, 7).cases[4].consolidation.digest() == confound(5, 7).cases[4].consolidation.digest()


@pytest.mark.parametrize(("cases", "seed", "word"), [(0, 0, "cases"), (-3, 0, "cases"), (5, -1, "seed")])
def test_impossible_sizes_and_seeds_are_refused(cases: int, seed: int, word: str) -> None:
    with pytest.raises(DataError, match=f"{word} must be"):
        confound(cases, seed)
