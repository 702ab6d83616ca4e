"""Policies are called by name, and each one of the default table runs."""

import numpy as np
import pytest
from eval_cases import bench_of, case, random_bench
from threadpoolctl import threadpool_limits

from memvalue.eval import Inapplicable, Policy
from memvalue.eval.confound import EXPECTED, run_confound
from memvalue.eval.roster import DEFAULT, GROUPS, PAPER, known_policies, roster


@pytest.fixture(autouse=True)
def one_thread():
    """Small fits wait for each other's threads on a busy machine."""
    with threadpool_limits(1):
        yield


class Flat:
    """An encoder for which all texts are alike."""

    name, dim = "flat", 2

    def encode(self, texts):
        return np.tile(np.array([1, 0], np.float32), (len(texts), 1))


def test_default_without_encoder_leaves_out_the_papers_rows():
    names = [p.name for p in roster()]
    assert names == [n for n in DEFAULT if n not in PAPER]


def test_default_with_encoder_is_the_whole_table():
    policies = roster(bench=random_bench(2), encoder=Flat())
    assert [p.name for p in policies] == list(DEFAULT)
    assert all(isinstance(p, Policy) for p in policies)


def test_names_commas_lists_and_repeats():
    assert [p.name for p in roster("role, random,role")] == ["role", "random"]
    assert [p.name for p in roster(["quick", "role", "random"])] == [*GROUPS["quick"], "role"]


def test_every_group_holds_known_names():
    for rows in GROUPS.values():
        assert set(rows) <= set(known_policies())


def test_an_unknown_name_lists_what_there_is():
    with pytest.raises(ValueError, match=r"no policy called 'magic'; rows: random, .*; groups: default"):
        roster("magic")


def test_a_paper_row_without_encoder_says_what_to_pass():
    with pytest.raises(ValueError, match=r"'paper_uniform' measures similarity.*encoder=load_encoder"):
        roster("paper_uniform", bench=random_bench(2))


def test_a_group_that_leaves_nothing_says_so():
    with pytest.raises(ValueError, match="no policy is left of paper_table"):
        roster("paper_table")


def test_every_row_scores_or_says_what_is_missing():
    rng = np.random.default_rng(0)
    bench = bench_of(
        *(
            case(
                f"c{c}",
                [c % 10, 10],
                factors=rng.random((12, 7)),
                question="memory 3",
                source=("simulated",) * 12,
            )
            for c in range(6)
        )
    )
    left_out = set()
    for policy in roster(["default", "paper_table"], bench=bench, encoder=Flat(), seed=1):
        seen = bench.open_to_oracle(Flat()) if policy.regime == "oracle" else bench
        try:
            scores = policy.fit(seen.take([0, 1, 2])).score(seen.take([3, 4, 5]).blind())
        except Inapplicable:
            left_out.add(policy.name)
            continue
        assert scores.shape == (36,)
        assert np.isfinite(scores).all()
    # Ready-made factors have no counts behind them.
    assert left_out == {
        "user_first_person", "user_numbers_capitals", "linear_artefact_free", "source_probe", "style_only",
        "trees", "trees_context",
    }  # fmt: skip


def test_confound_task_gives_the_published_figures():
    found = run_confound()
    assert list(found) == list(EXPECTED)
    for name, (figure, tolerance) in EXPECTED.items():
        assert abs(found[name] - figure) <= tolerance + 1e-12, (name, found[name])
