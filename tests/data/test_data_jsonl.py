"""Our own format: what a line means, what is refused, and that writing and reading are inverse."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memvalue.data import (
    EVENT_KINDS,
    AnswerKey,
    Case,
    Consolidation,
    DataError,
    Dataset,
    Event,
    Memory,
    SealedKey,
    dump_jsonl,
    load,
)
from memvalue.data.jsonl import load_jsonl

Write = Callable[..., Path]
START = datetime(2026, 1, 5, 9, tzinfo=UTC)


def memory(text: str = "hello", minute: int = 0, needed: bool = True, **more: Any) -> dict[str, Any]:
    time = f"2026-01-05T09:{minute:02d}:00Z"
    return {"text": text, "role": "user", "time": time, "needed": needed} | more


def line(name: str = "a", *memories: Any, **more: Any) -> dict[str, Any]:
    return {"id": name, "memories": list(memories or (memory(),))} | more


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def save(*items: Any) -> Path:
        path = tmp_path / "cases.jsonl"
        path.write_text("".join(json.dumps(i) + "\n" for i in items), encoding="utf-8")
        return path

    return save


def only(path: Path) -> Case:
    return load_jsonl(path).cases[0]


def test_the_shortest_case_takes_the_documented_defaults(write: Write) -> None:
    case = only(write(line()))
    c, key = case.consolidation, case.sealed.open()
    assert (case.id, case.kind, c.texts, c.roles) == ("a", "", ("hello",), ("user",))
    assert (c.trust, c.pinned, c.events, case.factors) == (None, None, (), None)
    assert (key.obsolete, key.announces, key.source, key.question) == (None, None, None, None)
    assert c.now == c.times[0] == np.datetime64("2026-01-05T09:00:00")


def test_the_example_in_the_documentation_is_read(tmp_path: Path) -> None:
    text = (Path(__file__).resolve().parents[2] / "data" / "FORMATS.md").read_text(encoding="utf-8")
    example = text.split("```json\n")[1].split("```")[0]
    path = tmp_path / "example.jsonl"
    path.write_text(example, encoding="utf-8")
    assert only(path).consolidation.texts == ("My order number is 4471.", "Thanks, one moment.")


def test_memories_are_sorted_by_session_start_then_time_then_position(write: Write) -> None:
    case = only(
        write(
            line(
                "a",
                memory("late", 30, session="z"),
                memory("second", 5, session="b", needed=False),
                memory("tie 2", 1, session="b", position=2),
                memory("tie 1", 1, session="b", position=1, needed=False),
                memory("tie 1 again", 1, session="b", position=1),
            )
        )
    )
    assert case.consolidation.texts == ("tie 1", "tie 1 again", "tie 2", "second", "late")
    assert case.consolidation.sessions.tolist() == [0, 0, 0, 0, 1]
    assert case.sealed.open().needed.tolist() == [False, True, True, False, True]
    assert case.session_index.tolist() == [1, 1, 1, 1, 0]  # order of appearance in the file
    assert case.turn_index.tolist() == [2, 3, 1, 0, 0]


def test_sessions_that_interleave_stay_whole(write: Write) -> None:
    rows = [memory("a", 0, session=1), memory("b", 5, session=2), memory("c", 10, session=1)]
    c = only(write(line("x", *rows))).consolidation
    assert c.texts == ("a", "c", "b")
    assert (np.diff(c.times) >= np.timedelta64(0, "s")).all()


def test_offsets_are_converted_and_labels_follow_their_memories(write: Write) -> None:
    rows = [
        memory("later", 0, needed=False, trust=0.5, pinned=True, obsolete=True, source="simulated"),
        memory("earlier", 0, announces=True) | {"time": "2026-01-05T10:30:00+02:00"},
    ]
    case = only(write(line("x", *rows, question="what?", kind="k")))
    c, key = case.consolidation, case.sealed.open()
    assert c.texts == ("earlier", "later")
    assert str(c.times[0]) == "2026-01-05T08:30:00"
    assert c.trust is not None and np.isnan(c.trust[0]) and c.trust[1] == 0.5
    assert c.pinned is not None and c.pinned.tolist() == [False, True]
    assert key.obsolete is not None and key.obsolete.tolist() == [False, True]
    assert key.announces is not None and key.announces.tolist() == [True, False]
    assert (key.source, key.question, case.kind) == (("", "simulated"), "what?", "k")


def test_events_follow_their_memory_and_are_put_in_time_order(write: Write) -> None:
    events = [
        {"kind": "opened", "memory": 0, "time": "2026-01-05T12:00:00Z"},
        {
            "kind": "corrected",
            "memory": 1,
            "time": "2026-01-05T11:00:00Z",
            "actor": "Ann",
            "signal": 0.2,
            "weight": 3,
        },
    ]
    c = only(write(line("x", memory("b", 9), memory("a", 1), events=events))).consolidation
    assert c.texts == ("a", "b")
    assert [(e.kind, e.memory, e.actor, e.signal, e.weight) for e in c.events] == [
        ("corrected", 0, "Ann", 0.2, 3.0),
        ("opened", 1, "user", 1.0, 1.0),
    ]


def test_factors_of_ones_own(write: Write) -> None:
    case = only(
        write(line("x", memory("b", 9, factors=[0.5] * 7), memory("a", 1, factors=[0, 1, 0, 0, 0, 0, 0])))
    )
    assert case.factors is not None and case.factors.dtype == np.float32
    assert case.factors.tolist() == [[0, 1, 0, 0, 0, 0, 0], [0.5] * 7]


def test_unknown_keys_blank_lines_and_a_byte_order_mark_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    blob = json.dumps(line("a", memory(extra=1), comment="x")) + "\n\n   \n" + json.dumps(line("b"))
    path.write_bytes(b"\xef\xbb\xbf" + blob.encode())
    assert [c.id for c in load_jsonl(path)] == ["a", "b"]


def test_cases_without_memories_or_need_are_skipped_and_counted(write: Write) -> None:
    path = write(line("a"), {"id": "b", "memories": []}, line("c", memory(needed=False)), line("d"))
    data = load_jsonl(path)
    assert [c.id for c in data] == ["a", "d"]
    assert data.skipped == {"no memories": 1, "no needed memory": 1}
    assert len(load_jsonl(path, limit=1)) == 1


def test_nothing_needed_anywhere_is_an_error_that_shows_the_key(write: Write) -> None:
    with pytest.raises(DataError, match=r'1 cases, but none with a memory that is needed.*"needed": true'):
        load_jsonl(write(line("c", memory(needed=False))))


@pytest.mark.parametrize(
    "text", ["", "🙂👩‍👩‍👧", "\u202eمرحبا", "x" * 100_000, "\ud83d lone", "a\x00b\r\n\u2028"]
)
def test_any_text_is_kept_as_it_is(write: Write, text: str) -> None:
    assert only(write(line("a", memory(text)))).consolidation.texts == (text,)


EVENT = {"kind": "opened", "memory": 0, "time": "2026-01-05T12:00:00Z"}


def drop(key: str) -> dict[str, Any]:
    return {k: v for k, v in memory().items() if k != key}


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"memories": []}, "line 1 lacks id"),
        ({"id": "a"}, "line 1 lacks memories"),
        ([1], "line 1 is a list, not an object"),
        (line(""), "id is empty"),
        (line(7), "id is a number, not a name"),  # type: ignore[arg-type]
        (line("\ud800"), "half a surrogate pair"),
        (line("a", memories={}), "memories is an object"),
        (line("a", "hi"), r"\(case 'a'\), memory 0 is a text"),
        (line("a", drop("text")), "memory 0 lacks text"),
        (line("a", drop("needed")), "memory 0 lacks needed"),
        (line("a", memory(3)), "text is a number"),  # type: ignore[arg-type]
        (line("a", memory(float("nan"))), "text is a number"),  # type: ignore[arg-type]
        (line("a", memory(role="")), "role is empty"),
        (line("a", memory(time="noon")), "time is 'noon', not a time like"),
        (line("a", memory(time=1700000000)), "time is 1700000000, not a time like"),
        (line("a", memory(time="2026-01-05T09:00:00")), "has no offset"),
        (line("a", memory(time="0001-01-01T00:00:00+10:00")), "not a time like"),
        (line("a", memory(), memory(needed=1)), "memory 1: needed is 1 .*not true or false"),
        (line("a", memory(trust=1.5)), "trust is 1.5, not a number from 0 to 1"),
        (line("a", memory(trust=float("nan"))), "trust is nan"),
        (line("a", memory(pinned="no")), "pinned is 'no'"),
        (line("a", memory(position=-1)), "position is -1, but must be 0 or more"),
        (line("a", memory(position=2**70)), "position is .* not a whole number"),
        (line("a", memory(session=1.5)), "session is 1.5, not a whole number"),
        (line("a", memory(factors=[1])), "factors has 1 numbers, not 7"),
        (line("a", memory(factors=[float("nan")] * 7)), r"factors\[0\] is nan"),
        (line("a", memory(factors=[0] * 7), memory()), "memory 1 lacks factors"),
        (line("a", now="2026-01-04T00:00:00Z"), "now is 2026-01-04.*memory 0 is from 2026-01-05"),
        (line("a", events=[EVENT | {"memory": 1}]), "event 0: memory is 1, but the case has memories 0 to 0"),
        (line("a", events=[EVENT | {"kind": "liked"}]), "event 0: kind is 'liked', not one of confirmed"),
        (line("a", events=[EVENT | {"signal": 2}]), "signal is 2"),
        (line("a", events=[EVENT | {"weight": float("inf")}]), "weight is inf"),
        (line("a", events=[EVENT | {"time": "x"}]), "event 0: time is 'x'"),
        (line("a", kind=3), "kind is a number"),
        (line("a", question=3), "question is a number"),
    ],
)
def test_what_is_malformed_is_named_with_its_line(write: Write, item: Any, message: str) -> None:
    path = write(item)
    with pytest.raises(DataError, match=message) as caught:
        load_jsonl(path)
    assert f"{path}, line 1" in str(caught.value)


def test_duplicate_ids_are_refused(write: Write) -> None:
    with pytest.raises(DataError, match="line 2: id 'a' is also that of line 1"):
        load_jsonl(write(line("a"), line("a")))


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        (b"", "is empty"),
        (b"not json\n", "line 1 is not a JSON object on one line"),
        (
            json.dumps(line()).encode() + b"\n" + json.dumps(line("b")).encode()[:-9],
            "line 2 is not a JSON object",
        ),
        (json.dumps([line()], indent=1).encode(), "line 1 is not a JSON object on one line"),
        (b'{"id": "\xff"}', "line 1 is not UTF-8 text"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"id": "a", "x": ' + b"9" * 5000 + b"}", "line 1 is not valid JSON"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, blob: bytes, message: str) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_bytes(blob)
    with pytest.raises(DataError, match=message):
        load_jsonl(path)


texts = st.one_of(st.text(max_size=20), st.sampled_from(["\ud83d", "مرحبا", "🙂", "\u2028", ""]))
units = st.floats(0, 1)


@st.composite
def cases(draw: st.DrawFn, name: str) -> Case:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    moments = sorted(draw(st.lists(st.integers(0, 50), min_size=sum(sizes), max_size=sum(sizes))))
    roles = st.sampled_from(["user", "assistant", "Ann Åse"])
    rows = [
        Memory(draw(texts), draw(roles), START + timedelta(seconds=s), session, position,
               draw(st.none() | units), pinned=draw(st.booleans()))
        for (session, position), s in zip(
            ((s, p) for s, size in enumerate(sizes) for p in range(size)), moments, strict=True
        )
    ]  # fmt: skip
    n = len(rows)
    events = draw(
        st.lists(
            st.builds(
                Event,
                kind=st.sampled_from(sorted(EVENT_KINDS)),
                memory=st.integers(0, n - 1),
                time=st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),
                actor=st.sampled_from(["user", "Bob"]),
                signal=units,
                weight=st.floats(0, 1e6),
            ),
            max_size=3,
        )
    )
    now = START + timedelta(seconds=draw(st.integers(50, 10**6)))
    consolidation = Consolidation.from_memories(rows, now=now, events=events)
    if draw(st.booleans()):
        consolidation = replace(consolidation, trust=None, pinned=None)
    flags = st.lists(st.booleans(), min_size=n, max_size=n).map(lambda f: np.array(f, dtype=bool))
    needed = draw(flags)
    needed[draw(st.integers(0, n - 1))] = True
    key = AnswerKey(
        needed,
        draw(st.none() | flags),
        draw(st.none() | flags),
        draw(st.none() | st.tuples(*[st.sampled_from(["", "simulated"])] * n)),
        draw(st.none() | texts),
    )
    index = st.lists(st.integers(0, 99), min_size=n, max_size=n).map(lambda v: np.array(v, dtype=np.int64))
    table = st.lists(st.floats(0, 1, width=32), min_size=n * 7, max_size=n * 7)
    factors = draw(st.none() | table.map(lambda v: np.array(v, dtype=np.float32).reshape(n, 7)))
    kind = draw(st.sampled_from(["", "multi-session"]))
    return Case(name, consolidation, SealedKey(key), kind, factors, draw(index), draw(index))


def same(a: Any, b: Any) -> bool:
    return (a is None and b is None) or bool(np.array_equal(a, b))


@given(st.tuples(cases("a"), cases("b 🙂")))
def test_what_is_written_is_read_back_equal(pair: tuple[Case, Case]) -> None:
    data = Dataset("test", "jsonl", list(pair))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.jsonl"
        dump_jsonl(data, path)
        back = load_jsonl(path)
        assert os.listdir(folder) == ["cases.jsonl"]
    assert back.digest == data.digest
    for old, new in zip(data, back, strict=True):
        a, b = old.sealed.open(), new.sealed.open()
        assert (old.id, old.kind, a.source, a.question) == (new.id, new.kind, b.source, b.question)
        assert old.consolidation.events == new.consolidation.events
        assert old.consolidation.digest() == new.consolidation.digest()
        for name in ("needed", "obsolete", "announces"):
            assert same(getattr(a, name), getattr(b, name))
        for name in ("factors", "session_index", "turn_index"):
            assert same(getattr(old, name), getattr(new, name))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(write: Write, tmp_path: Path) -> None:
    path = write(line("a"))
    before = path.read_bytes()
    good = only(path)
    late = replace(good, consolidation=replace(good.consolidation, now=np.datetime64("2020-01-01", "s")))
    with pytest.raises(ValueError, match=r"now .* is earlier than its last memory"):
        dump_jsonl(Dataset("x", "jsonl", [good, late]), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["cases.jsonl"]


def test_an_order_that_the_file_could_not_bring_back_is_refused(write: Write, tmp_path: Path) -> None:
    case = only(write(line("a", memory("x"), memory("y"))))
    swapped = replace(case, consolidation=replace(case.consolidation, positions=np.array([1, 0])))
    with pytest.raises(ValueError, match="positions contradict times"):
        dump_jsonl(Dataset("x", "jsonl", [swapped]), tmp_path / "out.jsonl")


def test_writing_to_a_wrong_place_is_named(write: Write, tmp_path: Path) -> None:
    data = load_jsonl(write(line()))
    with pytest.raises(DataError, match=r"folder .* does not exist"):
        dump_jsonl(data, tmp_path / "none" / "x.jsonl")
    with pytest.raises(DataError, match="is a directory"):
        dump_jsonl(data, tmp_path)


def test_real_cases_survive_the_round_trip(shared_data: Any, tmp_path: Path) -> None:
    for data in (
        load(f"longmemeval:{shared_data.longmemeval(24)}", limit=6),
        load(f"memora:{shared_data.memora()}", limit=2),
    ):
        path = tmp_path / f"{data.name}.jsonl"
        dump_jsonl(data, path)
        back = load(f"jsonl:{path}")
        assert back.digest == data.digest
        for old, new in zip(data, back, strict=True):
            assert same(old.session_index, new.session_index)
            assert same(old.sealed.open().obsolete, new.sealed.open().obsolete)
            assert old.sealed.open().source == new.sealed.open().source
