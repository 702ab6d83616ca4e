"""A memory alone takes shorter ways, and large stores are seen in parts; neither changes a bit."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from feature_cases import Vectors, same, store, stores, texts
from hypothesis import given, settings
from hypothesis import strategies as st

from memvalue.data.consolidation import Consolidation
from memvalue.features import DEFINITIONS, Evidence, combine, extract, observe
from memvalue.features.evidence import OneRow
from memvalue.features.scan import scan

combine_module = importlib.import_module("memvalue.features.combine")
observe_module = importlib.import_module("memvalue.features.observe")

any_text = st.one_of(texts, st.text(st.characters(codec=None), max_size=80))
definitions = st.sampled_from(sorted(DEFINITIONS)).map(DEFINITIONS.__getitem__)

#: What texts may hold that a table of bytes, a short cut or an early exit could get wrong.
ADVERSARIAL = (
    "", " ", "\n", "\0", "?", "!?", ".", "..", "1.", "12.", "123.", "a1.", "1.2. x", "5. Mai", "٣. x",
    "3٣. x", "I", "i", "İ", "ß ẞ", "my", "My my MY", "I I I I", "it's 'quoted' o'clock",
    "don’t", "a'b'c", "'", "''''",
    "1,200.50 7:30 2023-05-12 12/05/2023 1:2:3", "$5 5$ 5% 5 $", "5kg 5 kg 5-minute", "May 5th, 5th of May",
    "- a\n* b\n+ c\n1. d\n12) e\n    - f\n     - g\n\t- h\n", "{} ; = <", "I bought I lost my my sister",
    "supercalifragilisticexpialidocious antidisestablishmentarianism", "x" * 5000, "ab " * 2000,
    "no longer used to changed my mind no longer", "no", "by the way", "by the", "שלום עולם! مرحبا؟ 你好。",
    "🎉🎉👍🏽", "\ud800", "e\u0301 é", "Ａ１", "…“”‘’—", "I was. I had! Did I? \nWas I", "$" * 99, "?" * 4001,
    "?" + " " * 4000 + "!", "a" * 3999 + "é?", "Ünïcödé wörds with ACCENTS Éa 12٣45",
)  # fmt: skip


def alone_and_first(text: str, role: str, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Factors of a text alone, and as the first of a store whose others come later."""
    alone = extract(store([(role, text)]), regime="online", **options)
    more = store([(role, text), ("user", "My zebra")], [("assistant", text), ("user", text)])
    return alone.values, extract(more, regime="online", **options).values[:1]


@pytest.mark.parametrize("role", ["user", "assistant"])
@pytest.mark.parametrize("definition", sorted(DEFINITIONS))
def test_an_adversarial_text_alone_has_the_bits_it_has_first_in_a_store(role: str, definition: str) -> None:
    for text in ADVERSARIAL:
        alone, first = alone_and_first(text, role, definition=DEFINITIONS[definition])
        assert alone.tobytes() == first.tobytes(), text[:40]


@settings(max_examples=150)
@given(any_text, st.sampled_from(["user", "assistant", "Ann"]), definitions, st.booleans())
def test_so_does_any_text(text: str, role: str, definition: Any, declared: bool) -> None:
    options: dict[str, Any] = {"goals": ["a violin", "my sister"], "profile": ["Rome"]} if declared else {}
    alone, first = alone_and_first(text, role, definition=definition, **options)
    assert alone.tobytes() == first.tobytes()


def test_so_do_real_turns(shared_data: Any) -> None:
    from memvalue.data.load import load

    turns = {}
    for case in load(f"longmemeval:{shared_data.longmemeval(2)}").cases:
        c = case.consolidation
        turns |= dict(zip(c.texts, c.roles, strict=True))
    whole = scan(list(turns))
    at = 0
    for i, (text, role) in enumerate(turns.items()):
        found = scan([text])
        assert found.counts.tobytes() == whole.counts[i].tobytes()
        words = slice(at, at + len(found.word_hash))
        at = words.stop
        for name in ("word_hash", "word_is_capital", "word_is_number"):
            assert getattr(found, name).tobytes() == getattr(whole, name)[words].tobytes()
        if i % 4 == 0:
            alone, first = alone_and_first(text, role)
            assert alone.tobytes() == first.tobytes(), text[:40]
    assert at == len(whole.word_hash)


@settings(max_examples=100)
@given(st.lists(any_text, min_size=1, max_size=6))
def test_the_scan_of_a_text_is_the_same_in_any_company(given_texts: list[str]) -> None:
    whole = scan(given_texts)
    for i, text in enumerate(given_texts):
        alone = scan([text])
        mine = whole.word_text == i
        assert alone.counts.tobytes() == whole.counts[i].tobytes()
        assert alone.word_hash.tobytes() == whole.word_hash[mine].tobytes()
        assert alone.word_is_capital.tobytes() == whole.word_is_capital[mine].tobytes()


@given(stores(log=True), definitions, st.integers(0, 2**32 - 1))
def test_formulas_give_numbers_the_bits_that_they_give_columns(
    c: Consolidation, definition: Any, seed: int
) -> None:
    [e] = observe([c], goals=["a violin"] if seed % 2 else None)
    rng = np.random.default_rng(seed)
    wild = np.floor(rng.pareto(0.7, e.values.shape)).clip(0, 1e7).astype(np.float32)
    for values in (e.values, wild):
        for row in values:
            one = Evidence(e.names, row[None].copy())
            numbers = combine(one, definition)
            columns = [formula(one, definition) for formula in combine_module._FORMULAS]
            assert all(column.shape == (1,) and column.dtype == np.float32 for column in columns)
            assert numbers.tobytes() == np.clip(np.concatenate(columns), 0, 1).tobytes()
            assert numbers.dtype == np.float32 and numbers.shape == (1, 7)


def test_where_numbers_would_become_double_columns_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    [e] = observe([store(["I bought my dog 3 bones!"])])
    want = combine(e, DEFINITIONS["default"])
    monkeypatch.setattr(combine_module, "_NUMBERS_STAY_SINGLE", False)
    monkeypatch.setattr(combine_module, "OneRow", None)
    assert combine(e, DEFINITIONS["default"]).tobytes() == want.tobytes()


def test_one_row_knows_its_columns_and_what_is_missing() -> None:
    row = OneRow(Evidence(("a", "b"), np.array([[2.5, np.nan]], np.float32)))
    assert row["a"] == 2.5 and row["a"].dtype == np.float32
    assert row.has("a") and not row.has("b") and len(row) == 1
    with pytest.raises(ValueError, match="no evidence column 'c'"):
        row["c"]


@settings(max_examples=80)
@given(stores(log=True), st.integers(1, 5), st.sampled_from(["batch", "online"]), st.booleans())
def test_a_store_seen_in_parts_has_the_bits_it_has_as_a_whole(
    c: Consolidation, part: int, regime: Any, declared: bool
) -> None:
    options: dict[str, Any] = {"regime": regime, "encoder": Vectors()}
    if declared:
        options |= {"goals": np.eye(Vectors.dim)[:2], "profile": ["my sister"]}
    [whole] = observe([c], **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(observe_module, "PART", part)
        [parts] = observe([c], **options)
    assert same(whole, parts)
