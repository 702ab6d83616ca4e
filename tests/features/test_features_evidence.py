"""Evidence: named columns, and errors that say how to mend the call."""

from __future__ import annotations

import numpy as np
import pytest

from memvalue.features.evidence import Evidence

VALUES = np.array([[1, 2], [3, np.nan], [5, 6]], np.float32)


def test_a_column_is_had_by_its_name() -> None:
    e = Evidence(("a", "b"), VALUES)
    assert e["a"].tolist() == [1, 3, 5]
    assert len(e) == 3


def test_a_wrong_name_is_answered_with_the_names() -> None:
    with pytest.raises(ValueError, match="no evidence column 'c'; the columns are a, b"):
        Evidence(("a", "b"), VALUES)["c"]


@pytest.mark.parametrize("values", [VALUES[:, :1], VALUES[0], np.zeros((0, 3), np.float32)])
def test_names_and_columns_must_be_as_many(values: np.ndarray) -> None:
    with pytest.raises(ValueError, match="does not fit 2 names"):
        Evidence(("a", "b"), values)


def test_a_column_of_nan_was_not_to_be_had() -> None:
    e = Evidence(("a", "b"), np.array([[1, np.nan], [2, np.nan]], np.float32))
    assert e.has("a")
    assert not e.has("b")
    assert Evidence(("a",), np.zeros((0, 1), np.float32)).has("a")


def test_parts_are_stacked_in_order() -> None:
    a, b = Evidence(("a", "b"), VALUES[:1]), Evidence(("a", "b"), VALUES[1:])
    np.testing.assert_array_equal(Evidence.stack([a, b]).values, VALUES)
    np.testing.assert_array_equal(Evidence.stack(p for p in (a, b)).values, VALUES)


def test_parts_with_other_columns_are_refused() -> None:
    a, b = Evidence(("a", "b"), VALUES), Evidence(("b", "a"), VALUES)
    with pytest.raises(ValueError, match="different columns"):
        Evidence.stack([a, b])
    with pytest.raises(ValueError, match="nothing to stack"):
        Evidence.stack([])
