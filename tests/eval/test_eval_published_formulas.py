"""Published policies give what their papers' formulas give, worked by hand."""

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from published_views import view
from scipy.optimize import approx_fprime

from memvalue.eval.published import (
    act_r,
    elfmem,
    fade_mem,
    fit_half_life,
    fsrs,
    generative_agents,
    half_life,
    hindsight,
    knowledge_tracing,
    lfu,
    lru,
    mem0_decay,
    memory_bank,
    memory_os_heat,
    oblivion,
    sm2,
)
from memvalue.eval.published.fade_mem import importance, strength
from memvalue.eval.published.half_life import inputs, residuals, slopes
from memvalue.serve.history import EventColumns, Record, States, elfmem_retrievability

DAY = 24.0


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


# Generative Agents (arXiv 2304.03442, section 4.1)


def test_generative_agents_adds_scaled_recency_importance_and_relevance():
    # Recencies 1, .995^10, .995^20 scale to 1, (.995^10 − .995^20)/(1 − .995^20), 0.
    a, b = 0.995**10, 0.995**20
    seen = view([0, 10, 20], now=20, importance=[0.2, 0.8, 0.5], relevance=[0.9, 0.1, 0.5])
    close(generative_agents(seen), [0 + 0 + 1, (a - b) / (1 - b) + 1 + 0, 1 + 0.5 + 0.5])


def test_generative_agents_counts_from_the_last_retrieval():
    seen = view([0, 10, 20], (0, "shown", 20), now=20)
    close(generative_agents(seen)[[0, 2]], [1, 1])


def test_generative_agents_as_released_takes_the_oldest_for_the_most_recent():
    # Places 1, 2, 3 in order of last access: .995, .995², .995³ scale to 1, .5 (nearly), 0; times .5.
    middle = (0.995**2 - 0.995**3) / (0.995 - 0.995**3)
    seen = view([0, 10, 20], now=20, importance=[0.2, 0.8, 0.5], relevance=[0.9, 0.1, 0.5])
    close(generative_agents(seen, released=True), [0.5 + 0 + 3, 0.5 * middle + 2 + 0, 0 + 1 + 1.5])
    aged = view([0, 10, 20], now=20)
    assert np.argmax(generative_agents(aged)) == 2
    assert np.argmax(generative_agents(aged, released=True)) == 0
    close(generative_agents(aged, released=True)[0], 0.5 + 0.5 * (2 + 3))  # constant parts are ½ there


# MemoryBank (arXiv 2305.10250)


def test_memory_bank_is_ebbinghaus_with_a_strength_that_recalls_add_to():
    seen = view([0, 0], (1, "shown", 1 * DAY), (1, "opened", 2 * DAY), now=5 * DAY)
    close(np.exp(memory_bank(seen)), [math.exp(-5 / 1), math.exp(-3 / 3)])


def test_memory_bank_as_released_forgets_the_stronger_memory_faster():
    # exp(-t / 5*S) is e^(−t·S/5): at three days since the last recall e^(−.6) at S = 1, e^(−1.8) at S = 3.
    seen = view([2 * DAY, 0], (1, "shown", 1 * DAY), (1, "shown", 2 * DAY), now=5 * DAY)
    close(memory_bank(seen, released=True), [-0.6, -1.8])
    assert memory_bank(seen)[1] > memory_bank(seen)[0]
    assert memory_bank(seen, released=True)[1] < memory_bank(seen, released=True)[0]


# ACT-R


def test_act_r_sums_the_square_roots_of_all_ages():
    # Ages 100 and 25 hours: ln(1/10 + 1/5).
    close(act_r(view([0], (0, "opened", 75), now=100)), [math.log(0.3)])


def test_act_r_does_not_count_being_shown():
    close(act_r(view([0], (0, "shown", 75), now=100)), [math.log(0.1)])


# FSRS


def test_fsrs_is_ninety_percent_after_one_stability():
    # S of a first Good is w2 = 2.3065 days, and R(S) = .9 by definition.
    close(fsrs(view([0], now=2.3065 * DAY)), [0.9])


