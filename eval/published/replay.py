"""A history for stores that keep none: what a person takes up again was recalled.

LongMemEval and Memora log no event, so a formula over uses can only rank by age there. A replay makes up the
log that an assistant would have kept: when a person's turn shares rare words with an earlier turn of another
conversation, the earlier one was recalled at that moment, and is entered as ``opened``.

It is blind, and looks back only: which words are rare is judged at the moment of the later turn, by the
conversations before it, and no label, question or later turn is read. Words weigh as in
``features.recurrence``, from where the idea is; there the largest overlap is a factor, here each overlap from
:data:`RECALL` on is an event. One conversation recalls a memory once.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from memvalue.data import Consolidation, Event
from memvalue.features.recurrence_past import RARE
from memvalue.features.scan import scan

#: Overlap, in rare words, from which a turn recalls another. Two: one rare word is met by chance in a long
#: history. Set beforehand, not fitted.
RECALL = 2.0


def replayed_events(consolidation: Consolidation) -> tuple[Event, ...]:
    """The recalls within one store, in time order; what its own log holds is not among them."""
    earlier, later = recalls(consolidation)
    start = datetime(1970, 1, 1, tzinfo=UTC)
    seconds = consolidation.times.astype("datetime64[s]").astype(np.int64)[later]
    return tuple(
        Event("opened", memory, start + timedelta(seconds=time), actor="replay")
        for memory, time in zip(earlier.tolist(), seconds.tolist(), strict=True)
    )


def recalls(consolidation: Consolidation) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """int64[k], int64[k]; rows of memories that were recalled and of the turns that did, by the turn."""
    n = len(consolidation)
    found = scan(consolidation.texts)
    heard = consolidation.person[found.word_text]
    _, words = np.unique(found.word_hash[heard], return_inverse=True)
    keys = np.unique(words.reshape(-1) * n + found.word_text[heard])  # distinct (word, memory), in time order
    word, memory = np.divmod(keys, n) if n else (keys, keys)
    session = consolidation.sessions[memory]
    group = _run_starts(np.append(True, word[1:] != word[:-1]) if len(keys) else np.zeros(0, bool))
    fresh = np.append(True, (word[1:] != word[:-1]) | (session[1:] != session[:-1]))[: len(keys)]
    run = _run_starts(fresh)  # where this conversation's memories with the word begin
    before = np.cumsum(fresh)[run] - np.cumsum(fresh)[group]  # conversations that used the word earlier
    rows = np.flatnonzero((before >= 1) & (before <= RARE))
    size = run[rows] - group[rows]
    later = np.repeat(rows, size)
    earlier = (
        np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size) + np.repeat(group[rows], size)
    )
    past = np.unique(consolidation.sessions, return_inverse=True)[1].reshape(-1)[memory[later]]
    weight = np.clip(np.log((past + 1.0) / (before[later] + 0.5)) / np.log(past + 1.0), 0.0, 1.0)
    pair, which = np.unique(memory[earlier] * n + memory[later], return_inverse=True)
    overlap = np.bincount(which.reshape(-1), weights=weight, minlength=len(pair))
    recalled, by = np.divmod(pair[overlap >= RECALL], max(n, 1))
    # One recall a conversation: the first turn of it that does.
    _, first = np.unique(recalled * (n + 1) + consolidation.sessions[by], return_index=True)
    recalled, by = recalled[first], by[first]
    order = np.lexsort((recalled, by))
    return recalled[order], by[order]


def _run_starts(begins: NDArray[np.bool_]) -> NDArray[np.int64]:
    """int64[m]; where the run of each element begins."""
    return np.maximum.accumulate(np.where(begins, np.arange(len(begins)), 0))
