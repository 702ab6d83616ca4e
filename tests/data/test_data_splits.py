"""Splits: the paper's to the letter, grouped ones without a leak, and a manifest that stays frozen."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memvalue.data import (
    AnswerKey,
    Case,
    Consolidation,
    DataError,
    Dataset,
    Memory,
    SealedKey,
    grouped_splits,
    load,
    paper_splits,
    purged,
    shared_session_overlap,
    split_manifest,
)
from memvalue.data.splits import case_groups, read_manifest, session_labels, unshared_rows, write_manifest

TIME = datetime(2026, 1, 1, tzinfo=UTC)


def dataset(*cases: str) -> Dataset:
    """A case a string: a letter is a session of two turns, a capital one is needed."""
    out = []
    for i, letters in enumerate(cases):
        rows = [
            Memory(f"{letter.lower()}{turn}", "user", TIME, session, turn)
            for session, letter in enumerate(letters)
            for turn in range(2)
        ]
        needed = np.array([letter.isupper() and turn == 0 for letter in letters for turn in range(2)])
        out.append(Case(f"case{i}", Consolidation.from_memories(rows), SealedKey(AnswerKey(needed))))
    return Dataset("test", "test", out)


@given(st.integers(2, 500), st.integers(1, 25))
def test_paper_splits_are_the_papers_to_the_letter(n: int, splits: int) -> None:
    for rep, (train, test) in enumerate(paper_splits(n, splits)):
        order = list(range(n))
        random.Random(100 + rep).shuffle(order)
        assert set(train.tolist()) == set(order[: n // 2])
        assert set(test.tolist()) == set(order[n // 2 :])


def test_the_published_sizes() -> None:
    splits = paper_splits(479)
    assert len(splits) == 20
    assert {(len(a), len(b)) for a, b in splits} == {(239, 240)}


@pytest.mark.parametrize(
    ("n", "splits", "message"), [(1, 20, "at least 2 cases"), (0, 1, "at least 2"), (9, 0, "splits")]
)
def test_impossible_splits_are_refused(n: int, splits: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        paper_splits(n, splits)


def test_sessions_are_recognised_by_content() -> None:
    a, b = session_labels(dataset("xYx", "zy"))
    assert a.tolist() == [0, 0, 1, 1, 0, 0]
    assert b.tolist() == [2, 2, 1, 1]


def test_cases_are_tied_by_needed_sessions_only() -> None:
    # 0 and 1 share filler f only; 2 needs a session that 3 holds; 4 is tied to 3 in the same way.
    assert case_groups(dataset("Af", "Bf", "Cg", "Dch", "Ehd")) == [[0], [1], [2, 3, 4]]


def test_without_ties_grouped_splits_are_the_papers() -> None:
    data = dataset("Af", "Bf", "Cf", "Df", "Ef")
    for (a, b), (c, d) in zip(grouped_splits(data, 5), paper_splits(5, 5), strict=True):
        assert a.tolist() == c.tolist()
        assert b.tolist() == d.tolist()


def leaks(data: Dataset, train: Any, test: Any) -> bool:
    """A plain reading: does a needed session of a test case stand in a training haystack?"""

    def sessions(case: Case, needed: bool) -> set[tuple[str, ...]]:
        c, key = case.consolidation, case.sealed.open()
        ids = {int(s) for s, f in zip(c.sessions, key.needed, strict=True) if f or not needed}
        return {tuple(t for t, s in zip(c.texts, c.sessions, strict=True) if s == i) for i in ids}

    seen = set().union(*(sessions(data.cases[i], False) for i in train))
    return any(sessions(data.cases[i], True) & seen for i in test)


@given(
    st.lists(
        st.text("abcdefABCDEF", min_size=1, max_size=4).filter(lambda s: s.lower() != s),
        min_size=2,
        max_size=9,
    )
)
def test_no_needed_session_passes_between_grouped_halves(letters: list[str]) -> None:
    data = dataset(*letters)
    try:
        splits = grouped_splits(data, 3)
    except DataError:
        assert len(case_groups(data)) == 1
        return
    for train, test in splits:
        assert sorted([*train.tolist(), *test.tolist()]) == list(range(len(letters)))
        assert 0 < len(train) <= len(letters) // 2
        assert not leaks(data, train, test)
        assert not leaks(data, test, train)


@given(
    st.lists(
        st.text("abcdefABCDEF", min_size=1, max_size=4).filter(lambda s: s.lower() != s),
        min_size=2,
        max_size=9,
    )
)
def test_purged_training_keeps_the_test_halves_and_leaks_nothing(letters: list[str]) -> None:
    data = dataset(*letters)
    plain = paper_splits(len(letters), 3)
    try:
        clean = purged(data, plain)
    except DataError as e:
        assert "every training case" in str(e)
        return
    for (a, b), (c, d) in zip(plain, clean, strict=True):
        assert d.tolist() == b.tolist()
        assert set(c.tolist()) <= set(a.tolist())
        assert not leaks(data, c, d)
        # and nothing is dropped without need
        assert all(leaks(data, [i], b) for i in set(a.tolist()) - set(c.tolist()))


def test_a_data_set_tied_together_is_refused_with_the_alternative() -> None:
    with pytest.raises(DataError, match=r"all 2 cases .* paper_splits"):
        grouped_splits(dataset("Ax", "Bxa"))


def test_rows_of_shared_sessions_can_be_masked() -> None:
    data = dataset("Axy", "Bz", "Cxb")
    masks = unshared_rows(data, np.array([0, 1]), np.array([2]))
    assert [m.tolist() for m in masks] == [[True, True, False, False, True, True], [False, False, True, True]]


def test_overlap_figures_by_hand() -> None:
    data = dataset("Axy", "Bz", "Cxb", "Dq")
    split = (np.array([0, 1]), np.array([2, 3]))
    figures = shared_session_overlap(data, [split])
    assert (figures["sessions"], figures["shared_sessions"]) == (8, 2)  # x and b
    assert (figures["groups"], figures["largest_group"]) == (3, 2)  # b is needed by 1 and held by 2
    assert figures["test_sessions_in_train"] == pytest.approx((2 / 3 + 0) / 2)
    assert figures["test_needed_sessions_in_train"] == 0.0
    back = shared_session_overlap(data, [split[::-1]])
    assert back["test_needed_sessions_in_train"] == pytest.approx((0 + 1) / 2)
    assert back["test_cases_touched"] == 0.5
    assert "test_cases_touched" not in shared_session_overlap(data)


def test_a_manifest_brings_the_splits_back_and_names_no_path(tmp_path: Path) -> None:
    data = dataset("A", "B", "C", "D", "E")
    splits = paper_splits(5, 4)
    manifest = split_manifest(data, splits)
    assert manifest["splits"][0]["train"] == [f"case{i}" for i in splits[0][0]]
    assert manifest == split_manifest(Dataset("elsewhere:/x", "test", data.cases), splits)
    path = tmp_path / "splits.json"
    write_manifest(manifest, path)
    for (a, b), (c, d) in zip(read_manifest(path, data), splits, strict=True):
        assert (a.tolist(), b.tolist()) == (c.tolist(), d.tolist())


def test_a_manifest_that_was_edited_or_belongs_elsewhere_is_refused(tmp_path: Path) -> None:
    data = dataset("A", "B", "C", "D")
    path = tmp_path / "splits.json"
    manifest = split_manifest(data, paper_splits(4, 2))
    write_manifest(manifest, path)
    with pytest.raises(DataError, match=r"frozen for other data .* 4 cases\) than test .* 3 cases"):
        read_manifest(path, dataset("A", "B", "C"))
    manifest["splits"][0]["train"].reverse()
    path.write_text(json.dumps(manifest))
    with pytest.raises(DataError, match="was changed after it was frozen"):
        read_manifest(path, data)
    path.write_text("[]")
    with pytest.raises(DataError, match="not a split manifest of format 1"):
        read_manifest(path, data)


def test_on_real_questions_grouped_halves_are_clean(shared_data: Any) -> None:
    data = load(f"longmemeval:{shared_data.longmemeval(24)}")
    for train, test in grouped_splits(data, 2):
        assert not leaks(data, train, test)


@pytest.mark.slow
def test_the_documented_overlap_of_the_whole_file(shared_data: Any) -> None:
    data = load(f"longmemeval:{shared_data.longmemeval()}")
    figures = shared_session_overlap(data, paper_splits(len(data)))
    assert (figures["sessions"], figures["shared_sessions"]) == (14_831, 2_788)
    assert figures["test_sessions_in_train"] == pytest.approx(0.19, abs=0.005)
    assert figures["test_needed_sessions_in_train"] == pytest.approx(0.20, abs=0.005)
    assert figures["test_cases_touched"] == pytest.approx(0.28, abs=0.005)
    assert {(len(a), len(b)) for a, b in grouped_splits(data)} == {(190, 190)}
