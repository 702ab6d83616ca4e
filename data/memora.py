"""Memora: one persona is one case, one turn is one memory, the user's turns that share a memory were needed.

The tree (Apache-2.0) has a folder a persona with ``conversations/session_NNNN.json``. Each session carries
one operation (add, update, delete or none) on one fact. The evaluation questions are not read: their evidence
names sessions, most of whose turns are small talk, and their ``forgetting_evidence`` names the session that
*announces* a deletion, not the one that stated what is now false.

What has become false is rebuilt from the operations. A deletion or update retracts every earlier statement
of exactly the same fact, and the memory-sharing turns of those sessions become ``obsolete``. So 335 of the
weekly horizon's 337 retracted facts are found. It is approximate all the same: a turn may state more than the
fact that was retracted, and one element of a document (an agenda item, say) is traced only to turns that
quote it verbatim.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from memvalue.data.case import AnswerKey, Case, SealedKey
from memvalue.data.check import as_bool, as_int, as_label, as_list, as_object, as_text
from memvalue.data.consolidation import Consolidation
from memvalue.data.dataset import Dataset
from memvalue.data.errors import DataError
from memvalue.data.files import existing_file, read_json

SPEAKERS = {"user_agent": "user", "ai_agent": "assistant"}
RETRACTIONS = frozenset({"update", "delete"})

_KEYS = ("session_id", "operation", "operation_details", "date", "conversation")


def load_memora(path: str | Path, *, spec: str | None = None, limit: int | None = None) -> Dataset:
    """Read every persona below the folder ``path``, in the order of their names.

    Sessions are sorted by date, then by number: dates have day precision. ``now`` is the day of the last
    session. ``obsolete`` memories are also ``needed`` when the user shared them; live memory is
    ``needed & ~obsolete``. ``announces`` marks the user's memory-sharing turns of update and delete sessions.

    Raises
    ------
    DataError
        Names the file, the turn and the remedy.
    """
    root = Path(path)
    if not os.path.exists(root):  # unlike Path.exists, also False for a name that is too long
        raise DataError(f"{root} does not exist; check the path of the Memora folder")
    if not root.is_dir():
        raise DataError(f"{root} is a file; name the Memora folder, which holds PERSONA/conversations/*.json")
    folders = sorted(p.parent for p in root.rglob("conversations") if p.is_dir())
    if not folders:
        raise DataError(f"{root} holds no PERSONA/conversations folder; name the folder of a Memora horizon")
    horizons = {f.parent for f in folders}
    cases: list[Case] = []
    skipped: dict[str, int] = {}
    for folder in folders:
        case_id = folder.name if len(horizons) == 1 else f"{folder.parent.name}/{folder.name}"
        case = _case(folder, as_label(case_id, str(folder), "the folder's name"))
        if isinstance(case, str):
            skipped[case] = skipped.get(case, 0) + 1
            continue
        cases.append(case)
        if limit is not None and len(cases) >= limit:
            break
    if not cases:
        raise DataError(
            f"no persona below {root} has a turn that shares a memory (share_memory: true by user_agent); "
            "fitting and judging need labelled turns"
        )
    return Dataset(spec or f"memora:{path}", "memora", cases, skipped)


class _Session:
    """One checked session file and its place in the file list."""

    def __init__(self, path: Path, index: int) -> None:
        raw = as_object(read_json(existing_file(path, "Memora session")), str(path), _KEYS)
        self.index = index
        self.where = str(path)
        self.number = as_int(raw["session_id"], self.where, "session_id")
        self.day = self._date(raw["date"])
        self.operation = raw["operation"]
        if self.operation is not None and not isinstance(self.operation, str):
            raise DataError(f"{self.where}: operation is {self.operation!r}, not a name or null")
        details = raw["operation_details"]
        self.details: dict[str, Any] = (
            {} if details is None else as_object(details, f"{path}: operation_details")
        )
        self.texts: list[str] = []
        self.roles: list[str] = []
        self.shares: list[bool] = []
        for t, turn in enumerate(as_list(raw["conversation"], self.where, "conversation")):
            where = f"{self.where}, turn {t}"
            turn = as_object(turn, where, ("speaker", "message"))
            role = SPEAKERS.get(as_label(turn["speaker"], where, "speaker"))
            if role is None:
                raise DataError(f"{where}: speaker is {turn['speaker']!r}, not one of {', '.join(SPEAKERS)}")
            self.texts.append(as_text(turn["message"], where, "message"))
            self.roles.append(role)
            self.shares.append(
                as_bool(turn.get("share_memory", False), where, "share_memory") and role == "user"
            )

    def _date(self, value: Any) -> date:
        try:
            return date.fromisoformat(value)
        except (TypeError, ValueError):
            raise DataError(f"{self.where}: date is {value!r}, not a day like '2025-06-01'") from None


def _case(folder: Path, case_id: str) -> Case | str:
    paths = sorted((folder / "conversations").glob("*.json"))
    sessions = [s for s in (_Session(p, i) for i, p in enumerate(paths)) if s.texts]
    numbers: dict[int, str] = {}
    for s in sessions:
        if s.number in numbers:
            raise DataError(f"{s.where}: session_id {s.number} is also that of {numbers[s.number]}; drop one")
        numbers[s.number] = s.where
    if not sessions:
        return "no turns"
    sessions.sort(key=lambda s: (s.day, s.number))
    needed = np.array([share for s in sessions for share in s.shares], dtype=bool)
    if not needed.any():
        return "no turn that shares a memory"
    lengths = [len(s.texts) for s in sessions]
    times = np.repeat(np.array([s.day for s in sessions], dtype="datetime64[s]"), lengths)
    turn_index = np.concatenate([np.arange(n, dtype=np.int64) for n in lengths])
    retracts = np.repeat([s.operation in RETRACTIONS for s in sessions], lengths)
    return Case(
        id=case_id,
        consolidation=Consolidation(
            texts=tuple(t for s in sessions for t in s.texts),
            roles=tuple(r for s in sessions for r in s.roles),
            sessions=np.repeat(np.arange(len(sessions), dtype=np.int64), lengths),
            positions=turn_index,
            times=times,
            now=times[-1],
        ),
        sealed=SealedKey(AnswerKey(needed=needed, obsolete=_obsolete(sessions), announces=needed & retracts)),
        session_index=np.repeat(np.array([s.index for s in sessions], dtype=np.int64), lengths),
        turn_index=turn_index,
    )


def _obsolete(sessions: list[_Session]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """bool[n]: the turn states what a later session retracts. ``sessions`` in time order."""
    starts = np.concatenate([[0], np.cumsum([len(s.texts) for s in sessions])])
    out = np.zeros(starts[-1], dtype=bool)
    stated: dict[
        str, list[tuple[int, str | None]]
    ] = {}  # fact → sessions that state it, with a quote to find
    for i, s in enumerate(sessions):
        if s.operation in RETRACTIONS:
            for fact in _retracted(s.details):
                for j, quote in stated.pop(fact, ()):
                    for t, (text, share) in enumerate(
                        zip(sessions[j].texts, sessions[j].shares, strict=True)
                    ):
                        if share and (quote is None or quote.casefold() in text.casefold()):
                            out[starts[j] + t] = True
        if s.operation in RETRACTIONS or s.operation == "add":
            for fact, quote in _stated(s.operation, s.details):
                stated.setdefault(fact, []).append((i, quote))
    return out


def _retracted(details: dict[str, Any]) -> Iterator[str]:
    """The facts that an update or delete session declares false."""
    if "subcategory" in details:  # a preference: the old item, or the same item with another attitude
        yield _fact(details["subcategory"], details.get("old_item", details.get("item")))
    elif isinstance(details.get("item"), dict):  # a task or an appointment
        yield _activity(details)
    else:  # elements of a document
        for change in _changes(details):
            for key in ("removed_item", "updated_from", "reverted_from"):
                if key in change:
                    yield _fact(details.get("item"), change.get("field"), change[key])


def _stated(operation: str, details: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """The facts that a session declares true, with the words to look for where a turn states only some."""
    if "subcategory" in details:
        if operation != "delete":
            yield _fact(details["subcategory"], details.get("item")), None
    elif isinstance(details.get("item"), dict):
        if operation != "delete":
            yield _activity(details), None
    elif operation == "add":
        content = details.get("content_data")
        for field, value in content.items() if isinstance(content, dict) else ():
            for element in value if isinstance(value, list) else [value]:
                yield _fact(details.get("item"), field, element), _quote(element)
    else:
        for change in _changes(details):
            for key in ("added_item", "updated_to", "reverted_to"):
                if key in change:
                    yield _fact(details.get("item"), change.get("field"), change[key]), _quote(change[key])


def _changes(details: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for key in ("memory_updates", "memory_deletes"):
        changes = details.get(key)
        yield from (c for c in (changes if isinstance(changes, list) else ()) if isinstance(c, dict))


def _activity(details: dict[str, Any]) -> str:
    # An appointment keeps its day of creation when it is moved; its own day and the day of change differ.
    item = {k: v for k, v in details["item"].items() if k not in ("date", "updated_at")}
    return _fact(details.get("category"), item)


def _quote(element: Any) -> str:
    return f"{element:,}" if isinstance(element, int) else str(element)


def _fact(*parts: Any) -> str:
    return json.dumps(parts, sort_keys=True)