def test_fsrs_agrees_with_the_states_of_the_log():
    events = [
        (0, "opened", 3 * DAY), (0, "corrected", 5.5 * DAY), (1, "confirmed", 9 * DAY, 0.2),
        (1, "shown", 9.5 * DAY), (2, "written", 4 * DAY, 0.7), (2, "confirmed", 4.2 * DAY, 0.9),
    ]  # fmt: skip
    start = datetime(2026, 1, 1, tzinfo=UTC)
    records = [Record(str(m), "written", start) for m in range(3)]
    records += [
        Record(str(memory), kind, start + timedelta(hours=hour), signal=signal[0] if signal else 1.0)
        for memory, kind, hour, *signal in events
    ]
    states = States.rebuild(EventColumns.from_records(records))
    expected = [states.state(str(m), start + timedelta(days=20)).retrievability for m in range(3)]
    close(fsrs(view([0, 0, 0], *events, now=20 * DAY)), expected)


# Half-life regression (Settles & Meeder 2016)


def test_half_life_is_two_to_the_theta_x():
    # x = (√(1 + 3), √(1 + 0), 1); θ·x = 2 gives h = 4 days; two days later p = 2^(−½).
    seen = view([0], *((0, "opened", h) for h in (1, 2, 2 * DAY)), now=4 * DAY)
    close(np.exp2(half_life(seen, np.array([0.5, 0.5, 0.5]))), [2**-0.5])


def test_half_life_loss_is_the_papers():
    # One instance, p = ½ after 3 days: h = 3. θ = 0 gives ĥ = 1, p̂ = 1/8.
    x, days, p = np.array([[1.0, 1.0, 1.0]]), np.array([3.0]), np.array([0.5])
    close((residuals(np.zeros(3), x, days, p) ** 2).sum(), 0.375**2 + 0.01 * 4)
    # θ·x = 1: ĥ = 2, p̂ = 2^−1.5.
    found = (residuals(np.array([1.0, 0.0, 0.0]), x, days, p) ** 2).sum()
    close(found, (0.5 - 2**-1.5) ** 2 + 0.01 * 1 + 0.1 * 1)


def test_half_life_derivatives_agree_with_finite_differences():
    rng = np.random.default_rng(0)
    x, days, p = rng.random((20, 4)), rng.random(20) * 9, rng.random(20) * 0.9 + 0.05
    theta = rng.standard_normal(4)
    numeric = approx_fprime(theta, residuals, 1e-7, x, days, p)
    np.testing.assert_allclose(slopes(theta, x, days, p), numeric, atol=1e-5)


def test_half_life_finds_what_makes_things_last():
    rng = np.random.default_rng(1)
    views, recalled = [], []
    for _ in range(5):
        items = rng.integers(0, 2, (200, 1)).astype(float)
        seen = view(np.zeros(200), now=2 * DAY, items=items)
        views.append(seen)
        recalled.append(rng.random(200) < 2 ** (-2 / np.where(items[:, 0] > 0, 8.0, 1.0)))
    theta = fit_half_life(views, recalled)
    log_p = half_life(views[0], theta)
    assert log_p[views[0].items[:, 0] > 0].min() > log_p[views[0].items[:, 0] == 0].max()


def test_half_life_asks_for_theta_of_its_inputs():
    with pytest.raises(ValueError, match=r"θ has shape \(2,\), and this view has 3 inputs"):
        half_life(view([0], now=1), np.zeros(2))
    with pytest.raises(ValueError, match="a column of shape"):
        fit_half_life([view([0], now=1)], [[True, False]])
    assert inputs(view([0], now=1, items=np.ones((1, 2))))[0].shape == (1, 5)


# MemoryOS (arXiv 2506.06326)


def test_memory_os_heat_adds_visits_pages_and_recency_of_the_segment():
    seen = view([0, 0, 24], (0, "shown", 12), (2, "shown", 36), now=48, sessions=[7, 7, 9])
    close(memory_os_heat(seen), [1 + 2 + math.exp(-1.5)] * 2 + [1 + 1 + math.exp(-0.5)])


# Mem0


