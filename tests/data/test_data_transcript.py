"""Plain transcripts: any order of lines, conversations given or found by silence, mistakes named."""

import json

import numpy as np
import pytest

from memvalue.data import DataError
from memvalue.data.transcript import read_transcript


def written(tmp_path, *lines):
    path = tmp_path / "talk.jsonl"
    path.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines) + "\n", "utf-8")
    return path


def turn(text="hi", time="2026-03-02T09:00:00Z", role="user", **more):
    return {"text": text, "time": time, "role": role} | more


class TestReading:
    def test_conversations_are_ordered_by_their_earliest_turn_and_kept_together(self, tmp_path):
        path = written(
            tmp_path,
            turn("c", "2026-03-03T09:00:00Z", session="late"),
            turn("a", "2026-03-02T09:00:00Z", session="early"),
            turn("d", "2026-03-03T10:00:00Z", session="early"),
            turn("b", "2026-03-02T11:00:00+01:00", "assistant", session="early"),
        )
        c = read_transcript(path)
        assert c.texts == ("a", "b", "d", "c")
        assert c.roles == ("user", "assistant", "user", "user")
        assert c.sessions.tolist() == [0, 0, 0, 1]
        assert c.positions.tolist() == [0, 2, 1, 0]
        assert (np.diff(c.times) >= np.timedelta64(0, "s")).all()
        assert c.now == np.datetime64("2026-03-03T10:00:00")

    def test_a_silence_of_an_hour_parts_conversations_where_no_line_does(self, tmp_path):
        times = ["09:00", "09:59", "10:58", "11:58", "12:00"]
        path = written(tmp_path, *[turn(t, f"2026-03-02T{t}:00Z") for t in reversed(times)])
        c = read_transcript(path)
        assert c.texts == tuple(times)
        assert c.sessions.tolist() == [0, 0, 0, 1, 1]

    def test_turns_of_one_second_keep_their_positions(self, tmp_path):
        path = written(tmp_path, turn("b", session=1, position=1), turn("a", session=1, position=0))
        assert read_transcript(path).texts == ("a", "b")

    def test_optional_columns_are_kept_where_given(self, tmp_path):
        path = written(
            tmp_path, turn("a", trust=0.5, id="x", unknown=1), "", turn("b", pinned=True, id=2, session=None)
        )
        c = read_transcript(path)
        assert c.trust[0] == 0.5 and np.isnan(c.trust[1])
        assert c.pinned.tolist() == [False, True]
        bare = read_transcript(written(tmp_path, turn()))
        assert bare.trust is None and bare.pinned is None

    def test_any_text_goes(self, tmp_path):
        path = written(tmp_path, turn(""), turn("\u202e שלום 😀"), turn("x" * 100_000))
        assert len(read_transcript(path)) == 3


class TestMistakes:
    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ({"text": "hi", "role": "user"}, "line 1 lacks time"),
            ({"text": None, "role": "user", "time": "2026-03-02T09:00:00Z"}, "line 1 lacks text"),
            (turn(time="2026-03-02T09:00:00"), "no offset"),
            (turn(role=" "), "role is empty"),
            (turn(text=3), "text is a number"),
            (turn(trust=2), "trust is 2"),
            (turn(trust=True), "trust is True"),
            (turn(pinned=1), "pinned is 1"),
            (turn(position=-1), "position is -1"),
            (turn(session=1.5), "session is 1.5"),
            ("[1]", "line 1 is a list"),
            ("{", "not a JSON object on one line"),
        ],
    )
    def test_a_line_is_refused_by_name(self, tmp_path, line, said):
        with pytest.raises(DataError, match=said):
            read_transcript(written(tmp_path, line))

    def test_ids_must_differ(self, tmp_path):
        with pytest.raises(DataError, match="line 2: id 'x' is also that of line 1"):
            read_transcript(written(tmp_path, turn(id="x"), turn(id="x")))

    def test_a_session_is_given_by_all_lines_or_by_none(self, tmp_path):
        with pytest.raises(DataError, match="line 2 lacks session"):
            read_transcript(written(tmp_path, turn(session=1), turn()))

    def test_no_file_and_no_lines(self, tmp_path):
        with pytest.raises(DataError, match="does not exist"):
            read_transcript(tmp_path / "none.jsonl")
        with pytest.raises(DataError, match="blank lines only"):
            read_transcript(written(tmp_path, "", " "))
