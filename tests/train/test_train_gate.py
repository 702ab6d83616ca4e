"""The gate lets a candidate in only on evidence."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from memvalue.train.gate import LEAST_CASES, compare, judge


def noisy(gain, n=40, seed=0, spread=0.1):
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.3, 0.7, n)
    return {"base": base, "candidate": base + gain + spread * rng.standard_normal(n)}


def test_a_clear_gain_is_promoted_and_says_by_how_much():
    kept = noisy(0.1)
    verdict = judge(kept)
    assert verdict.decision == "promote"
    assert verdict.gain == pytest.approx(np.mean(kept["candidate"] - kept["base"]))
    assert verdict.ci[0] > 0
    assert verdict.gain_over_base == verdict.gain
    assert "more than the base over 40 cases" in verdict.reasons[0]


def test_the_interval_and_p_value_are_those_of_the_one_sided_paired_t_test():
    kept = noisy(0.03, seed=3)
    verdict = judge(kept, confidence=0.9)
    reference = stats.ttest_rel(kept["candidate"], kept["base"], alternative="greater")
    assert verdict.comparisons["candidate-base"].block == 1
    assert verdict.p == pytest.approx(reference.pvalue)
    assert verdict.ci[0] == pytest.approx(reference.confidence_interval(0.9).low)


def test_a_tie_stays_with_what_is_in_use():
    base = np.linspace(0.2, 0.8, 20)
    assert judge({"base": base, "candidate": base}).decision == "keep-base"
    verdict = judge({"base": base, "current": base, "candidate": base})
    assert verdict.decision == "keep-current"
    assert "as much as" in verdict.reasons[0]
    assert verdict.cases_to_settle is None


def test_a_candidate_that_beats_the_base_but_not_the_current_is_not_promoted():
    base = np.random.default_rng(0).uniform(0.2, 0.5, 30)
    better = base + 0.1 + 0.01 * np.random.default_rng(1).standard_normal(30)
    verdict = judge({"base": base, "current": better, "candidate": better - 0.02})
    assert verdict.decision == "keep-current"
    assert verdict.gain == pytest.approx(-0.02)


def test_a_current_model_that_has_become_worse_than_the_base_gives_way():
    base = np.random.default_rng(0).uniform(0.4, 0.6, 30)
    noise = 0.02 * np.random.default_rng(1).standard_normal(30)
    verdict = judge({"base": base, "current": base - 0.1 + noise})
    assert verdict.decision == "keep-base"
    assert "the base takes its place" in verdict.reasons[-1]
    # … and a candidate that beats the current, but not the base, does not get in by that.
    verdict = judge({"base": base, "current": base - 0.1 + noise, "candidate": base - 0.05 + noise})
    assert verdict.decision == "keep-base"


def test_a_current_model_within_chance_of_the_base_stays():
    base = np.random.default_rng(0).uniform(0.4, 0.6, 12)
    current = base + 0.1 * np.random.default_rng(1).standard_normal(12)
    assert judge({"base": base, "current": current}).decision == "keep-current"


@pytest.mark.parametrize("n", range(LEAST_CASES))
def test_nothing_is_promoted_on_a_handful_of_cases(n):
    verdict = judge({"base": np.zeros(n), "candidate": np.ones(n)})
    assert verdict.decision == "keep-base"
    assert verdict.p == 1.0
    assert "fewer than 5" in verdict.reasons[0]


def test_five_cases_that_agree_are_enough_at_95_but_not_at_99_percent():
    kept = {"base": np.zeros(5), "candidate": np.full(5, 0.1)}
    assert judge(kept).decision == "promote"
    assert judge(kept).p == 1 / 32  # the sign-flip test's least
    strict = judge(kept, confidence=0.99)
    assert strict.decision == "keep-base"
    assert strict.ci[0] <= 0


def test_one_lucky_case_among_many_ties_is_no_evidence():
    candidate = np.zeros(50)
    candidate[10] = 1.0
    assert judge({"base": np.zeros(50), "candidate": candidate}).decision == "keep-base"


def test_runs_of_cases_that_depend_on_each_other_count_as_fewer():
    rng = np.random.default_rng(5)
    state, gaps = 0.0, []
    for _ in range(80):
        state = 0.9 * state + rng.standard_normal()
        gaps.append(0.05 * state)
    gaps = np.array(gaps) - np.mean(gaps) + 0.03
    dependent, plain = compare(gaps, confidence=0.95), stats.ttest_1samp(gaps, 0, alternative="greater")
    assert dependent.block > 1
    assert dependent.p > plain.pvalue
    assert dependent.gain == pytest.approx(0.03)


def test_overlapping_horizons_are_taken_in_blocks_whatever_the_figures_look_like():
    gaps = np.random.default_rng(0).standard_normal(40) * 0.01 + 0.02
    assert compare(gaps, confidence=0.95, block=4).block == 4
    # Ten cases in runs of four are two and a half independent ones.
    few = compare(gaps[:10], confidence=0.95, block=4)
    assert (few.low, few.high, few.p) == (-np.inf, np.inf, 1.0)
    verdict = judge({"base": np.zeros(10), "candidate": gaps[:10]}, block=4)
    assert verdict.decision == "keep-base"
    assert "depend on each other" in verdict.reasons[0]


def test_cases_to_settle_is_about_the_sample_size_of_the_textbook():
    rng = np.random.default_rng(2)
    gaps = rng.standard_normal(30)
    gaps = 0.02 + 0.1 * (gaps - gaps.mean()) / gaps.std(ddof=1)
    verdict = judge({"base": np.zeros(30), "candidate": gaps})
    assert verdict.decision == "keep-base"
    # n = ((z.95 + z.8) · σ/δ)² = (2.486 · 5)² = 154.6
    assert verdict.cases_to_settle == 155


def test_cases_that_need_nothing_are_left_out():
    kept = noisy(0.1, n=20)
    with_gaps = {name: np.insert(column, 3, np.nan) for name, column in kept.items()}
    assert judge(with_gaps) == judge(kept)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)), min_size=0, max_size=40),
    st.sampled_from([0.8, 0.95, 0.99]),
    st.integers(1, 3),
)
def test_what_is_promoted_is_never_worse_on_the_held_out_cases(rows, confidence, block):
    table = np.array(rows, dtype=float).reshape(-1, 3)
    kept = dict(zip(("base", "current", "candidate"), table.T, strict=True))
    verdict = judge(kept, confidence=confidence, block=block)
    stays = {"keep-base": "base", "keep-current": "current", "promote": "candidate"}[verdict.decision]
    if verdict.decision == "promote":
        assert kept["candidate"].mean() > max(kept["base"].mean(), kept["current"].mean())
        assert len(table) >= LEAST_CASES
    if verdict.decision == "keep-base":
        assert kept["current"].mean() < kept["base"].mean()
    c = verdict.comparisons["candidate-current"]
    assert c.low <= c.gain <= c.high
    assert 0 <= c.p <= 1
    json.dumps(verdict.to_dict(), allow_nan=False)
    assert stays in kept


@pytest.mark.slow
def test_of_equal_models_about_one_in_twenty_passes():
    passed = [judge(noisy(0.0, n=20, seed=seed, spread=0.2)).decision == "promote" for seed in range(2000)]
    assert 0.03 < np.mean(passed) < 0.065


@pytest.mark.parametrize(
    ("kept", "options", "message"),
    [
        ({"candidate": [0.1]}, {}, "needs base"),
        ({"base": [0.1], "other": [0.1]}, {}, "compares base, current and candidate"),
        ({"base": [0.1], "candidate": [0.1, 0.2]}, {}, "same cases"),
        ({"base": [0.1]}, {"confidence": 1.0}, "confidence"),
        ({"base": [0.1]}, {"block": 0}, "block"),
    ],
)
def test_wrong_input_is_named(kept, options, message):
    with pytest.raises(ValueError, match=message):
        judge(kept, **options)
