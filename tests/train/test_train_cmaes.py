"""CMA-ES finds minima, silently, from its own generator alone."""

import os

import numpy as np
import pytest

from memvalue.train.cmaes import minimise


def bowl(points):
    return ((points - np.arange(points.shape[1])) ** 2).sum(axis=1)


@pytest.mark.parametrize("dimensions", [1, 2, 7])
def test_the_bottom_of_a_bowl_is_found(dimensions):
    found = minimise(bowl, np.ones(dimensions), 0.5, rng=np.random.default_rng(1), max_evaluations=4000)
    np.testing.assert_allclose(found.x, np.arange(dimensions), atol=0.01)
    np.testing.assert_allclose(found.mean, np.arange(dimensions), atol=0.01)
    assert found.value == pytest.approx(0, abs=1e-4)


def test_the_same_seed_gives_the_same_bits_and_the_global_state_stays(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    before = np.random.get_state()  # noqa: NPY002 - the state that must not be touched
    first = minimise(bowl, np.zeros(3), 0.5, rng=np.random.default_rng(5), max_evaluations=300)
    np.random.seed(99)  # noqa: NPY002 - must not matter
    second = minimise(bowl, np.zeros(3), 0.5, rng=np.random.default_rng(5), max_evaluations=300)
    assert first.x.tobytes() == second.x.tobytes()
    np.random.set_state(before)  # noqa: NPY002
    minimise(bowl, np.zeros(3), 0.5, rng=np.random.default_rng(6), max_evaluations=300)
    after = np.random.get_state()  # noqa: NPY002
    assert (before[1] == after[1]).all()
    assert before[2:] == after[2:]
    assert os.listdir(tmp_path) == []
    assert capfd.readouterr() == ("", "")


def test_evaluations_are_limited():
    seen = []
    found = minimise(
        lambda p: seen.append(len(p)) or bowl(p),
        np.zeros(4),
        0.5,
        rng=np.random.default_rng(0),
        max_evaluations=50,
    )
    assert sum(seen) == found.evaluations
    assert found.evaluations <= 50 + max(seen)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": []}, "non-empty"),
        ({"start": [np.inf]}, "finite"),
        ({"step": 0.0}, "positive"),
        ({"max_evaluations": 0}, "1 or more"),
        ({"function": lambda p: np.full(len(p), np.nan)}, "NaN"),
    ],
)
def test_bad_input_is_named(change, message):
    given = {"function": bowl, "start": [0.0, 0.0], "step": 0.5, "max_evaluations": 20} | change
    with pytest.raises(ValueError, match=message):
        minimise(
            given["function"],
            given["start"],
            given["step"],
            rng=np.random.default_rng(0),
            max_evaluations=given["max_evaluations"],
        )
