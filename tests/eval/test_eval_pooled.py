"""One model over several data sets: what counts how much."""

from __future__ import annotations

import numpy as np
import pytest
from eval_cases import bench_of, case, random_bench

from memvalue.eval import Bench
from memvalue.eval.pooled import fit_pooled
from memvalue.features.names import FACTORS


def luring(factor: str, lure: str, cases: int, *, silent: int = 0) -> Bench:
    """A case needs one memory, high in ``factor`` but for ``silent`` cases, beside three high in ``lure``."""
    made = []
    for c in range(cases):
        table = np.zeros((10, 7), np.float32)
        table[0, FACTORS.index(factor)] = 0.0 if c < silent else 1.0
        table[1:4, FACTORS.index(lure)] = 1.0
        made.append(case(f"{factor}{c}", [0], factors=table))
    return bench_of(*made)


def test_a_set_of_few_cases_counts_as_much_as_one_of_many() -> None:
    # What finds all of the few cases finds none of the many, and what finds most of the many none of the few.
    few = luring("task_utility", "self_relevance", 4)
    many = luring("self_relevance", "task_utility", 40, silent=12)
    weights = fit_pooled([few, many], budgets=(0.1,), refits=4).estimator.weights_
    assert weights[FACTORS.index("task_utility")] > weights[FACTORS.index("self_relevance")]
    # Counted by cases, 28 found are more than 4.
    alone = fit_pooled([many], budgets=(0.1,), refits=4).estimator.weights_
    assert alone[FACTORS.index("self_relevance")] > alone[FACTORS.index("task_utility")]


def test_the_weights_are_the_mean_of_the_refits_and_their_spread_is_told() -> None:
    pooled = fit_pooled([random_bench(12)], refits=5)
    assert pooled.refits is not None and pooled.refits.shape == (5, 7)
    assert np.allclose(pooled.estimator.weights_, pooled.refits.mean(axis=0), atol=1e-12)
    assert pooled.refits.std(axis=0).max() > 0  # each refit has drawn its own cases
    for i, name in enumerate(FACTORS):
        told = pooled.weights[name]
        low, high = told["ci"]
        assert pooled.refits[:, i].min() <= low <= high <= pooled.refits[:, i].max()
        assert told["mean"] == pytest.approx(pooled.estimator.weights_[i])
        assert told["informed"] is True


def test_a_pull_brings_the_weights_towards_equal_ones() -> None:
    bench = random_bench(12)
    free, pulled = (fit_pooled([bench], refits=2, l2=l2).estimator.weights_ for l2 in (0.0, 100.0))
    assert np.abs(pulled - 1 / 7).max() < 0.03
    assert np.abs(free - 1 / 7).max() > 0.1


def test_the_same_seed_gives_the_same_bits_and_another_one_other_draws() -> None:
    bench = random_bench(10)
    one, again, other = (fit_pooled([bench], refits=2, seed=s).estimator.weights_ for s in (3, 3, 4))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_a_factor_that_no_set_informs_keeps_its_equal_share() -> None:
    bench = random_bench(10)
    bench.factors[:, 6] = 0.0
    bench.informed[6] = False
    pooled = fit_pooled([bench], refits=3)
    assert pooled.estimator.weights_[6] == pytest.approx(1 / 7)
    assert pooled.weights[FACTORS[6]]["informed"] is False


def test_a_network_is_fitted_once_and_has_no_weights() -> None:
    steps: list[int] = []
    pooled = fit_pooled([random_bench(8)], model="mlp", refits=5, step=lambda: steps.append(1))
    assert pooled.refits is None and pooled.weights == {} and len(steps) == 1
    assert pooled.estimator.predict(random_bench(2).factors).shape == (40,)


def test_sets_that_cannot_be_fitted_are_named() -> None:
    with pytest.raises(ValueError, match="at least one data set"):
        fit_pooled([])
    with pytest.raises(ValueError, match="refits must be 1 or more"):
        fit_pooled([random_bench(3)], refits=0)
    everything = bench_of(case("c", range(4), factors=np.random.default_rng(0).random((4, 7))))
    with pytest.raises(ValueError, match="all are labelled"):
        fit_pooled([random_bench(3), everything])
