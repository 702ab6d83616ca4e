"""Similarity to what persons said in other conversations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memvalue.features import similarity as module
from memvalue.features.similarity import rehearsal_similarity
from memvalue.features.unit_rows import unit_rows

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


@st.composite
def rows(draw: st.DrawFn) -> Rows:
    """Unit rows (some zero), conversations and persons of up to 30 memories."""
    n, seed = draw(st.integers(0, 30)), draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, 5)) * (rng.random((n, 1)) < 0.9)
    return unit_rows(vectors, "rows"), np.sort(rng.integers(0, 8, n)), rng.random(n) < 0.6


def slowly(embedded: np.ndarray, sessions: np.ndarray, person: np.ndarray, online: bool) -> list[float]:
    out = []
    for i in range(len(embedded)):
        best = 0.0
        for j in range(len(embedded)):
            if person[j] and (sessions[j] < sessions[i] if online else sessions[j] != sessions[i]):
                best = max(best, float(embedded[i] @ embedded[j]))
        out.append(float(np.float32(min(best, 1.0))))
    return out


@pytest.mark.parametrize("online", [False, True])
@given(table=rows(), block=st.integers(1, 7))
def test_it_is_the_largest_cosine_however_it_is_cut_up(online: bool, table: Rows, block: int) -> None:
    want = slowly(*table, online)
    assert rehearsal_similarity(*table, online=online).tolist() == want
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_ROWS", block)
        patch.setattr(module, "_COLUMNS", block + 1)
        assert rehearsal_similarity(*table, online=online).tolist() == want


@given(rows())
def test_online_what_comes_later_changes_nothing_earlier(table: Rows) -> None:
    whole = rehearsal_similarity(*table, online=True).tolist()
    for k in range(len(whole)):
        assert rehearsal_similarity(*(column[:k] for column in table), online=True).tolist() == whole[:k]


def test_worked_by_hand() -> None:
    embedded = unit_rows(np.array([[1.0, 0], [0, 1], [3, 4], [-1, 0], [3, 4]]), "rows")
    sessions, person = np.array([0, 0, 1, 2, 2]), np.array([True, True, True, True, False])
    # Cosines of (3, 4)/5 with the axes: .6 and .8; an opposite is no closeness; the machine's turn is
    # compared, but nothing is compared with it.
    found = rehearsal_similarity(embedded, sessions, person)
    np.testing.assert_allclose(found, [0.6, 0.8, 0.8, 0, 1], atol=1e-6)
    found = rehearsal_similarity(embedded, sessions, person, online=True)
    np.testing.assert_allclose(found, [0, 0, 0.8, 0, 1], atol=1e-6)


def test_real_widths_have_the_same_bits_for_every_length_of_history() -> None:
    # Single-precision matrix products differ in the last bits with the shape of the matrix.
    rng = np.random.default_rng(1)
    embedded = unit_rows(rng.normal(size=(300, 384)).astype(np.float32), "rows")
    sessions, person = np.arange(300) // 6, np.arange(300) % 2 == 0
    whole = rehearsal_similarity(embedded, sessions, person, online=True)
    for k in (1, 2, 3, 7, 64, 65, 129, 255, 299):
        part = rehearsal_similarity(embedded[:k], sessions[:k], person[:k], online=True)
        assert part.tobytes() == whole[:k].tobytes()
