"""Unit rows: cosines that no batch, order or library can change."""

from __future__ import annotations

import random
from math import fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from memvalue.features.unit_rows import unit_rows

tables = hnp.arrays(
    np.float32,
    st.tuples(st.integers(0, 6), st.integers(1, 40)),
    elements=st.floats(-(2.0**100), 2.0**100, width=32),
)


@given(tables)
def test_rows_have_length_one_or_stay_zero(table: np.ndarray) -> None:
    length = np.linalg.norm(unit_rows(table, "rows"), axis=1)
    np.testing.assert_allclose(length, table.any(axis=1).astype(float), atol=1e-6)


@given(tables, st.randoms(use_true_random=False))
def test_a_row_is_the_same_in_any_company(table: np.ndarray, rng: random.Random) -> None:
    whole = unit_rows(table, "rows")
    for i in range(len(table)):
        np.testing.assert_array_equal(unit_rows(table[i : i + 1], "rows")[0], whole[i])
    order = rng.sample(range(len(table)), len(table))
    np.testing.assert_array_equal(unit_rows(np.asfortranarray(table[order]), "rows"), whole[order])


@given(tables)
def test_dot_products_are_exact(table: np.ndarray) -> None:
    rows = unit_rows(table, "rows")
    products = rows @ rows.T
    for i in range(len(rows)):
        for j in range(len(rows)):
            assert products[i, j] == fsum((rows[i] * rows[j]).tolist())


def test_cosines_are_those_of_the_vectors() -> None:
    table = np.random.default_rng(0).normal(size=(50, 384)).astype(np.float32)
    length = np.linalg.norm(table, axis=1)
    want = table.astype(np.float64) @ table.T / np.outer(length, length)
    rows = unit_rows(table, "rows")
    np.testing.assert_allclose(rows @ rows.T, want, atol=1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_named(bad: float) -> None:
    table = np.ones((3, 2))
    table[1, 0] = bad
    with pytest.raises(ValueError, match="row 1 of embeddings holds NaN or infinity"):
        unit_rows(table, "embeddings")


def test_another_number_of_axes_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"goals must be a table of one row each, got an array of shape \(3,\)"
    ):
        unit_rows(np.ones(3), "goals")
