"""Which businesses there are: a folder of logs, or a table of paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from memvalue.data import DataError
from memvalue.eval.business import Business
from memvalue.eval.tenants import tenants


def put(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")


def test_a_folder_holds_a_business_a_file_or_a_folder(tmp_path: Path) -> None:
    put(tmp_path, "b.parquet", "a.jsonl", "c.sqlite", "notes.txt", ".hidden.jsonl")
    put(tmp_path, "d/events.jsonl", "d/memories.jsonl", "e/transcript.jsonl", "f/readme.md")
    assert tenants(tmp_path) == [
        Business("a", events=str(tmp_path / "a.jsonl")),
        Business("b", events=str(tmp_path / "b.parquet")),
        Business("c", events=str(tmp_path / "c.sqlite")),
        Business("d", events=str(tmp_path / "d/events.jsonl"), memories=str(tmp_path / "d/memories.jsonl")),
        Business("e", transcript=str(tmp_path / "e/transcript.jsonl")),
    ]


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_table_names_them_with_paths_beside_it(tmp_path: Path, suffix: str) -> None:
    text = {
        "csv": "business,events,memories,transcript\nacme,logs/a.jsonl,m.jsonl,\nbob,postgresql://h/d,,\n"
        "cy,,,said.jsonl\n",
        "jsonl": '{"business": "acme", "events": "logs/a.jsonl", "memories": "m.jsonl"}\n\n'
        '{"business": "bob", "events": "postgresql://h/d"}\n{"business": "cy", "transcript": "said.jsonl"}\n',
    }[suffix]
    table = tmp_path / f"all.{suffix}"
    table.write_text(text, encoding="utf-8")
    assert tenants(table) == [
        Business("acme", events=str(tmp_path / "logs/a.jsonl"), memories=str(tmp_path / "m.jsonl")),
        Business("bob", events="postgresql://h/d"),
        Business("cy", transcript=str(tmp_path / "said.jsonl")),
    ]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.jsonl", "not json\n", "line 1 is not a JSON object"),
        ("t.jsonl", "[1]\n", "line 1 is not a JSON object"),
        ("t.jsonl", '{"events": "a"}\n', "line 1: the column business is missing"),
        ("t.jsonl", '{"business": "../up", "events": "a"}\n', "cannot name a business"),
        ("t.csv", "business,events\nacme,\n", "line 2: business 'acme' needs either events"),
        ("t.csv", "business,events,transcript\nacme,a,b\n", "needs either events"),
        ("t.csv", "business,transcript,memories\nacme,a,b\n", "memories go with events"),
        ("t.csv", "business,events\nacme,a\nacme,b\n", "'acme' twice"),
        ("t.csv", "business,events\n", "holds no business"),
    ],
)
def test_a_table_that_says_too_little_is_refused(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=words):
        tenants(tmp_path / name)


def test_what_is_not_there_or_empty_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        tenants(tmp_path / "nowhere")
    with pytest.raises(DataError, match="holds no business"):
        tenants(tmp_path)
    put(tmp_path, "acme/events.jsonl", "acme/events.parquet")
    with pytest.raises(DataError, match="keep one of them"):
        tenants(tmp_path)


def test_the_fingerprint_is_of_the_files_contents(tmp_path: Path) -> None:
    put(tmp_path, "a.jsonl", "b.jsonl")
    one = Business("a", events=str(tmp_path / "a.jsonl"))
    assert one.fingerprint() == Business("b", events=str(tmp_path / "b.jsonl")).fingerprint()
    before = one.fingerprint()
    (tmp_path / "a.jsonl").write_text("y", encoding="utf-8")
    assert one.fingerprint() != before
    assert Business("c", events="postgresql://host/db").fingerprint() is None


def test_memories_in_a_table_beside_the_events_are_no_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "business,events,memories\nbob,postgresql://h/d,notes\neve,e.db,m.jsonl\n"
    )
    assert tenants(tmp_path / "t.csv") == [
        Business("bob", events="postgresql://h/d", memories="notes"),
        Business("eve", events=str(tmp_path / "e.db"), memories=str(tmp_path / "m.jsonl")),
    ]
