"""LoCoMo: one conversation is one case, one turn is one memory, evidence turns of its questions were needed.

The file (CC BY-NC 4.0, research use, never shipped) is a JSON list of conversations between two named people,
neither of them an assistant. Only what was said is a memory; a machine's captions of shared photos are not.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from memvalue.data.case import AnswerKey, Case, SealedKey
from memvalue.data.check import as_int, as_label, as_list, as_object, as_text
from memvalue.data.consolidation import Consolidation
from memvalue.data.dataset import Dataset
from memvalue.data.errors import DataError
from memvalue.data.files import existing_file, iter_json_list

#: Questions of this category cannot be answered; their "evidence" is a lure (data/README, category 5).
ADVERSARIAL = 5

UNRESOLVED = "evidence ids that name no turn"

_SESSION = re.compile(r"session_(\d+)")
#: One string may hold several ids ("D8:6; D9:17"), a stray colon ("D:11:26") or leading zeros ("D30:05").
_ID = re.compile(r"D:?(\d{1,9}):(\d{1,9})")
_DATE = re.compile(r"(\d{1,2}):(\d{2}) ?([ap])m on (\d{1,2}) ([a-z]+),? (\d{4})")
_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip


def load_locomo(path: str | Path, *, spec: str | None = None, limit: int | None = None) -> Dataset:
    """Read a LoCoMo file; a turn is needed when a question of categories 1 to 4 lists it as evidence.

    Sessions are sorted by date (stable). ``now`` is the last session's date: the questions have none.
    Evidence ids that name no turn are left out and counted in ``skipped``.

    Raises
    ------
    DataError
        Names the file, the conversation and the remedy.
    """
    path = existing_file(path, "LoCoMo file, e.g. locomo10.json")
    cases: list[Case] = []
    skipped: dict[str, int] = {}
    seen: dict[str, int] = {}
    for index, item in enumerate(iter_json_list(path, "LoCoMo conversations")):
        where = f"{path}: item {index}"
        if isinstance(item, dict) and "haystack_sessions" in item:
            raise DataError(
                f"{where} is a LongMemEval question, not a LoCoMo conversation; use longmemeval:PATH"
            )
        item = as_object(item, where, ("sample_id", "conversation", "qa"))
        case_id = as_label(item["sample_id"], where, "sample_id")
        if case_id in seen:
            raise DataError(
                f"{where}: sample_id {case_id!r} is also that of item {seen[case_id]}; rename one"
            )
        seen[case_id] = index
        case = _case(item, case_id, f"{path}: conversation {case_id!r}", skipped)
        if case is None:
            continue
        cases.append(case)
        if limit is not None and len(cases) >= limit:
            break
    if not cases:
        raise DataError(
            f"{path} holds no conversation with an evidence turn in categories 1 to 4; fitting and judging "
            "need labelled turns"
        )
    return Dataset(spec or f"locomo:{path}", "locomo", cases, skipped)


def _case(item: dict[str, Any], case_id: str, where: str, skipped: dict[str, int]) -> Case | None:
    conversation = as_object(item["conversation"], f"{where}: conversation")
    # "session_10" sorts after "session_9"; dates of sessions that do not exist are ignored.
    keys = sorted((int(m[1]), k) for k in conversation if (m := _SESSION.fullmatch(k)))
    sessions: list[tuple[datetime, int, list[dict[str, Any]]]] = []
    for index, (_, key) in enumerate(keys):
        if turns := as_list(conversation[key], where, key):
            moment = _date(conversation.get(f"{key}_date_time"), where, f"{key}_date_time")
            checked = [
                as_object(t, f"{where}, {key}, turn {i}", ("speaker", "dia_id", "text"))
                for i, t in enumerate(turns)
            ]
            sessions.append((moment, index, checked))
    if not sessions:
        skipped["no turns"] = skipped.get("no turns", 0) + 1
        return None
    sessions.sort(key=lambda s: s[0])

    rows = [(s, t, turn) for _, s, turns in sessions for t, turn in enumerate(turns)]
    place: dict[tuple[int, int], int] = {}
    texts, roles = [], []
    for row, (s, t, turn) in enumerate(rows):
        here = f"{where}, {keys[s][1]}, turn {t}"
        texts.append(as_text(turn["text"], here, "text"))
        roles.append(as_label(turn["speaker"], here, "speaker"))
        if not (match := _ID.fullmatch(as_label(turn["dia_id"], here, "dia_id"))):
            raise DataError(f"{here}: dia_id is {turn['dia_id']!r}, not an id like 'D1:3'")
        if place.setdefault((int(match[1]), int(match[2])), row) != row:
            raise DataError(
                f"{here}: dia_id {turn['dia_id']!r} is given to two turns; evidence would be ambiguous"
            )

    needed = np.zeros(len(rows), dtype=bool)
    for q, question in enumerate(as_list(item["qa"], where, "qa")):
        question = as_object(question, f"{where}, qa {q}", ("category",))
        if as_int(question["category"], f"{where}, qa {q}", "category") == ADVERSARIAL:
            continue
        for entry in as_list(question.get("evidence") or [], f"{where}, qa {q}", "evidence"):
            found = _ID.findall(as_text(entry, f"{where}, qa {q}", "evidence"))
            hits = [place.get((int(a), int(b))) for a, b in found]
            for hit in hits:
                if hit is not None:
                    needed[hit] = True
            lost = hits.count(None) if found else 1
            if lost:
                skipped[UNRESOLVED] = skipped.get(UNRESOLVED, 0) + lost
    if not needed.any():
        skipped["no evidence turn"] = skipped.get("no evidence turn", 0) + 1
        return None

    lengths = [len(turns) for _, _, turns in sessions]
    moments = np.array([m.replace(tzinfo=None) for m, _, _ in sessions], dtype="datetime64[s]")
    turn_index = np.array([t for _, t, _ in rows], dtype=np.int64)
    return Case(
        id=case_id,
        consolidation=Consolidation(
            texts=tuple(texts),
            roles=tuple(roles),
            sessions=np.repeat(np.arange(len(sessions), dtype=np.int64), lengths),
            positions=turn_index,
            times=np.repeat(moments, lengths),
            now=moments[-1],
        ),
        sealed=SealedKey(AnswerKey(needed=needed)),
        session_index=np.array([s for s, _, _ in rows], dtype=np.int64),
        turn_index=turn_index,
    )


def _date(value: Any, where: str, key: str) -> datetime:
    """The moment, taken as UTC. Month names are matched here, not by the machine's language."""
    if isinstance(value, str) and (match := _DATE.fullmatch(value.strip().lower())):
        hour, minute, half, day, month, year = match.groups()
        if month in _MONTHS and 1 <= int(hour) <= 12:
            try:
                hours = int(hour) % 12 + (12 if half == "p" else 0)
                return datetime(int(year), _MONTHS.index(month) + 1, int(day), hours, int(minute), tzinfo=UTC)
            except ValueError:
                pass  # a 31st of June or the like: reported below
    raise DataError(f"{where}: {key} is {value!r}, not a date like '1:56 pm on 8 May, 2023'")
