"""Evidence of whole stores: the same alone and in company, from the cache and anew, for any text."""

from __future__ import annotations

import ast
import importlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from feature_cases import Vectors, prefix, same, store, stores
from hypothesis import given, settings
from hypothesis import strategies as st

from memvalue.data.consolidation import Consolidation
from memvalue.data.load import load
from memvalue.features import DEFINITIONS, FACTORS, combine, observe
from memvalue.features.cache import EvidenceCache
from memvalue.features.encoder import load_encoder
from memvalue.features.scan_columns import COLUMNS

if TYPE_CHECKING:
    from conftest import SharedData

# The package gives the function this name, so the module is asked for by its path.
module = importlib.import_module("memvalue.features.observe")
CONTEXT, EVIDENCE = module.CONTEXT, module.EVIDENCE

A = store(["I moved to Rome with my sister", ("assistant", "Is Rome nice?"), "It is"], ["Rome again, sister"])
B = store(["I play the violin"], [("assistant", "The violin is old")], ["My violin broke"])
C = store(["One more"])


# Batch and single.


@settings(max_examples=30)
@given(st.lists(stores(max_sessions=5, log=True), max_size=4), st.sampled_from(("batch", "online")))
def test_many_stores_are_observed_as_each_one_alone(cases: list[Consolidation], regime: Any) -> None:
    options: dict[str, Any] = {"regime": regime, "encoder": Vectors(), "goals": ["my violin"]}
    together = observe(cases, **options)
    assert all(same(e, observe([c], **options)[0]) for e, c in zip(together, cases, strict=True))


@given(stores(log=True), st.booleans())
def test_columns_are_finite_or_missing_as_documented(c: Consolidation, encoded: bool) -> None:
    [e] = observe([c], encoder=Vectors() if encoded else None)
    assert e.names == EVIDENCE == (*COLUMNS, *CONTEXT)
    assert e.values.shape == (len(c), len(EVIDENCE)) and e.values.dtype == np.float32
    for name in EVIDENCE:
        missing = np.isnan(e[name])
        if name in ("trust", "uses", "harm"):
            continue
        whole = name in ("goal_match", "profile_match") or (name == "similarity" and not encoded)
        assert missing.all() if whole else not missing.any()


def test_context_worked_by_hand() -> None:
    [e] = observe([A])
    found = {name: e[name].tolist() for name in ("person", "position", "answers_question", "new_words")}
    assert found["person"] == [1, 0, 1, 1]
    assert found["position"] == [0, 1, 2, 0]
    assert found["answers_question"] == [0, 0, 1, 0]
    # moved to rome with my sister; is nice; it; again ("I" is a single letter)
    assert found["new_words"] == [6, 2, 1, 1]


@pytest.mark.parametrize(
    ("before", "role", "answers"),
    [
        ("What now?", "user", 1),
        ("What now? " + "x" * 290, "user", 1),
        ("What now? " + "x" * 300, "user", 0),
        ("Now", "user", 0),
        ("What now?", "assistant", 0),  # nobody answers himself
        ("What now?", "assistant\0", 1),
    ],
)
def test_an_answer_follows_another_speakers_question(before: str, role: str, answers: float) -> None:
    [e] = observe([store([("assistant", before), (role, "Then")])])
    assert e["answers_question"].tolist() == [0, answers]


def test_no_answer_reaches_over_the_end_of_a_conversation() -> None:
    [e] = observe([store([("assistant", "What now?")], ["Then"])])
    assert e["answers_question"].tolist() == [0, 0]


# Online: what a stream could know.


@settings(max_examples=30)
@given(stores(log=True, max_sessions=11, max_turns=3), st.booleans(), st.sampled_from(sorted(DEFINITIONS)))
def test_online_a_memory_is_what_it_was_when_it_was_written(
    c: Consolidation, encoded: bool, name: str
) -> None:
    options: dict[str, Any] = {"regime": "online", "encoder": Vectors() if encoded else None}
    options |= {"goals": ["a violin in the harbour", "great orchid"], "profile": ["my sister"]}
    [whole] = observe([c], **options)
    factors = combine(whole, DEFINITIONS[name])
    for n in range(1, len(c) + 1):
        [part] = observe([prefix(c, n)], **options)
        assert part.values.tobytes() == whole.values[:n].tobytes()
        assert combine(part, DEFINITIONS[name]).tobytes() == factors[:n].tobytes()


