"""A rescore that is added does next to no damage; one that overwrites does a lot."""

from __future__ import annotations

import numpy as np
import pytest

from memvalue.eval.rescore import rescore_damage


@pytest.mark.parametrize("seed", range(5))
def test_damage_of_a_rescore(seed: int) -> None:
    damage = rescore_damage(np.random.default_rng(seed))
    assert damage.added <= 0.01
    assert damage.overwritten >= 0.1
    # Mean |error| of a share of 30: √(2/π)·E√(u(1−u)/30) = .7979·.3927/5.477
    assert damage.before == pytest.approx(0.0572, abs=0.004)


@pytest.mark.parametrize("noise", [0.4, 0.6])
def test_a_worse_judge_spoils_more_when_it_overwrites(noise: float) -> None:
    damage = rescore_damage(np.random.default_rng(0), noise=noise)
    assert damage.added <= 0.01
    assert damage.overwritten > rescore_damage(np.random.default_rng(0)).overwritten


def test_a_judge_that_knows_does_no_damage() -> None:
    damage = rescore_damage(np.random.default_rng(0), noise=0.0)
    assert damage.added < 0
    assert damage.overwritten < 0


def test_without_outcomes_there_is_little_to_spoil() -> None:
    damage = rescore_damage(np.random.default_rng(0), outcomes=0)
    assert damage.overwritten < 0.0


def test_numbers_that_make_no_sense_are_refused() -> None:
    for wrong in ({"memories": 0}, {"outcomes": -1}, {"noise": -1.0}, {"weight": float("nan")}):
        with pytest.raises(ValueError, match="must be"):
            rescore_damage(np.random.default_rng(0), **wrong)  # type: ignore[arg-type]
