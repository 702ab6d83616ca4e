"""LongMemEval-S: every trap of the file, on small files written here and on the real one where it is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memvalue.data import DataError, load, longmemeval
from memvalue.data.longmemeval import load_longmemeval

Write = Callable[..., Path]


def turn(text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": text, **more}


def question(name: str = "q1", **change: Any) -> dict[str, Any]:
    item: dict[str, Any] = {
        "question_id": name,
        "question_type": "single-session-user",
        "question": "Where do I live?",
        "answer": "Ghent",
        "question_date": "2023/05/30 (Tue) 23:40",
        "answer_session_ids": ["answer_1"],
        "haystack_dates": ["2023/05/22 (Mon) 10:00", "2023/05/20 (Sat) 02:21"],
        "haystack_session_ids": ["sharegpt_1", "answer_1"],
        "haystack_sessions": [
            [turn("Write a poem"), turn("Roses", "assistant")],
            [turn("I live in Ghent", has_answer=True), turn("Nice", "assistant", has_answer=False)],
        ],
    }
    return item | change


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def save(*items: Any, name: str = "lme.json") -> Path:
        path = tmp_path / name
        path.write_text(json.dumps(list(items)), encoding="utf-8")
        return path

    return save


def test_a_case_is_a_question_and_a_memory_is_a_turn(write: Write) -> None:
    data = load_longmemeval(write(question()))
    case = data.cases[0]
    key = case.sealed.open()
    assert (case.id, case.kind, len(case)) == ("q1", "single-session-user", 4)
    assert case.consolidation.texts == ("I live in Ghent", "Nice", "Write a poem", "Roses")
    assert case.consolidation.roles == ("user", "assistant", "user", "assistant")
    assert key.needed.tolist() == [True, False, False, False]
    assert key.question == "Where do I live?"
    assert str(case.consolidation.times[0]) == "2023-05-20T02:21:00"


def test_sessions_are_sorted_by_date_and_joined_to_the_file_by_place(write: Write) -> None:
    case = load_longmemeval(write(question())).cases[0]
    assert case.consolidation.sessions.tolist() == [0, 0, 1, 1]
    assert case.session_index.tolist() == [1, 1, 0, 0]
    assert case.turn_index.tolist() == [0, 1, 0, 1]
    assert case.consolidation.positions.tolist() == [0, 1, 0, 1]


def test_sessions_of_the_same_minute_stay_in_file_order(write: Write) -> None:
    names = [f"s{i}" for i in range(30)]
    item = question(
        haystack_dates=["2023/05/20 (Sat) 02:21"] * 29 + ["2023/05/19 (Fri) 02:21"],
        haystack_session_ids=names,
        haystack_sessions=[[turn(n, has_answer=True)] for n in names],
    )
    assert load_longmemeval(write(item)).cases[0].consolidation.texts == ("s29", *names[:29])


def test_a_question_dated_hours_before_its_evidence_keeps_it(write: Write) -> None:
    case = load_longmemeval(write(question(question_date="2023/05/22 (Mon) 03:00"))).cases[0]
    assert len(case) == 4
    assert str(case.consolidation.now) == "2023-05-22T10:00:00"  # the latest session, not the question
    later = load_longmemeval(write(question())).cases[0]
    assert str(later.consolidation.now) == "2023-05-30T23:40:00"


def test_the_weekday_is_not_read(write: Write) -> None:
    for date in ("2023/05/20 (Samstag) 02:21", "2023/05/20 02:21", "2023/05/20 (xxx) 02:21"):
        item = question(haystack_dates=["2023/05/22 (Mon) 10:00", date])
        assert str(load_longmemeval(write(item)).cases[0].consolidation.times[0]) == "2023-05-20T02:21:00"


def test_one_session_twice_in_a_haystack_stays_twice(write: Write) -> None:
    session = [turn("I live in Ghent", has_answer=True)]
    item = question(haystack_session_ids=["answer_1", "answer_1"], haystack_sessions=[session, session])
    case = load_longmemeval(write(item)).cases[0]
    assert case.consolidation.sessions.tolist() == [0, 1]
    assert case.session_index.tolist() == [1, 0]
    assert case.sealed.open().needed.all()


def test_a_number_as_answer_is_no_problem(write: Write) -> None:
    assert len(load_longmemeval(write(question(answer=4)))) == 1


def test_questions_without_evidence_are_skipped_and_counted(write: Write) -> None:
    bare = [[turn("a")], [turn("b")]]
    data = load_longmemeval(
        write(
            question("q1"),
            question("q2_abs", haystack_sessions=bare),
            question("q3", haystack_sessions=bare),
            question("q4_abs"),
            question("q5", haystack_sessions=[], haystack_dates=[], haystack_session_ids=[]),
            question("q6", haystack_sessions=[[], []]),
        )
    )
    assert [c.id for c in data] == ["q1", "q4_abs"]
    assert data.skipped == {"no evidence turn (abstention)": 1, "no evidence turn": 1, "no turns": 2}


def test_an_empty_session_leaves_no_gap_in_the_numbering(write: Write) -> None:
    item = question(
        haystack_dates=["2023/05/20 (Sat) 02:21"] * 3,
        haystack_session_ids=["a", "b", "c"],
        haystack_sessions=[[turn("x", has_answer=True)], [], [turn("y")]],
    )
    case = load_longmemeval(write(item)).cases[0]
    assert case.consolidation.sessions.tolist() == [0, 1]
    assert case.session_index.tolist() == [0, 2]


def test_id_prefixes_reach_the_sealed_source_and_nothing_else(write: Write) -> None:
    names = ["answer_77", "sharegpt_xyz_0", "ultrachat_9", "8f3c"]
    item = question(
        haystack_dates=["2023/05/20 (Sat) 02:21"] * 4,
        haystack_session_ids=names,
        haystack_sessions=[[turn(f"text {i}", has_answer=i == 0)] for i in range(4)],
    )
    renamed = question(**item | {"haystack_session_ids": ["a", "b", "c", "d"]})
    case, blind = (load_longmemeval(write(q)).cases[0] for q in (item, renamed))
    assert case.sealed.open().source == ("simulated", "sharegpt", "ultrachat", "simulated")
    assert case.consolidation.digest() == blind.consolidation.digest()
    assert not any(name in repr(case.consolidation) for name in names)


def test_neither_the_question_nor_the_key_has_answer_changes_what_a_policy_sees(write: Write) -> None:
    plain = question(question="Something else?")
    plain["haystack_sessions"] = [
        [turn("Write a poem", has_answer=True), turn("Roses", "assistant")],
        [turn("I live in Ghent"), turn("Nice", "assistant")],
    ]
    digests = {load_longmemeval(write(q)).cases[0].consolidation.digest() for q in (question(), plain)}
    assert len(digests) == 1


def test_equal_texts_are_one_object(write: Write) -> None:
    a, b = load_longmemeval(write(question("a"), question("b"))).cases
    assert all(x is y for x, y in zip(a.consolidation.texts, b.consolidation.texts, strict=True))
    assert all(x is y for x, y in zip(a.consolidation.roles, b.consolidation.roles, strict=True))


@pytest.mark.parametrize(
    "text", ["", "🙂👩‍👩‍👧", "\u202eمرحبا بالعالم", "x" * 100_000, "\ud83d lone", "a\x00b\r\n\u2028"]
)
def test_any_text_is_kept_as_it_is(write: Write, text: str) -> None:
    item = question(haystack_sessions=[[turn("a", has_answer=True)], [turn(text)]])
    assert load_longmemeval(write(item)).cases[0].consolidation.texts[0] == text


def test_a_case_of_one_turn(write: Write) -> None:
    item = question(
        haystack_sessions=[[turn("a", has_answer=True)]],
        haystack_dates=["2023/05/20 (Sat) 02:21"],
        haystack_session_ids=["x"],
    )
    assert len(load_longmemeval(write(item)).cases[0]) == 1


def test_a_limit_counts_usable_cases(write: Write) -> None:
    bare = question("q0", haystack_sessions=[[turn("a")], [turn("b")]])
    data = load_longmemeval(write(bare, question("q1"), question("q2")), limit=1)
    assert [c.id for c in data] == ["q1"]


def without(key: str) -> dict[str, Any]:
    item = question()
    del item[key]
    return item


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (without("question_id"), r"item 0 lacks question_id"),
        (without("haystack_dates"), r"item 0 \(question 'q1'\) lacks haystack_dates"),
        (question(haystack_dates=["2023/05/20 (Sat) 02:21"]), r"'q1'.*2 haystack_sessions, 1 haystack_dates"),
        (question(question_date="yesterday"), r"'q1'.*question_date is 'yesterday', not a date like"),
        (question(question_date="2023/13/40 (Sat) 02:21"), r"question_date is .* not a date like"),
        (question(question_date=float("nan")), r"question_date is nan, not a date"),
        (question(haystack_dates=["2023/05/22 (Mon) 10:00", None]), r"haystack_dates\[1\] is None"),
        (question(haystack_sessions="none"), r"haystack_sessions is a text, not a list"),
        (question(haystack_sessions=[[turn("a")], None]), r"haystack_sessions\[1\] is null"),
        (question(haystack_sessions=[[turn("a")], ["hi"]]), r"session 1, turn 0 is a text, not an object"),
        (question(haystack_sessions=[[turn("a")], [{"role": "user"}]]), r"session 1, turn 0 lacks content"),
        (question(haystack_sessions=[[turn("a")], [turn(7)]]), r"turn 0: content is a number, not a text"),  # type: ignore[arg-type]
        (question(haystack_sessions=[[turn("a")], [turn(float("nan"))]]), r"content is a number"),  # type: ignore[arg-type]
        (question(haystack_sessions=[[turn("a")], [turn("b", None)]]), r"role is null"),  # type: ignore[arg-type]
        (question(haystack_sessions=[[turn("a")], [turn("b", "")]]), r"role is empty"),
        (question(haystack_sessions=[[turn("a")], [turn("b", has_answer=1)]]), r"has_answer is 1"),
        (question(question_type=None), r"question_type is null"),
        (question("\ud800"), r"half a surrogate pair"),
        (question(haystack_session_ids=[1, 2]), r"haystack_session_ids\[1\] is a number"),
        ("text", r"item 0 is a text, not an object"),
        ({"conversation": {}, "qa": [], "sample_id": "c"}, r"LoCoMo.*use locomo:PATH"),
    ],
)
def test_what_is_malformed_is_named_with_its_place(write: Write, item: Any, message: str) -> None:
    path = write(item)
    with pytest.raises(DataError, match=message) as caught:
        load_longmemeval(path)
    assert str(path) in str(caught.value)


def test_duplicate_question_ids_are_refused(write: Write) -> None:
    with pytest.raises(DataError, match=r"'q1' is given to items 0 and 1; ids must differ"):
        load_longmemeval(write(question(), question()))


def test_no_evidence_anywhere_is_an_error_that_says_what_is_missing(write: Write) -> None:
    with pytest.raises(DataError, match=r"1 questions, but none with an evidence turn \(has_answer: true\)"):
        load_longmemeval(write(question(haystack_sessions=[[turn("a")], [turn("b")]])))
    with pytest.raises(DataError, match="0 questions"):
        load_longmemeval(write())


GOOD = json.dumps([question("q1"), question("q2")])


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        (b"", "is empty"),
        (b"  \n", "should hold a JSON list"),
        (b"hello", "should hold a JSON list of LongMemEval questions, but starts with 'hello'"),
        (b'{"a": 1}', "should hold a JSON list"),
        (GOOD[: len(GOOD) // 2 + 300].encode(), "ends inside item 1; it is cut off"),
        (GOOD[:-1].encode(), "ends after item 1"),
        (b"[", "ends inside item 0"),
        (GOOD.replace('"q2"', "q2").encode(), "not valid JSON in item 1: Expecting value, near"),
        ((GOOD + " x").encode(), "goes on after its list with 'x'"),
        (GOOD.replace("}, {", "} {").encode(), "'{' follows item 0|not valid JSON in item 0"),
        (b'[{"question_id": "\xff\xfe"}]', "not UTF-8 text"),
        (b"\x1f\x8b\x08\x00", "not UTF-8 text.*compressed"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" + b"9" * 5000 + b"]", "not valid JSON in item 0"),
    ],
)
def test_a_broken_file_is_named_with_what_is_wrong(tmp_path: Path, blob: bytes, message: str) -> None:
    path = tmp_path / "broken.json"
    path.write_bytes(blob)
    with pytest.raises(DataError, match=message) as caught:
        load_longmemeval(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_a_directory_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        load_longmemeval(tmp_path / "none.json")
    with pytest.raises(DataError, match="is a directory"):
        load_longmemeval(tmp_path)


def test_a_byte_order_mark_and_white_space_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "bom.json"
    path.write_bytes(b"\xef\xbb\xbf \n" + json.dumps([question()], indent=3).encode() + b"\n\n")
    assert len(load_longmemeval(path)) == 1


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
def test_where_the_file_is_cut_into_chunks_changes_nothing(
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
    chunk: int,
) -> None:
    items = [question(f"q{i}", question='Où? 🙂 \\ " é' * i) for i in range(3)]
    path = write(*items)
    path.write_text(json.dumps(items, ensure_ascii=False), encoding="utf-8")
    whole = load_longmemeval(path).digest
    monkeypatch.setattr("memvalue.data.files.CHUNK", chunk)
    assert load_longmemeval(path).digest == whole


def test_the_same_file_gives_the_same_digest_and_a_label_changes_it(write: Write) -> None:
    path = write(question())
    other = question()
    other["haystack_sessions"][0][0]["has_answer"] = True
    assert load_longmemeval(path).digest == load_longmemeval(path).digest
    assert load_longmemeval(path).digest != load_longmemeval(write(other, name="b.json")).digest


def test_without_a_path_the_file_is_fetched(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(question())
    monkeypatch.setattr(longmemeval, "_download", lambda *, offline: str(path))
    data = load("longmemeval")
    assert (data.spec, len(data)) == ("longmemeval", 1)


def test_without_a_network_the_error_names_the_flag_and_the_way_to_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*, offline: bool) -> str:
        raise OSError("no route to host")

    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(longmemeval, "_download", fail)
    with pytest.raises(DataError, match="no route to host") as caught:
        load("longmemeval")
    for part in ("--data longmemeval:PATH", "xiaowu0162/longmemeval-cleaned", "longmemeval_s_cleaned.json"):
        assert part in str(caught.value)


def test_offline_mode_asks_the_cache_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    asked: list[bool] = []

    def download(*_: Any, local_files_only: bool, **__: Any) -> str:
        asked.append(local_files_only)
        raise hub.errors.LocalEntryNotFoundError("not cached")

    monkeypatch.setattr(hub, "hf_hub_download", download)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(
        DataError, match=r"HF_HUB_OFFLINE is set and the hub's cache has no copy.*longmemeval:PATH"
    ):
        load("longmemeval")
    assert asked == [True]


def test_a_cached_copy_needs_no_network(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = pytest.importorskip("huggingface_hub")
    path = write(question())
    wanted: list[tuple[Any, ...]] = []

    def download(*args: Any, local_files_only: bool, repo_type: str, revision: str) -> str:
        assert local_files_only
        wanted.append((*args, repo_type, len(revision)))
        return str(path)

    monkeypatch.setattr(hub, "hf_hub_download", download)
    assert len(load("longmemeval")) == 1
    assert wanted == [("xiaowu0162/longmemeval-cleaned", "longmemeval_s_cleaned.json", "dataset", 40)]


def test_a_missing_client_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DataError, match=r"pip install 'memvalue\[train\]'.*longmemeval:PATH"):
        load("longmemeval")


def test_a_real_cut_agrees_with_a_plain_reading_of_the_file(shared_data: Any) -> None:
    path = shared_data.longmemeval(24)
    raw = {q["question_id"]: q for q in json.loads(path.read_text(encoding="utf-8"))}
    data = load(f"longmemeval:{path}")
    assert len(data) + sum(data.skipped.values()) == len(raw)
    for case in data:
        q, c, key = raw[case.id], case.consolidation, case.sealed.open()
        for row in range(0, len(case), 37):
            t = q["haystack_sessions"][case.session_index[row]][case.turn_index[row]]
            assert (c.texts[row], c.roles[row]) == (t["content"], t["role"])
            assert key.needed[row] == t.get("has_answer", False)
        turns = [t for s in q["haystack_sessions"] for t in s]
        assert len(case) == len(turns)
        assert key.needed.sum() == sum(t.get("has_answer", False) for t in turns)
        # Days alone: a date's text sorts like the date.
        days = [q["haystack_dates"][s][:10].replace("/", "-") for s in case.session_index]
        assert days == [str(d)[:10] for d in c.times]
        assert (np.diff(c.times) >= np.timedelta64(0, "s")).all()
        assert c.now >= c.times[-1]


@pytest.mark.slow
def test_the_whole_file_loads_within_its_memory(shared_data: Any) -> None:
    code = (
        "import resource, sys; from memvalue.data import load; d = load(sys.argv[1]); "
        "print(len(d), d.memories, d.skipped, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    spec = f"longmemeval:{shared_data.longmemeval()}"
    out = subprocess.run(
        [sys.executable, "-c", code, spec], check=True, capture_output=True, text=True
    ).stdout
    *rest, kilobytes = out.split()
    assert " ".join(rest) == "380 187005 {'no evidence turn (abstention)': 19}"
    assert int(kilobytes) < 2_500_000
