"""The numbers-only table of a business's cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memvalue.data import DataError
from memvalue.data.factor_table import FactorTable


def table(sizes: list[int], seed: int = 0, **changes: Any) -> FactorTable:
    """A table of cases of these sizes, a day apart."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    day = np.datetime64("2026-01-01", "s") + np.arange(len(sizes)) * np.timedelta64(1, "D")
    columns: dict[str, Any] = {
        "names": ("a", "b"),
        "definition": {"name": "default", "rehearsal": True},
        "definition_version": "1",
        "times": day,
        "ends": day + np.timedelta64(1, "D"),
        "offsets": np.cumsum([0, *sizes]).astype(np.int64),
        "factors": rng.random((n, 2), dtype=np.float32),
        "informed": np.array([True, False]),
        "machine": rng.random(n) < 0.5,
        "tokens": rng.integers(1, 50, n),
        "age_days": rng.random(n, dtype=np.float32),
        "uses": np.full(n, np.nan, np.float32),
        "needed": rng.random(n) < 0.2,
        "obsolete": np.zeros(n, bool),
    }
    return FactorTable(**(columns | changes))


SIZES = st.lists(st.integers(0, 6), min_size=1, max_size=6)


@given(SIZES, st.data())
def test_taking_cases_gives_exactly_their_rows(sizes: list[int], data: st.DataObject) -> None:
    whole = table(sizes)
    chosen = data.draw(st.lists(st.integers(0, len(sizes) - 1), unique=True).map(sorted))
    part = whole.take(chosen)
    rows = [r for c in chosen for r in range(whole.offsets[c], whole.offsets[c + 1])]
    assert len(part) == len(chosen)
    assert part.rows == len(rows)
    np.testing.assert_array_equal(part.factors, whole.factors[rows])
    np.testing.assert_array_equal(part.needed, whole.needed[rows])
    np.testing.assert_array_equal(part.times, whole.times[chosen])
    mask = np.isin(np.arange(len(sizes)), chosen)
    assert whole.take(mask).digest() == part.digest()


@given(SIZES)
def test_parts_join_to_the_whole_in_whatever_order_they_come(sizes: list[int]) -> None:
    whole = table(sizes)
    parts = [whole.take([c]) for c in reversed(range(len(sizes)))]
    assert FactorTable.join(parts).digest() == whole.digest()


def test_the_digest_sees_every_number() -> None:
    one = table([3, 4])
    assert one.digest() == table([3, 4]).digest()
    needed = one.needed.copy()
    needed[2] = ~needed[2]
    assert table([3, 4], needed=needed).digest() != one.digest()
    assert table([3, 4], definition={"name": "other", "rehearsal": True}).digest() != one.digest()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tokens": np.array([0, 1, 1])}, "tokens must be 1 or more"),
        ({"needed": np.zeros(2, bool)}, "needed has 2 rows, offsets say 3"),
        ({"factors": np.array([[0, 0], [0, 1.5], [0, 0]], np.float32)}, "b of row 1 is 1.5"),
        ({"factors": np.array([[0, 0], [np.nan, 0], [0, 0]], np.float32)}, "a of row 1 is nan"),
        ({"age_days": np.array([0, -1, 0], np.float32)}, "age_days must be finite and 0 or more"),
        ({"uses": np.array([0, -1, np.nan], np.float32)}, "uses must be finite and 0 or more"),
        ({"uses": np.array([0, np.inf, 0], np.float32)}, "uses must be finite and 0 or more"),
        ({"times": np.array(["2026-01-02", "2026-01-01"], "M8[s]")}, "times must not decrease"),
        ({"ends": np.array(["2025-01-02", "2026-01-02"], "M8[s]")}, "before its case's time"),
        ({"offsets": np.array([0, 3, 2])}, "rise from 0"),
        ({"offsets": np.array([0, 3])}, "one offset more"),
        ({"informed": np.array([True])}, "shape"),
    ],
)
def test_a_column_that_does_not_fit_is_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        table([2, 1], **changes)


def test_tables_of_other_factors_are_not_joined() -> None:
    with pytest.raises(DataError, match="another definition_version"):
        FactorTable.join([table([2]), table([2], definition_version="2")])
    with pytest.raises(DataError, match="no table"):
        FactorTable.join([])
