"""LongMemEval-S: one question is one case, one turn is one memory, evidence turns are what was needed.

The file (Wu et al., ICLR 2025, MIT licence) is a JSON list of questions, each with its own haystack of
dated sessions. What the labels leak through (session ids, the presence of ``has_answer``) stays out of the
:class:`~memvalue.data.consolidation.Consolidation`; the id's prefix alone goes into the sealed key, as each
turn's ``source``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from memvalue.data.case import AnswerKey, Case, SealedKey
from memvalue.data.check import as_bool, as_label, as_list, as_object, as_text
from memvalue.data.consolidation import Consolidation
from memvalue.data.dataset import Dataset
from memvalue.data.errors import DataError
from memvalue.data.files import existing_file, iter_json_list

#: Where the cleaned file lives on the hub, pinned to one revision so that a digest stays reproducible.
HUB_REPO = "xiaowu0162/longmemeval-cleaned"
HUB_FILE = "longmemeval_s_cleaned.json"
HUB_REVISION = "98d7416c24c778c2fee6e6f3006e7a073259d48f"

#: Session id prefix → source, after an ``answer_`` that marks evidence. Every other id is a session that the
#: benchmark's simulator wrote.
SOURCES = (("sharegpt_", "sharegpt"), ("ultrachat_", "ultrachat"))
SIMULATED = "simulated"

_DATE = re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})(?: \([^)]*\))? (\d{1,2}):(\d{2})")
_KEYS = (
    "question_id", "question_type", "question", "question_date",
    "haystack_dates", "haystack_session_ids", "haystack_sessions",
)  # fmt: skip


def load_longmemeval(path: str | Path, *, spec: str | None = None, limit: int | None = None) -> Dataset:
    """Read a LongMemEval-S file (205 MB in about three seconds and half a gigabyte).

    - Sessions are sorted by date, those of one minute in file order; the file's own order is kept in
      ``session_index``. An id is no key (13 haystacks hold one session twice), so places are used.
    - ``now`` is the question's date or the latest session's, whichever is later: about 76 questions are
      dated hours before sessions of the same day, evidence among them, and nothing is filtered.
    - Questions without evidence turns are skipped and counted; 21 of them ask for an abstention (``_abs``).

    Parameters
    ----------
    path
        The official JSON file.
    spec
        What the user asked for, kept in the data set; default ``longmemeval:PATH``.
    limit
        Stop after so many usable cases.

    Raises
    ------
    DataError
        Names the file, the question and the remedy.
    """
    path = existing_file(path, f"LongMemEval file, e.g. {HUB_FILE}")
    reader = _Reader(path)
    cases: list[Case] = []
    skipped: dict[str, int] = {}
    seen: dict[str, int] = {}
    count = 0
    for index, item in enumerate(iter_json_list(path, "LongMemEval questions")):
        count += 1
        case_id = reader.question_id(item, index)
        if case_id in seen:
            raise DataError(
                f"{path}: question id {case_id!r} is given to items {seen[case_id]} and {index}; "
                "ids must differ, so drop or rename one"
            )
        seen[case_id] = index
        case = reader.case(item, case_id, index)
        if isinstance(case, str):
            skipped[case] = skipped.get(case, 0) + 1
            continue
        cases.append(case)
        if limit is not None and len(cases) >= limit:
            break
    if not cases:
        raise DataError(
            f"{path} holds {count} questions, but none with an evidence turn (has_answer: true); fitting and "
            "judging need labelled turns, so use the official longmemeval_s_cleaned.json or label your own"
        )
    return Dataset(spec or f"longmemeval:{path}", "longmemeval", cases, skipped)


def fetch_longmemeval() -> Path:
    """The official file from the hub's local cache, or downloaded into it when online.

    ``HF_HUB_OFFLINE=1`` is honoured: then only the cache is asked.

    Raises
    ------
    DataError
        Names the flag for a local file and how to get one.
    """
    remedy = (
        f"pass a local copy instead: --data longmemeval:PATH. To get one, on a machine with a network: "
        f"hf download {HUB_REPO} {HUB_FILE} --repo-type dataset --local-dir ."
    )
    try:
        return Path(_download(offline=_offline()))
    except ImportError:
        raise DataError(
            f"fetching LongMemEval needs huggingface_hub (pip install 'memvalue[train]'), or {remedy}"
        ) from None
    except Exception as e:  # the hub client raises its own, its HTTP library's and the system's errors
        why = "HF_HUB_OFFLINE is set and the hub's cache has no copy" if _offline() else _summary(e)
        raise DataError(f"LongMemEval could not be fetched from the hub ({why}); {remedy}") from e


def _download(*, offline: bool) -> str:
    from huggingface_hub import constants, get_session, hf_hub_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:  # the revision is pinned, so a copy in the cache is the right one and needs no network
        return _hub_file(hf_hub_download, offline=True)
    except LocalEntryNotFoundError:
        if offline:
            raise
    # Without this the client retries for 24 s before it says that there is no network.
    get_session().head(constants.ENDPOINT, timeout=10)
    return _hub_file(hf_hub_download, offline=False)


def _hub_file(download: Callable[..., str], *, offline: bool) -> str:
    return download(HUB_REPO, HUB_FILE, repo_type="dataset", revision=HUB_REVISION, local_files_only=offline)


def _offline() -> bool:
    # The client reads the variable when it is imported; reading it here honours a later change too.
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}


def _summary(e: Exception) -> str:
    return f"{type(e).__name__}: {' '.join(str(e).split())[:200]}"


class _Reader:
    """Turns the questions of one file into cases; texts that recur are kept once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.pool: dict[str, str] = {}
        self.dates: dict[str, int] = {}
        self.roles: set[str] = set()

    def question_id(self, item: Any, index: int) -> str:
        where = f"{self.path}: item {index}"
        if isinstance(item, dict):
            if "question_id" in item:
                where += f" (question {item['question_id']!r})"
            elif "conversation" in item and "qa" in item:
                raise DataError(
                    f"{where} is a LoCoMo conversation, not a LongMemEval question; use locomo:PATH"
                )
        return as_label(as_object(item, where, _KEYS)["question_id"], where, "question_id")

    def case(self, item: dict[str, Any], case_id: str, index: int) -> Case | str:
        """The case, or why it cannot be used."""
        where = f"{self.path}: question {case_id!r} (item {index})"
        kind = as_label(item["question_type"], where, "question_type")
        question = as_text(item["question"], where, "question")
        asked = self._date(item["question_date"], where, "question_date")
        sessions = as_list(item["haystack_sessions"], where, "haystack_sessions")
        dates = as_list(item["haystack_dates"], where, "haystack_dates")
        ids = as_list(item["haystack_session_ids"], where, "haystack_session_ids")
        if not len(sessions) == len(dates) == len(ids):
            raise DataError(
                f"{where}: {len(sessions)} haystack_sessions, {len(dates)} haystack_dates and {len(ids)} "
                "haystack_session_ids; the three lists must run in parallel"
            )
        moments = [self._date(d, where, f"haystack_dates[{s}]") for s, d in enumerate(dates)]
        texts: list[str] = []
        roles: list[str] = []
        needed: list[bool] = []
        sources: list[str] = []
        order: list[int] = []
        for s in sorted(range(len(sessions)), key=moments.__getitem__):
            turns = as_list(sessions[s], where, f"haystack_sessions[{s}]")
            source = _source(as_text(ids[s], where, f"haystack_session_ids[{s}]"))
            if turns:
                order.append(s)
            for t, turn in enumerate(turns):
                text, role, answer = self._turn(turn, where, s, t)
                texts.append(text)
                roles.append(role)
                needed.append(answer)
                sources.append(source)
        if not texts:
            return "no turns"
        if not any(needed):
            return "no evidence turn (abstention)" if case_id.endswith("_abs") else "no evidence turn"

        lengths = [len(sessions[s]) for s in order]
        times = np.array([moments[s] for s in order], dtype=np.int64).astype("datetime64[s]")
        turn_index = np.concatenate([np.arange(n, dtype=np.int64) for n in lengths])
        return Case(
            id=case_id,
            consolidation=Consolidation(
                texts=tuple(texts),
                roles=tuple(roles),
                sessions=np.repeat(np.arange(len(order), dtype=np.int64), lengths),
                positions=turn_index,
                times=np.repeat(times, lengths),
                now=max(np.datetime64(asked, "s"), times[-1]),
            ),
            sealed=SealedKey(
                AnswerKey(needed=np.array(needed, dtype=bool), source=tuple(sources), question=question)
            ),
            kind=kind,
            session_index=np.repeat(np.array(order, dtype=np.int64), lengths),
            turn_index=turn_index,
        )

    def _turn(self, turn: Any, where: str, s: int, t: int) -> tuple[str, str, bool]:
        # The straight path first: this runs 200,000 times a file.
        if isinstance(turn, dict):
            text, role, answer = turn.get("content"), turn.get("role"), turn.get("has_answer", False)
            if (
                isinstance(text, str)
                and isinstance(answer, bool)
                and isinstance(role, str)
                and role in self.roles
            ):
                return self.pool.setdefault(text, text), self.pool[role], answer
        where = f"{where}, session {s}, turn {t}"
        turn = as_object(turn, where, ("role", "content"))
        text = as_text(turn["content"], where, "content")
        role = as_label(turn["role"], where, "role")
        self.roles.add(role)
        answer = as_bool(turn.get("has_answer", False), where, "has_answer")
        return self.pool.setdefault(text, text), self.pool.setdefault(role, role), answer

    def _date(self, value: Any, where: str, key: str) -> int:
        """Seconds since 1970 UTC. The weekday in brackets is not read: it would depend on the language."""
        if isinstance(value, str):
            if value in self.dates:
                return self.dates[value]
            if match := _DATE.fullmatch(value.strip()):
                try:
                    year, month, day, hour, minute = (int(g) for g in match.groups())
                    moment = datetime(year, month, day, hour, minute, tzinfo=UTC)
                except ValueError:
                    pass  # a 13th month or the like: reported below
                else:
                    self.dates[value] = int(moment.timestamp())
                    return self.dates[value]
        raise DataError(f"{where}: {key} is {value!r}, not a date like '2023/05/20 (Sat) 02:21'")


def _source(session_id: str) -> str:
    plain = session_id.removeprefix("answer_")
    return next((name for prefix, name in SOURCES if plain.startswith(prefix)), SIMULATED)
