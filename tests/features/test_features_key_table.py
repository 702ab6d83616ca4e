"""Numbering of 64-bit keys and sets of words, against Python's own dicts and sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memvalue.features.growing import Growing
from memvalue.features.heard_words import HeardWords
from memvalue.features.key_table import KeyTable

#: Few different keys, neighbours that fall together, and the ends of the range.
keys = st.one_of(
    st.integers(0, 40),
    st.integers(0, 2**64 - 1),
    st.integers(0, 30).map(lambda i: i << 58),
    st.just(2**64 - 1),
)


def column(values: list[int]) -> np.ndarray:
    return np.array(values, dtype=np.uint64)


@given(st.lists(st.lists(keys, max_size=30), max_size=8))
def test_keys_are_numbered_as_a_dict_would(batches: list[list[int]]) -> None:
    table, wanted = KeyTable(), dict[int, int]()
    for batch in batches:
        found = table.find(column(batch)).tolist()
        assert found == [wanted.get(k, -1) for k in batch]
        new = [k for k in dict.fromkeys(batch) if k not in wanted]
        wanted.update(zip(new, range(len(wanted), len(wanted) + len(new)), strict=True))
        table.add(column(new))
        assert len(table) == len(wanted)
        assert table.keys.tolist() == list(wanted)
    assert KeyTable(table.keys).find(table.keys).tolist() == list(range(len(wanted)))


def test_many_keys_of_one_home_are_still_found() -> None:
    # Multiples of the inverse of the hash's multiplier: they all want the first slots.
    inverse = pow(0x9E3779B97F4A7C15, -1, 2**64)
    same = column([inverse * i % 2**64 for i in range(3000)])
    table = KeyTable()
    for part in np.array_split(same, 7):
        table.add(part)
    assert table.find(same).tolist() == list(range(3000))
    assert (table.find(same + np.uint64(1)) == -1).all()


def test_a_large_table_takes_a_few_bytes_a_key() -> None:
    rng = np.random.default_rng(1)
    some = np.unique(rng.integers(0, 2**64, 200_000, dtype=np.uint64))
    table = KeyTable()
    for part in np.array_split(rng.permutation(some), 300):
        table.add(part)
    assert (table.keys[table.find(some)] == some).all()
    assert table.nbytes <= 32 * len(table)


@given(st.lists(st.lists(st.integers(0, 2**12 - 1), max_size=40), max_size=6))
def test_heard_words_are_a_set(batches: list[list[int]]) -> None:
    heard, wanted = HeardWords(12), set[int]()
    for batch in batches:
        slots = np.array(batch, dtype=np.int64)
        assert heard.has(slots).tolist() == [s in wanted for s in batch]
        heard.add(slots)
        wanted.update(batch)
    everything = np.arange(2**12)
    packed = heard.pack()
    assert packed.nbytes <= 2**9
    again = HeardWords.unpack(packed, 12)
    assert set(everything[again.has(everything)].tolist()) == wanted
    np.testing.assert_array_equal(again.pack(), packed)


@pytest.mark.parametrize(
    "packed",
    [
        np.zeros(3, np.uint8),
        np.array([2**12], np.uint32),
        np.zeros(3, np.int64),
        np.zeros((1, 512), np.uint8),
        np.array(["a"]),
    ],
)
def test_what_is_no_set_of_heard_words_is_refused(packed: np.ndarray) -> None:
    with pytest.raises(ValueError, match="heard words"):
        HeardWords.unpack(packed, 12)


@given(st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=30), max_size=8))
def test_a_growing_column_holds_what_was_added(batches: list[list[int]]) -> None:
    column = Growing(np.int32)
    for batch in batches:
        column.extend(np.array(batch, dtype=np.int64))
    assert column.values.tolist() == [v for batch in batches for v in batch]
    assert len(column) == len(column.values)
    assert column.values.dtype == np.int32
    assert Growing(np.int32, column.values).values.tolist() == column.values.tolist()
