"""Recall: fuse what several searches found, and nudge it by what the log knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from memvalue.serve.history.states import States
from memvalue.serve.rank import RRF_K, Ranking, fuse, rank
from memvalue.serve.signals import harm_strength, use_strength, value_signal


@dataclass(frozen=True)
class Recall:
    """What to answer from.

    Parameters
    ----------
    memories
        Ids, best first.
    ranking
        Scores and signals of all candidates, in the order of ``candidates``.
    candidates
        Ids, in the order in which the lists named them.
    """

    memories: tuple[str, ...]
    ranking: Ranking
    candidates: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.memories)

    def explain(self) -> Iterator[dict[str, Any]]:
        """:meth:`Ranking.explain`, with the id of each memory."""
        for place in self.ranking.explain():
            yield {"memory": self.candidates[place["row"]], **place}


def recall(
    lists: Sequence[Sequence[str]],
    states: States,
    now: datetime | float,
    *,
    top: int | None = None,
    k: int = RRF_K,
    value: bool = True,
) -> Recall:
    """Fuse ranked lists of memory ids and nudge them by use, harm and value.

    Parameters
    ----------
    lists
        Any number of lists, best first: of an embedding search, a lexical one, a graph.
    states
        What the log comes to, up to ``now``; memories without events are neutral. Forgotten ones are left
        out.
    now
        The moment.
    top
        Only so many places; default all.
    k
        See :func:`~memvalue.serve.rank.fuse`.
    value
        Nudge by the importance that the log tells; without, by use and harm alone.

    Raises
    ------
    ValueError
        For a candidate twice in one list, or an event after ``now``.
    """
    names, relevance = fuse(lists, k=k)
    known = [i for i, name in enumerate(names) if name in states]
    rows = states.rows([names[i] for i in known])
    gone = set(np.array(known, dtype=np.int64)[states.forgotten(rows)].tolist())
    if gone:
        left = [i for i in range(len(names)) if i not in gone]
        names, relevance = [names[i] for i in left], relevance[left]
        known = [i for i, name in enumerate(names) if name in states]
        rows = states.rows([names[i] for i in known])
    use, harm, values = np.zeros(len(names)), np.zeros(len(names)), np.full(len(names), 0.5)
    if known:
        use[known] = use_strength(states, now, rows)
        harm[known] = harm_strength(states, now, rows)
        if value:
            values[known] = value_signal(states, rows)
    found = rank(relevance, values=values, use_strength=use, harm=harm, top=top)
    return Recall(tuple(names[i] for i in found.order.tolist()), found, tuple(names))