def test_online_long_histories_too(shared_data: SharedData) -> None:
    cases = load(f"longmemeval:{shared_data.longmemeval(6)}").cases
    rng = np.random.default_rng(0)
    for i, case in enumerate(cases):
        c = case.consolidation
        encoder = load_encoder("static") if i == 0 else None
        options: dict[str, Any] = {"regime": "online", "encoder": encoder, "goals": ["plan a trip"]}
        [whole] = observe([c], **options)
        for n in (1, len(c) - 1, *rng.integers(2, len(c), 3).tolist()):
            [part] = observe([prefix(c, n)], **options)
            assert part.values.tobytes() == whole.values[:n].tobytes()
            for definition in DEFINITIONS.values():
                left, right = combine(part, definition), combine(whole, definition)[:n]
                assert left.tobytes() == right.tobytes()


def test_batch_looks_at_the_whole_store_and_online_does_not() -> None:
    [batch], [online] = observe([A]), observe([A], regime="online")
    assert batch["overlap"][0] > 0 and online["overlap"][0] == 0
    assert batch["overlap"][3] > 0 and online["overlap"][3] > 0
    np.testing.assert_array_equal(batch["novelty"], online["novelty"])


# Vectors.


def test_own_embeddings_stand_in_for_an_encoder() -> None:
    vectors = Vectors()
    cases = [A, B, store()]
    want = observe(cases, encoder=vectors)
    given_ = [vectors.encode(c.texts) for c in cases]
    assert all(map(same, observe(cases, embeddings=given_), want))
    # Their length means nothing, and float64 does as well.
    longer = [7.0 * e.astype(np.float64) for e in given_]
    for e, w in zip(observe(cases, embeddings=longer), want, strict=True):
        np.testing.assert_allclose(e["similarity"], w["similarity"], atol=1e-6)


