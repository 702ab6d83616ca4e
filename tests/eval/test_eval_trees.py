"""The black box sees the raw evidence and its surroundings, and nothing of other cases."""

from dataclasses import replace

import numpy as np
import pytest
from eval_cases import random_bench
from scipy.stats import rankdata
from threadpoolctl import threadpool_limits

from memvalue.eval import Inapplicable
from memvalue.eval.measures import kept_share
from memvalue.eval.trees import Trees, case_context, evidence_table, sampled_rows


@pytest.fixture(autouse=True)
def one_thread():
    """Small fits wait for each other's threads on a busy machine."""
    with threadpool_limits(1):
        yield


def with_evidence(cases, *, seed=0, n=40):
    """A bench whose evidence column ``signal`` is high for the needed memories, beside one of noise."""
    rng = np.random.default_rng(seed)
    bench = random_bench(cases, seed=seed, n=n)
    signal = bench.needed * 2.0 + rng.normal(size=len(bench))
    evidence = np.column_stack([signal, rng.normal(size=len(bench))]).astype(np.float32)
    sessions = np.tile(np.repeat(np.arange(n // 4), 4), cases)
    return replace(bench, evidence=evidence, evidence_names=("signal", "noise"), sessions=sessions)


@pytest.mark.parametrize("context", [False, True])
def test_finds_a_planted_signal_on_cases_it_never_saw(context):
    train, test = with_evidence(25, seed=1), with_evidence(20, seed=2)
    scores = Trees(context=context).fit(train).score(test.blind())
    kept = kept_share(scores, test.offsets, test.needed, (0.2,)).mean()
    assert kept > 0.6


def test_the_same_seed_gives_the_same_scores():
    bench = with_evidence(10)
    a, b = (Trees(seed=3).fit(bench).score(bench.blind()) for _ in range(2))
    assert np.array_equal(a, b)


def test_fit_leaves_the_policy_alone():
    policy, bench = Trees(), with_evidence(10)
    policy.fit(bench)
    with pytest.raises(ValueError, match="'trees' is not fitted"):
        policy.score(bench.blind())


def test_ready_made_factors_are_refused_with_a_reason():
    with pytest.raises(Inapplicable, match=r"trees reads raw evidence.*needs a data set with texts"):
        Trees().fit(random_bench(3))


@pytest.mark.parametrize("context", [False, True])
def test_a_column_that_is_unknown_throughout_does_no_harm(context):
    bench = with_evidence(10)
    evidence = np.column_stack([bench.evidence, np.full(len(bench), np.nan, np.float32)])
    wider = replace(bench, evidence=evidence, evidence_names=("signal", "noise", "trust"))
    scores = Trees(context=context).fit(wider).score(wider.blind())
    assert np.isfinite(scores).all()
    assert np.ptp(scores) > 0


class TestContext:
    def test_width_and_columns(self):
        bench = with_evidence(2)
        table = evidence_table(bench, "x")
        assert table.shape == (80, 3)
        assert np.array_equal(table[:, 2], bench.person.astype(np.float32))
        context = case_context(table, bench)
        assert context.shape == (80, 3 * 3 + 3)
        assert context.dtype == np.float32

    def test_percentiles_are_those_of_the_case(self):
        bench = with_evidence(3)
        context = case_context(evidence_table(bench, "x"), bench)
        column = bench.evidence[40:80, 0]
        assert np.allclose(context[40:80, 0], (rankdata(column, "min") - 1) / 39)

    def test_neighbours_stop_at_the_session(self):
        bench = with_evidence(1, n=8)
        context = case_context(evidence_table(bench, "x"), bench)
        before, after = context[:, 3], context[:, 6]
        signal = bench.evidence[:, 0]
        assert np.flatnonzero(np.isnan(before)).tolist() == [0, 4]
        assert np.flatnonzero(np.isnan(after)).tolist() == [3, 7]
        assert before[1] == signal[0] and after[4] == signal[5]

    def test_place_in_the_session_from_both_ends(self):
        bench = with_evidence(2, n=8)
        front, back, age = case_context(evidence_table(bench, "x"), bench)[:, -3:].T
        assert front.tolist() == [0, 1, 2, 3] * 4
        assert back.tolist() == [3, 2, 1, 0] * 4
        assert age.tolist() == ([0.0] * 4 + [1.0] * 4) * 2

    def test_another_case_changes_nothing(self):
        bench = with_evidence(3)
        whole = case_context(evidence_table(bench, "x"), bench)
        alone = bench.take([2])
        assert np.array_equal(whole[80:], case_context(evidence_table(alone, "x"), alone), equal_nan=True)

    def test_a_case_of_one_turn(self):
        bench = with_evidence(1, n=4).take([0])
        one = replace(
            bench,
            **{
                name: getattr(bench, name)[:1]
                for name in (
                    "factors", "evidence", "person", "sessions", "positions", "age_days", "tokens", "texts",
                    "session_index", "turn_index", "needed", "source",
                )
            },
            offsets=np.array([0, 1]),
        )  # fmt: skip
        context = case_context(evidence_table(one, "x"), one)
        assert context[0, :3].tolist() == [0, 0, 0]
        assert np.isnan(context[0, 3:9]).all()
        assert context[0, 9:].tolist() == [0, 0, 0]


class TestSampling:
    def test_keeps_every_needed_row(self):
        needed = np.zeros(1000, bool)
        needed[[3, 500]] = True
        rows = sampled_rows(needed, 10, np.random.default_rng(0))
        assert len(rows) == 2 + 20
        assert {3, 500} <= set(rows.tolist())
        assert (np.diff(rows) > 0).all()

    def test_takes_all_when_there_are_few(self):
        needed = np.array([True, False, False])
        assert sampled_rows(needed, 10, np.random.default_rng(0)).tolist() == [0, 1, 2]
