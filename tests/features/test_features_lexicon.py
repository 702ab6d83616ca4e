"""Lexicons: complete, sourced, loud when wrong; a language is a folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from reference_scan import LEXICONS, read

from memvalue.features.lexicon import Lexicon, LexiconError, languages, load_lexicon
from memvalue.features.scan_bytes import fold, tokenise
from memvalue.features.scan_columns import COLUMNS, GROUPS, SHAPES, SUPPORT_GROUPS

LANGUAGES = ("de", "en")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the English lexicon to break or change."""
    return Path(shutil.copytree(LEXICONS / "en", tmp_path / "xx"))


def add(path: Path, line: str) -> None:
    path.write_text(path.read_text("utf-8") + line + "\n", "utf-8")


def entries_of(lexicon: Lexicon, text: str) -> list[str]:
    """The lexicon's words found in a text, '' for words that it does not have."""
    found, _ = lexicon.lookup(tokenise([fold(text)]))
    return ["" if i == 0 else lexicon.words[i - 1] for i in found.tolist()]


def test_english_and_german_are_shipped() -> None:
    assert languages() == LANGUAGES


def test_an_unknown_language_names_those_there_are() -> None:
    with pytest.raises(ValueError, match="'tlh'; choose one of de, en"):
        load_lexicon("tlh")


def test_a_language_is_read_once() -> None:
    assert load_lexicon("de") is load_lexicon("de")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_file_names_source_and_licence_and_no_entry_stands_twice(language: str) -> None:
    for path in (LEXICONS / language).iterdir():
        lines = path.read_text("utf-8").splitlines()
        assert [x for x in lines if x.startswith("# Source: ")], path.name
        assert [x for x in lines if x.startswith("# Licence: ")], path.name
        entries = [x.split("\t")[0] for x in lines if not x.startswith("#")]
        assert len(entries) == len(set(entries)), path.name
        assert all(x == x.lower() == x.strip() for x in entries), path.name


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_group_is_empty_and_valences_weigh_both_signs(language: str) -> None:
    lexicon = load_lexicon(language)
    for group in (*GROUPS, *SUPPORT_GROUPS):
        assert (lexicon.bits & Lexicon.bit(group)).any(), group
    assert 400 <= np.count_nonzero(lexicon.valence) <= 1000
    assert 0.4 < (lexicon.valence > 0).sum() / np.count_nonzero(lexicon.valence) < 0.6
    assert lexicon.valence.min() == -4 and lexicon.valence.max() == 4


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_entry_holds_another_of_its_group_and_would_count_twice(language: str) -> None:
    groups, valence, _ = read(language)
    for members in (*groups.values(), set(valence)):
        for entry in members:
            n = len(entry)
            parts = {entry[i : i + k] for k in range(1, n) for i in range(n - k + 1)}
            assert not parts & members, entry


