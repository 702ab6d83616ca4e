"""Who fits and who judges is a matter of time."""

import numpy as np
import pytest
from factor_tables import DAY, planted_table, table_of
from hypothesis import given
from hypothesis import strategies as st

from memvalue.train.plan import plan, telling


def test_the_last_part_is_held_out_and_the_folds_roll_forward_before_it():
    made = plan(planted_table(cases=40), held_out=0.3, folds=3)
    assert made.held_in.tolist() == list(range(28))
    assert made.held_out.tolist() == list(range(28, 40))
    assert [f.judge.tolist() for f in made.folds] == [
        list(range(7, 14)), list(range(14, 21)), list(range(21, 28)),
    ]  # fmt: skip
    assert [f.fit.tolist() for f in made.folds] == [list(range(7)), list(range(14)), list(range(21))]
    assert (made.embargoed, made.idle, made.overlap) == (0, 0, 0)


def test_cases_whose_horizon_reaches_into_the_held_out_time_are_dropped():
    made = plan(planted_table(cases=20, every_days=1, horizon_days=3), held_out=0.3)
    assert made.held_out[0] == 14
    assert made.held_in.tolist() == list(range(12))  # cases 12 and 13 end after day 14
    assert made.embargoed == 2
    assert made.overlap == 2


def test_cases_of_one_moment_stay_together():
    times = np.datetime64("2024-01-01", "s") + np.array([0, 1, 2, 3, 3, 3, 3, 4]) * DAY
    made = plan(planted_table(cases=8, times=times, horizon_days=0), held_out=0.25)
    assert made.held_out.tolist() == [3, 4, 5, 6, 7]
    everything_at_once = planted_table(cases=8, times=np.repeat(times[:1], 8))
    made = plan(everything_at_once)
    assert len(made.held_in) == 0
    assert made.folds == ()


def test_cases_that_need_nothing_or_everything_count_for_nothing():
    table = planted_table(cases=6, memories=4, wanted=2)
    needed = table.needed.copy()
    needed[:4], needed[4:8] = False, True
    table = table_of(table.factors, needed, table.offsets)
    assert telling(table).tolist() == [2, 3, 4, 5]
    assert plan(table).idle == 2


@pytest.mark.parametrize("cases", range(9))
def test_too_few_cases_give_no_folds_but_no_error(cases):
    made = plan(planted_table(cases=cases) if cases else table_of(np.zeros((0, 7)), [], [0]))
    assert len(made.held_in) + len(made.held_out) == cases
    assert made.folds == () or cases > 7


@given(
    st.lists(st.integers(0, 30), min_size=2, max_size=40),
    st.integers(0, 10),
    st.floats(0.05, 0.9),
    st.integers(0, 5),
)
def test_nothing_that_fits_was_settled_after_what_judges_begins(days, horizon, held_out, folds):
    times = np.datetime64("2024-01-01", "s") + np.sort(days) * DAY
    table = planted_table(cases=len(days), memories=5, wanted=1, times=times, horizon_days=horizon)
    made = plan(table, held_out=held_out, folds=folds)
    pairs = [(made.held_in, made.held_out), *((f.fit, f.judge) for f in made.folds)]
    for fit, judge in pairs:
        if len(fit) and len(judge):
            assert table.ends[fit].max() <= table.times[judge].min()
    for fold in made.folds:
        assert np.isin(fold.judge, made.held_in).all()
    assert len(made.held_in) + len(made.held_out) + made.embargoed == len(days)
    assert len(made.held_out)


def test_wrong_input_is_named():
    table = planted_table(cases=4)
    with pytest.raises(ValueError, match="held_out"):
        plan(table, held_out=1.0)
    with pytest.raises(ValueError, match="folds"):
        plan(table, folds=-1)
