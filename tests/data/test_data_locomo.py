"""LoCoMo: two named speakers, untidy evidence ids, adversarial questions, and its dates."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memvalue.data import DataError, load
from memvalue.data.locomo import load_locomo

Write = Callable[..., Path]


def conversation(name: str = "conv-1", *evidence: Any, category: int = 1, **change: Any) -> dict[str, Any]:
    """Sessions 1, 2 and 10 of three turns each, in that order of time."""
    talk: dict[str, Any] = {"speaker_a": "Ann", "speaker_b": "Bob", "session_3_date_time": "never held"}
    for number, date in (
        (10, "12:05 am on 1 July, 2023"),
        (1, "1:56 pm on 8 May, 2023"),
        (2, "9:00 am on 9 May, 2023"),
    ):
        talk[f"session_{number}_date_time"] = date
        talk[f"session_{number}"] = [
            {"speaker": "Ann" if t % 2 else "Bob", "dia_id": f"D{number}:{t}", "text": f"said {number}.{t}"}
            for t in (1, 2, 3)
        ]
    qa = [{"question": "?", "answer": 3, "evidence": list(evidence or ("D1:1",)), "category": category}]
    return {"sample_id": name, "conversation": talk | change, "qa": qa, "event_summary": {}}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def save(*items: Any) -> Path:
        path = tmp_path / "locomo.json"
        path.write_text(json.dumps(list(items)), encoding="utf-8")
        return path

    return save


def needed(path: Path) -> list[str]:
    case = load_locomo(path).cases[0]
    return [t for t, f in zip(case.consolidation.texts, case.sealed.open().needed, strict=True) if f]


def test_both_speakers_are_persons_and_go_by_their_names(write: Write) -> None:
    case = load_locomo(write(conversation())).cases[0]
    assert set(case.consolidation.roles) == {"Ann", "Bob"}
    assert case.consolidation.person.all()
    assert (case.id, len(case)) == ("conv-1", 9)


def test_session_ten_comes_after_session_two(write: Write) -> None:
    case = load_locomo(write(conversation())).cases[0]
    assert case.consolidation.texts[0] == "said 1.1"
    assert case.consolidation.texts[-1] == "said 10.3"
    assert case.session_index.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_dates_are_read_with_noon_and_midnight_right(write: Write) -> None:
    times = (
        load_locomo(write(conversation(session_2_date_time="12:30 pm on 9 May, 2023"))).cases[0].consolidation
    )
    assert [str(t) for t in times.times[::3]] == [
        "2023-05-08T13:56:00",
        "2023-05-09T12:30:00",
        "2023-07-01T00:05:00",
    ]
    assert str(times.now) == "2023-07-01T00:05:00"


def test_sessions_are_sorted_by_date_and_ties_keep_their_order(write: Write) -> None:
    item = conversation(
        session_1_date_time="1:00 pm on 9 July, 2023", session_2_date_time="12:05 am on 1 July, 2023"
    )
    case = load_locomo(write(item)).cases[0]
    assert case.session_index.tolist()[::3] == [1, 2, 0]


@pytest.mark.parametrize(
    ("evidence", "expected", "lost"),
    [
        (["D1:1"], ["said 1.1"], 0),
        (["D1:3; D10:2"], ["said 1.3", "said 10.2"], 0),
        (["D2:1 D1:2 D2:3"], ["said 1.2", "said 2.1", "said 2.3"], 0),
        (["D1:1", "D:2:2"], ["said 1.1", "said 2.2"], 0),
        (["D1:1", "D02:03"], ["said 1.1", "said 2.3"], 0),
        (["D1:1", "D"], ["said 1.1"], 1),
        (["D1:1", ""], ["said 1.1"], 1),
        (["D1:1", "D1:4", "D3:1 D2:1"], ["said 1.1", "said 2.1"], 2),
        (["D1:1", "D1:1"], ["said 1.1"], 0),
    ],
)
def test_untidy_evidence_ids(write: Write, evidence: list[str], expected: list[str], lost: int) -> None:
    path = write(conversation("c", *evidence))
    assert needed(path) == expected
    assert load_locomo(path).skipped.get("evidence ids that name no turn", 0) == lost


def test_adversarial_questions_label_nothing(write: Write) -> None:
    item = conversation("c", "D1:1")
    item["qa"].append({"question": "?", "adversarial_answer": "x", "evidence": ["D1:2"], "category": 5})
    item["qa"].append({"question": "?", "answer": "x", "category": 2})  # and evidence may be absent
    assert needed(write(item)) == ["said 1.1"]


def test_conversations_without_evidence_are_skipped_and_counted(write: Write) -> None:
    path = write(
        conversation("a"), conversation("b", category=5), {"sample_id": "c", "conversation": {}, "qa": []}
    )
    data = load_locomo(path)
    assert [c.id for c in data] == ["a"]
    assert data.skipped == {"no evidence turn": 1, "no turns": 1}
    assert len(load_locomo(path, limit=1)) == 1


def test_no_evidence_anywhere_is_an_error(write: Write) -> None:
    with pytest.raises(DataError, match="no conversation with an evidence turn in categories 1 to 4"):
        load_locomo(write(conversation("b", category=5)))


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            conversation(session_2_date_time="2023-05-09"),
            "'conv-1': session_2_date_time is '2023-05-09', not a date",
        ),
        (conversation(session_2_date_time="1:56 pm on 31 June, 2023"), "not a date like"),
        (conversation(session_2_date_time="13:56 pm on 3 June, 2023"), "not a date like"),
        (conversation(session_2_date_time=None), "session_2_date_time is None"),
        (conversation(session_2="x"), "session_2 is a text, not a list"),
        (conversation(session_2=[{"speaker": "Ann", "dia_id": "D2:1"}]), "session_2, turn 0 lacks text"),
        (
            conversation(session_2=[{"speaker": "", "dia_id": "D2:1", "text": "x"}]),
            "turn 0: speaker is empty",
        ),
        (conversation(session_2=[{"speaker": "A", "dia_id": "D2:1", "text": 5}]), "text is a number"),
        (
            conversation(session_2=[{"speaker": "A", "dia_id": "2-1", "text": "x"}]),
            "dia_id is '2-1', not an id",
        ),
        (
            conversation(session_2=[{"speaker": "A", "dia_id": "D1:1", "text": "x"}]),
            "'D1:1' is given to two turns",
        ),
        (conversation("c", 7), "qa 0: evidence is a number"),
        (conversation("c", category="1"), "category is '1', not a whole number"),  # type: ignore[arg-type]
        ({"sample_id": "c", "qa": []}, "item 0 lacks conversation"),
        ({"question_id": "q", "haystack_sessions": []}, "use longmemeval:PATH"),
        ([], "item 0 is a list, not an object"),
    ],
)
def test_what_is_malformed_is_named_with_its_place(write: Write, item: Any, message: str) -> None:
    path = write(item)
    with pytest.raises(DataError, match=message) as caught:
        load_locomo(path)
    assert str(path) in str(caught.value)


def test_duplicate_conversation_ids_are_refused(write: Write) -> None:
    with pytest.raises(DataError, match="item 1: sample_id 'conv-1' is also that of item 0"):
        load_locomo(write(conversation(), conversation()))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        load_locomo(tmp_path / "none.json")


def test_the_real_file_has_its_known_shape(shared_data: Any) -> None:
    data = load(f"locomo:{shared_data.locomo()}")
    assert (len(data), data.memories) == (6, 3_581)
    assert data.skipped == {"evidence ids that name no turn": 2}  # 'D10:19' and 'D'
    gold = {c.id: int(c.sealed.open().needed.sum()) for c in data}
    assert gold == {
        "conv-26": 133,
        "conv-41": 128,
        "conv-42": 180,
        "conv-43": 168,
        "conv-48": 168,
        "conv-49": 186,
    }
    # "D8:6; D9:17" in the first conversation names two turns.
    first = data.cases[0]
    where = {
        (s + 1, t + 1): i for i, (s, t) in enumerate(zip(first.session_index, first.turn_index, strict=True))
    }
    assert first.sealed.open().needed[[where[8, 6], where[9, 17]]].all()
    assert all((np.diff(c.consolidation.times) >= np.timedelta64(0, "s")).all() for c in data)