def test_columns_have_one_meaning_each() -> None:
    assert len(set(COLUMNS)) == len(COLUMNS) == len(GROUPS) + len(SHAPES)
    assert all((GROUPS | SHAPES | SUPPORT_GROUPS).values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_word_finds_itself_and_nothing_else(language: str) -> None:
    lexicon = load_lexicon(language)
    for shown in (lexicon.words, [w.upper() for w in lexicon.words if "ß" not in w]):
        same = [w.lower() for w in shown]
        assert entries_of(lexicon, " ") == []
        found = [entries_of(lexicon, w) for w in shown]
        assert found == [[w] for w in same]
    longer = [w + "q" for w in lexicon.words if w + "q" not in lexicon.words]
    assert not any(any(entries_of(lexicon, w)) for w in longer)


def test_words_that_share_slots_are_all_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memvalue.features.lexicon.SLOT_BITS", 3)
    crowded = Lexicon.read(LEXICONS / "en", "en")
    assert [entries_of(crowded, w) for w in crowded.words] == [[w] for w in crowded.words]
    assert entries_of(crowded, "zzz unfortunatelyy friendshi") == ["", "", ""]


def test_a_shared_hash_is_no_match(monkeypatch: pytest.MonkeyPatch) -> None:
    # All words get the hash 0, as if every one of them collided; long ones get one common key.
    import memvalue.features.lexicon as module

    lexicon = load_lexicon("en")
    target = lexicon.words.index("unfortunately") + 1
    real = module.word_keys

    def forged(*arguments: object) -> tuple[object, object, object]:
        keys, hashes, long = real(*arguments)  # type: ignore[arg-type]
        keys[long], hashes[long] = lexicon._keys[target], found
        return keys, hashes, long

    _, hashes = lexicon.lookup(tokenise(["unfortunately"]))
    found = hashes[0]
    monkeypatch.setattr(module, "word_keys", forged)
    assert entries_of(lexicon, "unfortunately unfortunatelx unfortunatel unfortunatelyunfortunately") == [
        "unfortunately",
        "",
        "",
        "",
    ]


def test_a_new_language_is_a_new_folder(folder: Path) -> None:
    add(folder / "relations.txt", "żona")
    add(folder / "retraction_phrases.txt", "już nie mam")
    lexicon = Lexicon.read(folder, "xx")
    assert entries_of(lexicon, "Moja ŻONA") == ["", "żona"]
    assert ("już", "nie", "mam") in lexicon.phrases


def test_the_digest_follows_the_words_and_not_the_line_ends(folder: Path) -> None:
    before = Lexicon.read(folder, "xx").digest
    path = folder / "units.txt"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert Lexicon.read(folder, "xx").digest == before
    add(path, "furlong")
    assert Lexicon.read(folder, "xx").digest != before


def test_two_spellings_of_one_word_are_one_entry(folder: Path) -> None:
    add(folder / "units.txt", "bre\u0301ve")
    add(folder / "goal_words.txt", "br\u00e9ve")
    lexicon = Lexicon.read(folder, "xx")
    entry = lexicon.words.index("br\u00e9ve") + 1
    assert lexicon.bits[entry] == Lexicon.bit("units") | Lexicon.bit("goal_words")


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("units.txt", "a phrase of five whole words", "one to 4 words"),
        ("units.txt", "5 km", "holds a number"),
        ("units.txt", "***", "one to 4 words"),
        ("units.txt", "donau" * 8, "more than 32 bytes"),
        ("units.txt", "sq. feet", "goes over a sentence end"),
        ("valence.txt", "splendour", "a tab and a whole number"),
        ("valence.txt", "splendour\t5", "a tab and a whole number"),
        ("valence.txt", "love\t2", "graded twice"),
        ("regular_past.txt", "ed 5", "one star"),
        ("regular_past.txt", "*ed 5 upper", "one star"),
        ("regular_past.txt", "ge*t 2", "fewer than the form"),
    ],
)
def test_a_wrong_line_is_refused_with_its_file_or_entry(
    folder: Path, file: str, line: str, message: str
) -> None:
    add(folder / file, line)
    with pytest.raises(LexiconError, match=message):
        Lexicon.read(folder, "xx")


def test_files_missing_unknown_unsourced_or_not_utf8_are_refused(folder: Path) -> None:
    (folder / "extra.txt").write_text("# Source: x\n# Licence: x\n")
    with pytest.raises(LexiconError, match=r"unknown files \['extra.txt'\]"):
        Lexicon.read(folder, "xx")
    (folder / "extra.txt").rename(folder / "spare")
    (folder / "spare").unlink()
    (folder / "hedges.txt").rename(folder.parent / "hedges.txt")
    with pytest.raises(LexiconError, match=r"missing files \['hedges.txt'\]"):
        Lexicon.read(folder, "xx")
    (folder / "hedges.txt").write_text("# Source: mine\nmaybe\n")
    with pytest.raises(LexiconError, match=r"hedges.txt has no line '# Licence:'"):
        Lexicon.read(folder, "xx")
    (folder / "hedges.txt").write_bytes(b"# Source: a\n# Licence: b\nm\xfcde\n")
    with pytest.raises(LexiconError, match="not UTF-8"):
        Lexicon.read(folder, "xx")
