"""Files of memories: what is understood comes in, what is not is kept, what is wrong is named by its line."""

import json
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memvalue.data import DataError
from memvalue.serve.memories import StoredMemory, read_memories, write_memories

LINE = {"id": "a", "text": "I live in Graz.", "role": "user", "time": "2025-03-01T09:00:00+01:00"}


def written(tmp_path, *lines):
    path = tmp_path / "memories.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def test_four_keys_are_enough(tmp_path):
    [memory] = read_memories(written(tmp_path, LINE))
    assert (memory.id, memory.text, memory.role) == ("a", "I live in Graz.", "user")
    assert memory.time == datetime(2025, 3, 1, 8, tzinfo=UTC)
    assert memory.session is None and memory.uses is None and not memory.pinned and memory.extra == {}


def test_optional_keys_are_read_and_unknown_ones_kept(tmp_path):
    full = LINE | {
        "session": "s1", "trust": 0.5, "pinned": True, "stratum": "semantic", "uses": 3,
        "expires": "2026-01-01T00:00:00Z", "last_used": "2025-04-01T00:00:00Z", "embedding": [0.6, 0.8],
        "source": {"app": "mail"}, "tags": ["home"],
    }  # fmt: skip
    [memory] = read_memories(written(tmp_path, full))
    assert (memory.session, memory.trust, memory.pinned, memory.stratum, memory.uses) == (
        "s1", 0.5, True, "semantic", 3.0,
    )  # fmt: skip
    assert memory.expires == datetime(2026, 1, 1, tzinfo=UTC)
    np.testing.assert_array_equal(memory.embedding, np.array([0.6, 0.8], np.float32))
    assert memory.extra == {"source": {"app": "mail"}, "tags": ["home"]}
    write_memories(tmp_path / "again.jsonl", [memory])
    again = json.loads((tmp_path / "again.jsonl").read_text())
    assert again["source"] == full["source"] and again["tags"] == full["tags"]
    [back] = read_memories(tmp_path / "again.jsonl")
    assert back.as_dict() == memory.as_dict()


@given(
    st.text(), st.text(min_size=1).filter(lambda s: s.strip() and s.isprintable()),
    st.datetimes(timezones=st.just(UTC)), st.none() | st.integers(-9, 9) | st.text(),
    st.none() | st.floats(0, 1), st.none() | st.floats(0, 1e6),
)  # fmt: skip
def test_what_is_written_comes_back(text, name, time, session, trust, uses):
    memory = StoredMemory(name, text, "user", time, session, trust, uses=uses)
    assert StoredMemory.from_dict(json.loads(json.dumps(memory.as_dict()))) == memory


def test_blank_lines_a_byte_order_mark_and_number_ids_are_fine(tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(LINE | {"id": 7}).encode() + b"\n\n  \n")
    assert [m.id for m in read_memories(path)] == ["7"]


def test_reading_is_lazy(tmp_path):
    path = written(tmp_path, LINE, "not json")
    reader = read_memories(path)
    assert next(reader).id == "a"
    with pytest.raises(DataError, match="line 2 is not a JSON object"):
        next(reader)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "line 2 is a list, not an object"),
        ("{", "line 2 is not a JSON object on one line"),
        ({"id": "b", "text": "x", "role": "user"}, "line 2 lacks time"),
        (LINE, "line 2: id 'a' is also that of line 1"),
        (LINE | {"id": ""}, "id is empty"),
        (LINE | {"id": True}, "id is a boolean"),
        (LINE | {"id": "b", "text": None}, "text is null"),
        (LINE | {"id": "b", "time": "2025-03-01T09:00:00"}, "has no offset"),
        (LINE | {"id": "b", "time": "yesterday"}, "not a time like"),
        (LINE | {"id": "b", "trust": 1.5}, "trust is 1.5"),
        (LINE | {"id": "b", "uses": -1}, "uses is -1"),
        (LINE | {"id": "b", "uses": True}, "uses is True"),
        (LINE | {"id": "b", "uses": 10**400}, "not a finite number"),
        (LINE | {"id": "b", "pinned": 1}, "pinned is 1"),
        (LINE | {"id": "b", "session": 1.5}, "session is 1.5"),
        (LINE | {"id": "b", "embedding": []}, "embedding"),
        (LINE | {"id": "b", "embedding": [1, "x"]}, "embedding"),
        (LINE | {"id": "b", "embedding": [1e300]}, "finite"),
        (LINE | {"id": "b", "embedding": [10**400]}, "finite"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, message):
    with pytest.raises(DataError, match=message):
        list(read_memories(written(tmp_path, LINE, line)))


def test_bad_files_are_named(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        list(read_memories(tmp_path / "no.jsonl"))
    with pytest.raises(DataError, match="directory"):
        list(read_memories(tmp_path))
    (tmp_path / "latin.jsonl").write_bytes(b'{"id": "\xe9"}\n')
    with pytest.raises(DataError, match="line 1 is not UTF-8"):
        list(read_memories(tmp_path / "latin.jsonl"))
    (tmp_path / "blank.jsonl").write_text("\n\n")
    with pytest.raises(DataError, match="holds no memory"):
        list(read_memories(tmp_path / "blank.jsonl"))