def test_declared_goals_match_by_vector_or_by_words() -> None:
    vectors = Vectors()
    [text] = observe([A], encoder=vectors, goals=["It is"], profile=["Rome again, sister"])
    assert text["goal_match"][2] == pytest.approx(1, abs=1e-6) and text["goal_match"][0] < 0.9
    assert text["profile_match"][3] == pytest.approx(1, abs=1e-6)
    [vector] = observe([A], encoder=vectors, goals=vectors.encode(["It is"]))
    np.testing.assert_array_equal(vector["goal_match"], text["goal_match"])
    [words] = observe([A], goals=["my sister in Rome"])
    np.testing.assert_allclose(words["goal_match"], [1, 0.5, 0, 1])  # sister, rome


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"regime": "oracle"}, "regime must be 'batch' or 'online', got 'oracle'"),
        ({"language": "fr"}, "choose one of de, en"),
        ({"embeddings": []}, "0 arrays of embeddings for 1 consolidations"),
        ({"embeddings": [np.ones((3, 2))]}, "3 rows of embeddings do not fit 4 memories"),
        ({"embeddings": [np.ones(4)]}, r"array of shape \(4,\)"),
        ({"embeddings": [np.full((4, 2), np.nan)]}, "row 0 of embeddings holds NaN"),
        ({"goals": "one text"}, r"goals are lists of sentences, so write \[text\]"),
        ({"profile": []}, "profile is empty"),
        ({"goals": np.ones((1, 3))}, "pass an encoder or embeddings"),
        ({"goals": np.ones((1, 3)), "encoder": Vectors()}, "3 dimensions, the memories' 24"),
        ({"goals": ["x"], "embeddings": [np.ones((4, 3))], "encoder": Vectors()}, "24 dimensions, the mem"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_remedy(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        observe([A], **options)


def test_only_consolidations_are_taken() -> None:
    case = load("simulated:seed=0,cases=1").cases[0]
    with pytest.raises(ValueError, match=r"item 1 is a Case, not a Consolidation; .* \.consolidation"):
        observe([A, case])  # type: ignore[list-item]
    assert case.sealed.looks == 0
    with pytest.raises(ValueError, match=r"write observe\(\[consolidation\]\)"):
        observe(A)  # type: ignore[arg-type]


# Any store, any text.


def test_no_store_and_an_empty_store() -> None:
    assert observe([]) == []
    for regime in ("batch", "online"):
        [e] = observe([store()], regime=regime, encoder=Vectors(), goals=["x y"])  # type: ignore[arg-type]
        assert e.values.shape == (0, len(EVIDENCE))


@pytest.mark.parametrize("regime", ["batch", "online"])
@pytest.mark.parametrize(
    "text",
    ["hello", "", " ", "🎉👍🏽", "שלום, אני גר בתל אביב", "\ud83d\udc4d \udfff", "a\0b", "word " * 20_000],
)
def test_any_text_alone_and_in_company(text: str, regime: Any) -> None:
    [alone] = observe([store([text])], regime=regime, encoder=Vectors())
    assert alone.values.shape == (1, len(EVIDENCE))
    [e] = observe([store(["My dog"], [text, ("assistant", text)], [text])], regime=regime, encoder=Vectors())
    np.testing.assert_array_equal(e.values[1, : len(COLUMNS)], alone.values[0, : len(COLUMNS)])
    factors = combine(e, DEFINITIONS["longmemeval"])
    assert factors.shape == (4, len(FACTORS)) and (factors >= 0).all() and (factors <= 1).all()


def test_what_lies_beyond_the_head_of_a_long_text_changes_nothing() -> None:
    text = "I bought 5 apples. " * 5300
    assert len(text) > 100_000
    [a], [b] = observe([store([text])]), observe([store([text[:4000]])])
    assert same(a, b)


# Cache.


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Sizes of the batches that have been scanned."""
    seen: list[int] = []
    scan = module.scan

    def counting(texts: Any, language: str = "en") -> Any:
        seen.append(len(texts))
        return scan(texts, language)

    monkeypatch.setattr(module, "scan", counting)
    return seen


@pytest.fixture
def cache(tmp_path: Path) -> EvidenceCache:
    return EvidenceCache(tmp_path / "cache")


def test_a_second_run_computes_nothing(cache: EvidenceCache, scans: list[int]) -> None:
    vectors = Vectors()
    first = observe([A, B, store()], cache=cache, encoder=vectors, goals=["violin"])
    assert scans == [4, 3, 0] and vectors.calls == 4  # the goals once, for all
    second = observe([A, B, store()], cache=cache, encoder=vectors, goals=["violin"])
    assert scans == [4, 3, 0] and vectors.calls == 4
    assert all(map(same, first, second))
    assert all(map(same, first, observe([A, B, store()], encoder=vectors, goals=["violin"])))


def test_another_run_computes_only_what_is_new(cache: EvidenceCache, scans: list[int]) -> None:
    observe([A, B], cache=cache)
    observe([C, B, A], cache=cache)
    assert scans == [4, 3, 1]


def test_an_interrupted_run_keeps_what_it_had(cache: EvidenceCache, scans: list[int]) -> None:
    def interrupt(done: int, total: int, what: str) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        observe([A, B, C], cache=cache, progress=interrupt)
    assert scans == [4, 3]
    observe([A, B, C], cache=cache)
    assert scans == [4, 3, 1]
    assert not list(cache.folder.rglob("*.part"))


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-10])


def _flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def _empty(file: Path) -> None:
    file.write_bytes(b"")


@pytest.mark.parametrize("damage", [_cut, _flip, _empty])
def test_a_corrupt_file_is_found_and_rebuilt(
    damage: Callable[[Path], None], cache: EvidenceCache, scans: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    [want] = observe([A], cache=cache)
    [file] = cache.folder.rglob("*.mve")
    damage(file)
    with caplog.at_level(logging.WARNING):
        [found] = observe([A], cache=cache)
    assert same(found, want) and scans == [4, 4]
    assert "damaged" in caplog.text
    observe([A], cache=cache)
    assert scans == [4, 4]


@pytest.mark.parametrize("arrays", [{"values": np.zeros((4, 3), np.float32)}, {"other": np.zeros(1)}])
def test_an_entry_that_does_not_fit_is_rebuilt(
    arrays: dict[str, np.ndarray], cache: EvidenceCache, scans: list[int]
) -> None:
    [want] = observe([A], cache=cache)
    [file] = cache.folder.rglob("*.mve")
    cache.put(file.stem, arrays)
    assert same(observe([A], cache=cache)[0], want) and scans == [4, 4]


SETTINGS: list[dict[str, Any]] = [
    {},
    {"regime": "online"},
    {"language": "de"},
    {"encoder": Vectors("a")},
    {"encoder": Vectors("b")},
    {"encoder": Vectors("a|None")},
    {"goals": ["a b", "c"]},
    {"goals": ["a b\0c"]},
    {"goals": ["a b"]},
    {"profile": ["a b"]},
    {"encoder": Vectors("a"), "goals": np.arange(1.0, 25.0)},
    {"encoder": Vectors("a"), "goals": np.arange(2.0, 26.0)},
    {"encoder": Vectors("a"), "goals": np.arange(1.0, 25.0)[None]},
    {"encoder": Vectors("a"), "goals": np.arange(1.0, 25.0).astype(np.float32)},
    {"encoder": Vectors("a"), "profile": np.arange(1.0, 25.0)},
]


def test_every_setting_has_entries_of_its_own(cache: EvidenceCache, scans: list[int]) -> None:
    for i, options in enumerate(SETTINGS, start=1):
        observe([A], cache=cache, **options)
        assert len(list(cache.folder.rglob("*.mve"))) == i
    assert len(scans) == len(SETTINGS)
    for options in SETTINGS:
        [cached], [anew] = observe([A], cache=cache, **options), observe([A], **options)
        assert same(cached, anew)


def test_vectors_of_another_shape_are_another_setting() -> None:
    square, flat = np.ones((4, 6)), np.ones((6, 4))
    assert module._settings(None, "batch", square, None, "en") != module._settings(
        None, "batch", flat, None, "en"
    )


def test_a_change_of_code_makes_old_entries_unreachable(
    cache: EvidenceCache, scans: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    observe([A], cache=cache)
    monkeypatch.setattr(module, "code_digest", lambda *modules: "other code")
    observe([A], cache=cache)
    assert scans == [4]  # what runs is still the old code
    module._code.cache_clear()  # as a new process would
    observe([A], cache=cache)
    assert scans == [4, 4]
    module._code.cache_clear()


def test_every_module_that_evidence_comes_from_is_part_of_the_key() -> None:
    root = Path(__file__).resolve().parents[2]
    # Only carry or keep what was observed; the encoder has its name in the key.
    carriers = {f"memvalue.features.{name}" for name in ("cache", "encoder", "evidence")}
    found, queue = set(), ["memvalue.features.observe"]
    while queue:
        name = queue.pop()
        if name in found or name in carriers:
            continue
        found.add(name)
        tree = ast.parse((root / Path(*name.split(".")[1:]).with_suffix(".py")).read_text("utf-8"))
        queue += [
            node.module
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("memvalue.")
        ]
    assert found == set(module._MODULES)


def test_own_embeddings_are_never_cached(cache: EvidenceCache) -> None:
    observe([A], embeddings=[np.ones((4, 2))], cache=cache)
    assert not cache.folder.exists()


def test_a_bad_declaration_is_refused_even_when_all_is_cached(cache: EvidenceCache) -> None:
    observe([A], goals=["a", "b"], cache=cache)
    with pytest.raises(ValueError, match="goals is one text"):
        observe([A], goals="ab", cache=cache)


def test_progress_is_told_of_every_store_cached_or_not(cache: EvidenceCache) -> None:
    for _ in range(2):
        told: list[tuple[int, int, str]] = []
        observe([A, B], cache=cache, progress=lambda *x, told=told: told.append(x))
        assert told == [(1, 2, "observe"), (2, 2, "observe")]


def test_german_text_is_read_with_the_german_lexicon() -> None:
    german = store(["Ich habe mir gestern ein Fahrrad gekauft, meine Schwester auch."])
    [de], [en] = observe([german], language="de"), observe([german])
    assert de["first_person"][0] > 0 == en["first_person"][0]