def test_mem0_decay_stays_in_the_documented_ranges():
    idle = np.array([0.5, 1, 12, 24, 3 * DAY, 7 * DAY, 21 * DAY, 200 * DAY, 4000 * DAY])
    factor = mem0_decay(view(4000 * DAY - idle, now=4000 * DAY))
    close(factor[[0, 1, 3, 5, 8]], [1.5, 1.5, 1.2, 0.6, 0.3])
    assert 1.2 <= factor[2] <= 1.5
    assert 0.6 <= factor[4] <= 1.0
    assert 0.4 <= factor[6] <= 0.6
    assert factor[7] == 0.3


def test_mem0_decay_scales_relevance_and_a_search_renews():
    seen = view([0, 0], (0, "shown", 4000 * DAY), now=4000 * DAY, relevance=[0.5, 0.9])
    close(mem0_decay(seen), [0.5 * 1.5, 0.9 * 0.3])


# FadeMem (arXiv 2601.18642)


def test_fade_mem_has_the_half_lives_that_the_paper_prints():
    # At I = 0: (ln 2 / .1)^(1/β) = 11.25 days in the long-term, 5.02 in the short-term layer.
    nothing = np.zeros(2)
    found = strength(np.array([11.25, 5.02]), nothing, np.array([True, False]))
    np.testing.assert_allclose(found, 0.5, atol=2e-4)


def test_fade_mem_importance_adds_relevance_frequency_and_recency():
    seen = view([0], (0, "shown", 1), (0, "shown", 2), now=10 * DAY, relevance=[0.5])
    close(importance(seen), [0.4 * 0.5 + 0.3 * 2 / 3 + 0.3 * math.exp(-1)])
    seen = view([0], (0, "shown", 1), (0, "shown", 2), now=10 * DAY)
    close(importance(seen), [(0.3 * 2 / 3 + 0.3 * math.exp(-1)) / 0.6])


def test_fade_mem_important_memories_are_long_term():
    # Relevance 1 and an access just now: I = .4 + .15 + .3 = .85 ≥ .7, nothing has faded.
    # A day without access at I = .4·1 + .3·e^−.1 = .6715 < .7: short-term, v = e^(−.1 e^−I · 1^1.2).
    seen = view([0, 0], (0, "shown", DAY), now=DAY, relevance=[1.0, 1.0])
    short = 0.4 + 0.3 * math.exp(-0.1)
    close(fade_mem(seen), [1.0, math.exp(-0.1 * math.exp(-short))])


# Oblivion (arXiv 2604.00131)


def test_oblivion_decays_by_turns_and_is_reinforced_by_contributing_alone():
    # Turns: three writings and one use, at hours 0, 1, 2, 3. Memory 0 contributed last of all: n = 0.
    seen = view([0, 1, 2], (0, "opened", 3), (1, "shown", 3), now=9)
    close(oblivion(seen), [0, -2 / 10, -1 / 10])


def test_oblivion_utility_and_frequency_slow_the_decay():
    # Memory 0: F = 1 + 1 confirmation, U = 1, so S = 3·10; afterwards one more turn.
    seen = view([0, 5], (0, "confirmed", 1), now=9)
    close(oblivion(seen), [-1 / 30, 0])


# Hindsight


def test_hindsight_nudges_by_at_most_ten_and_five_percent():
    year = 365 * DAY
    seen = view([0, year], *((1, "confirmed", year, 1.0, 1.0) for _ in range(150)), now=year)
    found = hindsight(seen)
    close(found[0], 1 + 0.2 * (0.1 - 0.5))
    close(found[1], 1.1 * 1.05)


def test_hindsight_recency_falls_in_a_straight_line_and_proof_by_logarithm():
    seen = view([0], (0, "confirmed", 1), (0, "confirmed", 2), now=73 * DAY, relevance=[0.5])
    close(hindsight(seen), [0.5 * (1 + 0.2 * 0.3) * (1 + 0.1 * math.log(3) / 10)])


# elfmem


def test_elfmem_weighs_by_its_frames():
    # One helpful outcome: Beta(1.5, .5), mean .75, variance .75/(4·3) = .0625; √ = .25.
    seen = view([0], (0, "confirmed", 50), now=100, relevance=[0.6], importance=[0.8])
    expected = 0.30 * 0.6 + 0.10 * 0.75 + 0.15 * math.exp(-0.5) + 0.40 * 0.8 + 0.05 * 0.25
    close(elfmem(seen, "self"), [expected])


