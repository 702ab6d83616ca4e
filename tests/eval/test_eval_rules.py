"""The one-line rules rank as their names say."""

from dataclasses import replace

import numpy as np
import pytest
from eval_cases import bench_of, case, random_bench

from memvalue.eval import Inapplicable
from memvalue.eval.measures import kept_share
from memvalue.eval.rules import RULES, single_factor
from memvalue.features.names import FACTORS

TEXTS = ["I and my dog", "a very long answer by the assistant indeed", "Rome 1999 Paris", "ok"]
COUNTS = {"first_person": [2, 0, 0, 0], "numbers": [0, 3, 1, 0], "capitals": [0, 0, 1, 0]}


@pytest.fixture
def counted():
    """Two equal cases of four turns: person, assistant, person, person, with the counts above."""
    roles = ["user", "assistant", "user", "user"]
    bench = bench_of(*(case(name, [2], texts=TEXTS, roles=roles) for name in "ab"))
    evidence = np.tile(np.array(list(COUNTS.values()), np.float32).T, (2, 1))
    return replace(bench, evidence=evidence, evidence_names=tuple(COUNTS))


def ranking(name, bench):
    """Rows of the first case from best to worst, equal scores together."""
    scores = RULES[name].score(bench.blind())[:4]
    return [np.flatnonzero(scores == s).tolist() for s in sorted(set(scores), reverse=True)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("random", [[0, 1, 2, 3]]),
        ("recency", [[3], [2], [1], [0]]),
        ("user_oldest", [[0], [2], [3], [1]]),
        ("length", [[1], [0], [2], [3]]),
        ("role", [[0, 2, 3], [1]]),
        ("user_length", [[0], [2], [3], [1]]),
        ("user_first_person", [[0], [2, 3], [1]]),
        ("user_numbers_capitals", [[2], [0, 3], [1]]),
    ],
)
def test_order(name, expected, counted):
    assert ranking(name, counted) == expected


@pytest.mark.parametrize("name", sorted(set(RULES) - {"oracle"}))
def test_every_case_is_scored_by_itself(name, counted):
    if name.startswith("only_") or name == "uniform":
        counted = random_bench(2)
    half = len(counted) // 2
    both = RULES[name].score(counted.blind())
    alone = RULES[name].score(counted.take([1]).blind())
    assert np.array_equal(np.argsort(both[half:], kind="stable"), np.argsort(alone, kind="stable"))
    assert both.shape == (len(counted),)
    assert both.dtype == np.float64


def test_random_keeps_exactly_the_budget_in_expectation():
    bench = random_bench(5, n=20)
    kept = kept_share(RULES["random"].score(bench.blind()), bench.offsets, bench.needed, (0.1, 0.3, 1.0))
    assert np.allclose(kept, [0.1, 0.3, 1.0])


def test_a_single_factor_reads_its_own_column_and_says_so():
    bench = random_bench(2)
    for i, name in enumerate(FACTORS):
        rule = RULES[f"only_{name}"]
        assert np.array_equal(rule.score(bench.blind()), bench.factors[:, i].astype(np.float64))
        assert rule.weights.tolist() == np.eye(7)[i].tolist()


def test_uniform_is_the_mean_of_the_factors():
    bench = random_bench(2)
    rule = RULES["uniform"]
    assert np.allclose(rule.score(bench.blind()), bench.factors.mean(axis=1))
    assert np.allclose(bench.factors @ rule.weights, rule.score(bench.blind()))


def test_an_unknown_factor_lists_the_seven():
    with pytest.raises(ValueError, match=r"'charm'; one of emotional_intensity, .*usage_history"):
        single_factor("charm")


@pytest.mark.parametrize("name", ["user_first_person", "user_numbers_capitals"])
def test_counting_rules_say_what_ready_made_factors_lack(name):
    with pytest.raises(Inapplicable, match=rf"{name} counts words.*needs a data set with texts"):
        RULES[name].score(random_bench(1).blind())


def test_oracle_needs_the_question_and_then_ranks_by_it():
    bench = bench_of(case("a", [1], texts=["red bicycle", "blue car", "tea"], question="which blue car?"))
    rule = RULES["oracle"]
    assert rule.regime == "oracle"
    with pytest.raises(Inapplicable, match="no questions"):
        rule.score(bench.blind())
    assert int(np.argmax(rule.score(bench.open_to_oracle().blind()))) == 1


def test_rules_have_nothing_to_fit(counted):
    for rule in RULES.values():
        assert rule.fit(counted) is rule
        assert not rule.learns
