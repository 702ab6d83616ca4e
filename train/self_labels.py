"""Labels from plain transcripts: a memory was needed when a later conversation reuses it.

How well that agrees with gold labels, and where it fails: SELF_LABELS.md, benchmarks/self_labels.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memvalue.data.case import AnswerKey, Case, SealedKey
from memvalue.data.consolidation import Consolidation
from memvalue.data.dataset import Dataset
from memvalue.data.errors import DataError, NoCases
from memvalue.data.memory import as_utc
from memvalue.train.reuse import Reuse

#: Share of the memories that count as needed: those that later conversations reuse most. On the development
#: half of LongMemEval 2, 3 and 5 % are the same within noise, 1 % and 10 % worse (SELF_LABELS.md).
SHARE = 0.05

#: Days after a consolidation in which reuse is watched. Longer is better: of the gold weights' gain all that
#: follows gives .98, a quarter of the transcript .94, a tenth .78. Four weeks leave a recalibration of a few
#: months some cases whose horizon is over before the held-out ones begin.
HORIZON_DAYS = 28.0

#: More consolidations than this are a mistake: ten years by the hour are 87,600.
MAX_CASES = 100_000

#: Reasons why a consolidation made no case; keys of ``Dataset.skipped``.
NO_MEMORY, NOT_REUSED, NOT_OVER = "no memories", "nothing reused in the horizon", "horizon not over"

Moment = datetime | np.datetime64

_SECOND = np.timedelta64(1, "s")


@dataclass(frozen=True, eq=False)
class SelfLabelled:
    """C cases of one transcript, in order of time.

    Parameters
    ----------
    dataset
        The cases, their keys sealed; ``skipped`` counts the consolidations that made none, and why.
    ends
        datetime64[s][C], UTC; up to when it was watched what each case needed.
    """

    dataset: Dataset
    ends: NDArray[np.datetime64]

    def __len__(self) -> int:
        """C."""
        return len(self.dataset)


def self_labels(
    transcript: Consolidation,
    cut: Moment,
    *,
    end: Moment | None = None,
    share: float = SHARE,
    language: str = "en",
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """What of the memories up to ``cut`` later conversations reuse.

    Parameters
    ----------
    transcript
        All that was said.
    cut
        The moment of consolidation; the n memories up to it are labelled.
    end
        The last moment that counts; all that follows the cut when None.
    share
        Share of the memories, in (0, 1], that count as needed, as far as they are reused at all: a transcript
        in which nothing comes back has no needed memory.
    language
        Folder of lexicons, as for the factors.

    Returns
    -------
    score
        float64[n] in [0, 1]; the largest agreement with one later turn of a person in a conversation that
        began after the cut, beyond chance and topic (:class:`~memvalue.train.reuse.Reuse`). 0 for machines.
    needed
        bool[n]; the highest ``share`` of the scores, and all that tie with the last of them.

    Raises
    ------
    DataError
        For a share out of range, a time without a time zone, or an end that lies before the cut.
    """
    _check_share(share)
    at = _moment(cut, "cut")
    until = transcript.now if end is None else _moment(end, "end")
    if end is not None and until < at:
        raise DataError(f"end ({until}) lies before the cut ({at}); reuse is watched after the cut")
    n, stop = _rows(transcript, at), _rows(transcript, max(until, at)) if end is not None else len(transcript)
    score = Reuse(transcript, language).best(n, stop)
    return score, _highest(score, share)


def self_labelled_cases(
    transcript: Consolidation,
    *,
    every_days: float = 7.0,
    horizon_days: float | None = HORIZON_DAYS,
    cuts: Sequence[Moment] | None = None,
    share: float = SHARE,
    language: str = "en",
    name: str = "transcript",
) -> SelfLabelled:
    """Consolidations at times t₁ < t₂ < …, each with the memories up to then and what was reused after it.

    A case shows nothing that was said after its time, so its factors cannot depend on it; its label depends
    on nothing that was said after its end.

    Parameters
    ----------
    transcript
        All that was said.
    every_days
        Between two consolidations; the first is that long after the first memory.
    horizon_days
        Days after a consolidation in which reuse is watched, or None for all that follows. Consolidations
        whose horizon is not over when the transcript ends are left out and counted.
    cuts
        Moments of consolidation in place of regular ones, in order.
    share, language
        As for :func:`self_labels`.
    name
        Begins the cases' ids.

    Raises
    ------
    NoCases
        For a transcript that makes no case; it says why and what to change.
    DataError
        For numbers out of range.
    """
    _check_share(share)
    if not len(transcript):
        raise DataError("the transcript is empty; there is nothing to label")
    horizon = None if horizon_days is None else _span(horizon_days, "horizon_days")
    times, last = transcript.times, transcript.times[-1]
    reuse = Reuse(transcript, language)
    cases: list[Case] = []
    ends: list[np.datetime64] = []
    skipped: dict[str, int] = {}
    for at in _regular(times[0], last, every_days) if cuts is None else _given(cuts):
        n = _rows(transcript, at)
        end = max(last, at) if horizon is None else at + horizon
        why = NO_MEMORY if not n else NOT_OVER if end > max(last, at) else ""
        needed = np.zeros(0, dtype=bool)
        if not why:
            needed = _highest(reuse.best(n, _rows(transcript, end)), share)
            why = "" if needed.any() else NOT_REUSED
        if why:
            skipped[why] = skipped.get(why, 0) + 1
            continue
        key = SealedKey(AnswerKey(needed=needed))
        cases.append(Case(f"{name}@{at}Z", up_to(transcript, at), key, kind="reused"))
        ends.append(end)
    if not cases:
        counted = ", ".join(f"{count} {why}" for why, count in skipped.items())
        raise NoCases(
            f"the transcript of {len(transcript)} turns in {len(np.unique(transcript.sessions))} "
            f"conversations from {times[0]}Z to {last}Z makes no case "
            f"({counted or 'it ends before the first consolidation'}); it needs "
            "conversations after a consolidation that come back to earlier ones: give a longer transcript, a "
            "smaller every_days or a smaller horizon_days"
        )
    return SelfLabelled(Dataset(name, "transcript", cases, skipped), np.array(ends, dtype="datetime64[s]"))


def up_to(transcript: Consolidation, at: Moment) -> Consolidation:
    """The transcript as it was at a moment, which becomes ``now``."""
    moment = _moment(at, "at")
    n = _rows(transcript, moment)
    return replace(
        transcript,
        texts=transcript.texts[:n],
        roles=transcript.roles[:n],
        sessions=transcript.sessions[:n].copy(),
        positions=transcript.positions[:n].copy(),
        times=transcript.times[:n].copy(),
        now=moment,
        events=tuple(e for e in transcript.events if e.memory < n and _moment(e.time, "event") <= moment),
        trust=None if transcript.trust is None else transcript.trust[:n].copy(),
        pinned=None if transcript.pinned is None else transcript.pinned[:n].copy(),
    )


def _rows(transcript: Consolidation, at: np.datetime64) -> int:
    """How many memories there were at a moment."""
    return int(np.searchsorted(transcript.times, at, side="right"))


def _highest(score: NDArray[np.float64], share: float) -> NDArray[np.bool_]:
    """bool[n]; the highest share of the scores above 0, at least one where there is any."""
    n = len(score)
    if not n:
        return np.zeros(0, dtype=bool)
    count = max(1, int(share * n + 1e-9))
    return np.asarray((score > 0.0) & (score >= np.partition(score, n - count)[n - count]))


def _moment(value: Moment, what: str) -> np.datetime64:
    if isinstance(value, np.datetime64):
        seconds: np.datetime64 = value.astype("datetime64[s]")
        return seconds
    try:
        return np.datetime64(as_utc(value, what).replace(tzinfo=None), "s")
    except ValueError as e:
        raise DataError(str(e)) from None


def _given(cuts: Sequence[Moment]) -> list[np.datetime64]:
    moments = [_moment(cut, f"cuts[{i}]") for i, cut in enumerate(cuts)]
    for i in range(1, len(moments)):
        if moments[i] <= moments[i - 1]:
            raise DataError(f"cuts[{i}] ({moments[i]}) does not lie after the one before; put them in order")
    return moments


def _regular(first: np.datetime64, last: np.datetime64, every_days: float) -> list[np.datetime64]:
    """Moments every so often after the first memory, up to the last."""
    step = _span(every_days, "every_days")
    count = int((last - first) // step)
    if count > MAX_CASES:
        raise DataError(
            f"every_days={every_days:g} makes {count} consolidations between {first}Z and {last}Z, more than "
            f"{MAX_CASES}; choose a longer step, or check the transcript's times"
        )
    return [first + step * k for k in range(1, count + 1)]


def _span(days: float, what: str) -> np.timedelta64:
    if not (np.isfinite(days) and 0 < days <= 36_500):
        raise DataError(f"{what} is {days!r}; give days, more than 0 and at most 36,500")
    return max(1, round(days * 86_400)) * _SECOND


def _check_share(share: float) -> None:
    if not 0.0 < share <= 1.0:
        raise DataError(f"share is {share!r}; give a share in (0, 1], such as {SHARE}")
