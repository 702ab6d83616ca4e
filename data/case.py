"""One consolidation moment with a sealed answer key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memvalue.data.consolidation import Consolidation


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """What turned out to be needed. Only fitting and evaluation may open it.

    Parameters
    ----------
    needed
        bool[n]; the memory was needed later.
    obsolete
        bool[n]; the memory had become false by the time of the question.
    announces
        bool[n]; the memory announces that another one has become false (Memora).
    source
        n provenance labels (``simulated``, ``sharegpt``, ``ultrachat``, or ``""`` when unknown); used only
        for source-controlled figures and the source probe.
    question
        The later question (benchmarks only), or None.
    """

    needed: NDArray[np.bool_]
    obsolete: NDArray[np.bool_] | None = None
    announces: NDArray[np.bool_] | None = None
    source: tuple[str, ...] | None = None
    question: str | None = None

    def labels(self) -> Iterator[bytes | None]:
        """Every label as bytes, for digests; None for a label that is unknown."""
        for column in (self.needed, self.obsolete, self.announces):
            yield None if column is None else np.ascontiguousarray(column, dtype=bool).tobytes()
        for text in (None if self.source is None else "|".join(self.source), self.question):
            yield None if text is None else text.encode("utf-8", "surrogatepass")


class SealedKey:
    """An answer key that has to be opened on purpose, and counts how often it was."""

    __slots__ = ("_key", "looks")

    def __init__(self, key: AnswerKey) -> None:
        self._key = key
        self.looks = 0

    def open(self) -> AnswerKey:
        """The key. Each call is counted in ``looks``."""
        self.looks += 1
        return self._key

    def __repr__(self) -> str:
        return f"SealedKey(looks={self.looks})"


@dataclass(frozen=True, slots=True)
class Case:
    """One consolidation moment: what a policy may see, and the sealed key.

    Parameters
    ----------
    id
        Unique within its data set; never seen by a policy.
    consolidation
        The blind view.
    sealed
        The answer key.
    kind
        The question type, or ``""``.
    factors
        float32[n, 7] in [0, 1] when the data brings its factors ready-made (the confound task, numbers-only
        tables), else None.
    session_index, turn_index
        int64[n]; where each memory stands in the *file* (position of the session in the file's list,
        position of the turn in that session), so that results can be joined to the raw data.
    """

    id: str
    consolidation: Consolidation
    sealed: SealedKey
    kind: str = ""
    factors: NDArray[np.float32] | None = None
    session_index: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    turn_index: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    def __len__(self) -> int:
        return len(self.consolidation)
