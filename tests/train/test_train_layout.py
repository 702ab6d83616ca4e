"""Rows of a case come together, cases keep their order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memvalue.train.layout import case_offsets, varies_within_cases


@given(st.lists(st.sampled_from("abcde"), max_size=30))
def test_cases_keep_the_order_of_first_appearance(ids):
    order, offsets = case_offsets(np.array(ids, dtype=str), len(ids))
    assert sorted(order.tolist()) == list(range(len(ids)))
    expected = [i for name in dict.fromkeys(ids) for i, other in enumerate(ids) if other == name]
    assert order.tolist() == expected
    assert np.diff(offsets).tolist() == [ids.count(name) for name in dict.fromkeys(ids)]


def test_no_groups_is_one_case():
    order, offsets = case_offsets(None, 3)
    assert order.tolist() == [0, 1, 2]
    assert offsets.tolist() == [0, 3]


def test_a_factor_constant_within_every_case_cannot_be_informed():
    X = np.array([[0.0, 1.0], [0.0, 0.0], [1.0, 0.5], [1.0, 0.5]])
    assert varies_within_cases(X, [0, 0, 1, 1]).tolist() == [False, True]
    assert varies_within_cases(X, None).tolist() == [True, True]


def test_ids_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="one case id a row"):
        case_offsets([1, 2], 3)