def test_elfmem_without_a_query_shares_out_similaritys_weight():
    seen = view([0], now=100)  # Beta(½, ½): mean ½, variance 1/8
    known = 0.15 * 0.5 + 0.20 * math.exp(-1) + 0.05 * 0.5 + 0.05 * math.sqrt(1 / 8)
    close(elfmem(seen, "attention"), [known / 0.45])


def test_elfmem_is_exponential_where_its_paper_had_a_power_law():
    old = view([0], now=1000)
    new = view([1000], now=1000)
    lost = (elfmem(new, "task") - elfmem(old, "task"))[0] / (0.15 / 0.60)
    close(lost, 1 - math.exp(-10))
    assert elfmem_retrievability(1000.0, 100.0) > math.exp(-10)


def test_elfmem_refuses_a_frame_that_is_none():
    with pytest.raises(ValueError, match="unknown frame 'dream'; one of self, attention, task, simulate"):
        elfmem(view([0], now=1), "dream")


# Bayesian knowledge tracing (Corbett & Anderson 1995)


def test_knowledge_tracing_updates_by_bayes_and_then_learns():
    # Success: .5·.9/(.5·.9 + .5·.2) = 9/11, + (2/11)·.1 = 92/110. Failure: .5·.1/(.05 + .5·.8) = 1/9, + .8/9.
    seen = view([0, 0, 0], (0, "opened", 1), (1, "corrected", 1), now=9)
    close(knowledge_tracing(seen), [92 / 110, 1.8 / 9, 0.5])


# SM-2 (Woźniak 1990)


def test_sm2_intervals_are_one_six_and_then_times_easiness():
    # Quality 4 leaves EF at 2.5: intervals 6 and 15 days; due fifteen days after the last.
    events = [(0, "opened", DAY, 0.5), (0, "opened", 7 * DAY, 0.5)]
    close(sm2(view([0, 0], *events, now=22 * DAY)), [-1, -22])


def test_sm2_easiness_follows_the_quality_and_fractions_of_a_day_are_rounded_up():
    # Quality 5, 5: EF 2.6, 2.7, so 6·2.7 = 16.2 → 17 days.
    close(sm2(view([0], (0, "opened", DAY), (0, "opened", 7 * DAY), now=(7 + 17) * DAY)), [-1])
    # Quality 3, 3: EF 2.36, 2.22, so 6·2.22 = 13.32 → 14 days. No signal is below 0: 1e-12 stands for it.
    events = [(0, "opened", DAY, 1e-12), (0, "opened", 7 * DAY, 1e-12)]
    close(sm2(view([0], *events, now=(7 + 14) * DAY)), [-1])


def test_sm2_easiness_never_falls_below_its_least():
    # Ten times quality 3, .14 each: 1.3 is reached at the ninth. The days are 1, 6, and then times
    # 2.22, 2.08, 1.94, 1.8, 1.66, 1.52, 1.38, 1.3, 1.3, rounded up: 14, 30, 59, 107, 178, 271, 374, 487, 634.
    days = np.cumsum([1, 6, 14, 30, 59, 107, 178, 271, 374, 487])
    events = [(0, "opened", d * DAY, 1e-12) for d in days]
    close(sm2(view([0], *events, now=(days[-1] + 634) * DAY)), [-1])


def test_sm2_failure_starts_anew_and_leaves_the_easiness():
    # Quality 5 (EF 2.6), a failure, and two of quality 4: intervals 1, 6, 6·2.6 = 15.6 → 16 days.
    events = [(0, "opened", DAY, 1.0), (0, "corrected", 2 * DAY), (0, "opened", 3 * DAY, 0.5)]
    close(sm2(view([0], *events[:2], now=3 * DAY)), [-1])
    events.append((0, "opened", 9 * DAY, 0.5))
    close(sm2(view([0], *events, now=25 * DAY)), [-1])


# LRU and LFU


def test_lru_and_lfu():
    seen = view([0, 5, 3], (0, "shown", 4), (0, "shown", 8), (2, "opened", 6), now=10)
    close(lru(seen), [-2, -5, -4])
    close(lfu(seen), [2, 0, 1])
