"""Rehearsal without embeddings: rare words that come up again in another conversation.

What comes up again, spaced, is needed again (Anderson & Schooler 1991, need probability; Bjork & Bjork 1992).
Two measures, both in units of *rare words* so that they do not depend on the size of the store. A word w that
a person used in df(w) of S conversations weighs

    ω(w) = log((S + 1) / (df(w) + 1/2)) / log(S + 1),   cut to [0, 1]

- overlap of memory i: the largest Σ ω(w) over the words it shares with one memory of another conversation;
- topic of a conversation: the largest Σ ω² over the words it shares with one other conversation, divided by
  the Σ ω² of its own words plus `TOPIC_PRIOR`.

Only persons' words count, and only words used in at most `RARE` conversations are matched. ``batch`` looks at
all conversations; ``online`` at earlier ones only, with the weights of that moment, so that a stream can do
the same. Where a conversation uses a word in more than `MATES` memories, others are matched with the first of
these.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from memvalue.features.recurrence_past import MATES, MAX_MATES, MAX_WORDS, RARE, Met, RecurrencePast

#: Rare words added to a conversation's own before dividing, so that a short one is not all topic.
#: 20 of them do as well as the cosine (AUC .80 each), which a stream could not keep up to date.
TOPIC_PRIOR = 20.0

#: Sums go into a dense table of up to this many cells; where it would be larger they are found by sorting.
_DENSE_CELLS = 1 << 22

#: Pairs of memories looked at together; bounds the working memory to some 300 MB for any store, unless one
#: memory alone has more.
_PAIRS = 1 << 22

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


def recurrence(
    word_hash: NDArray[np.uint64],
    owner: _Ints,
    sessions: _Ints,
    person: NDArray[np.bool_],
    *,
    online: bool = False,
    past: RecurrencePast | None = None,
) -> tuple[_Floats, _Floats]:
    """Overlap and topic of n memories.

    Parameters
    ----------
    word_hash
        uint64[m]; the words of all memories in reading order.
    owner
        int64[m]; the memory of each word, never decreasing.
    sessions
        int64[n]; the conversation of each memory, never decreasing; the numbers themselves mean nothing.
    person
        bool[n]; True where a person spoke. Others have overlap 0 and their conversation's topic.
    online
        Look only at earlier conversations, and for the topic only at the person's words so far.
    past
        Online: what came before these memories, which are taken up into it. A first memory of ``past``'s
        current session goes on with it.

    Returns
    -------
    overlap
        float64[n], 0 or more; in rare words.
    topic
        float64[n] in [0, 1).
    """
    if past is None and (not len(sessions) or sessions[0] == sessions[-1]):
        return np.zeros(len(sessions)), np.zeros(len(sessions))  # there is no other conversation
    heard = person[owner]
    if past is None:
        if not online or int(heard.sum()) <= min(MAX_WORDS, MAX_MATES):
            if not heard.all():  # else the copies would be as large as the words
                word_hash, owner = word_hash[heard], owner[heard]
            return _recurrence(word_hash, owner, sessions, online=online)
        past = RecurrencePast()  # so long a history has to be seen in parts, as a stream would
    n = len(sessions)
    overlap, topic = np.zeros(n), np.zeros(n)
    word_hash, owner = word_hash[heard], owner[heard]
    words = np.bincount(owner, minlength=n)
    for part in past.parts(sessions, words):
        here = slice(*np.searchsorted(owner, (part.start, part.stop)).tolist())
        overlap[part], topic[part] = _recurrence(
            word_hash[here], owner[here] - part.start, sessions[part], online=True, past=past
        )
        past.trim()
    return overlap, topic


def _recurrence(
    word_hash: NDArray[np.uint64],
    owner: _Ints,
    sessions: _Ints,
    *,
    online: bool,
    past: RecurrencePast | None = None,
) -> tuple[_Floats, _Floats]:
    """As `recurrence`, of persons' words only, and of one part where there is a past."""
    n = len(sessions)
    if past is None and not len(owner):
        return np.zeros(n), np.zeros(n)
    new = _starts(sessions)
    numbers, sessions = sessions[new], _ranks(sessions)
    count = len(numbers)
    # A stable sort by word leaves each word's memories in time order; then distinct (word, memory) pairs.
    order = np.argsort(word_hash, kind="stable")
    word_hash, owner = word_hash[order], owner[order]
    word = _ranks(word_hash)
    distinct = _starts(word * n + owner)
    word, memory = word[distinct], owner[distinct]
    # Distinct (word, conversation) pairs; `head` is the first memory of the conversation with that word.
    heads = _starts(word * count + sessions[memory])
    s_word, s_session, s_head = word[heads], sessions[memory[heads]], memory[heads]
    position = np.repeat(np.arange(len(heads)), np.diff(np.append(heads, len(word))))
    # Conversations before this one in which the word was used, and in all of them.
    group = _Groups(s_word)
    met, said, base = None, np.zeros(len(heads), dtype=bool), 0
    if past is not None:
        base = past.sessions
        if int(numbers[0]) == past.session:
            base -= 1
        else:
            past.close()
        hashes = word_hash[_starts(word_hash)]
        met = past.meet(hashes)
        said = met.said[s_word]
    if online:
        s_df, s_total = np.arange(len(s_word)) - group.first, s_session + base
        if met is not None:
            s_df = s_df + met.df[s_word]
    else:
        s_df, s_total = group.size, np.full(len(s_word), count)
    s_weight = _weight(s_df, s_total)
    s_match = (s_df >= 1 if online else s_df >= 2) & (s_df <= RARE)

    overlap = np.zeros(n)
    rows = np.flatnonzero(s_match[position])
    if count > 1:
        overlap = _overlap(word, memory, sessions, heads[position], s_weight[position], rows, online=online)
    if met is not None and len(met.mate):
        before = _largest_shared(
            memory[rows], s_weight[position[rows]], *_spans(met.mate_word, word[rows]), _ranked(met.mate), n
        )
        np.maximum(overlap, before, out=overlap)
    if not online:
        return overlap, _topic_batch(group, s_session, s_weight, s_match, count)[sessions]
    topic = _Topic(base, past)
    found = topic.online(group, s_word, s_session, s_head, s_weight, s_match, ~said, sessions, met)
    if past is not None:
        past.record(hashes, word, memory, sessions, numbers)
        past.own, past.shared_with, past.shared = topic.own, topic.shared_with, topic.shared
    return overlap, found


def _weight(df: _Ints, total: _Ints) -> _Floats:
    """ω of words used in df of ``total`` conversations (online: of the earlier ones, perhaps of none)."""
    total = np.maximum(total, 1)
    return np.asarray(np.clip(np.log((total + 1.0) / (df + 0.5)) / np.log(total + 1.0), 0.0, 1.0))


def _overlap(
    word: _Ints,
    memory: _Ints,
    sessions: _Ints,
    head: _Ints,
    weight: _Floats,
    rows: _Ints,
    *,
    online: bool,
) -> _Floats:
    """float64[n]; the largest shared weight with one memory of another (online: earlier) conversation.

    ``word``, ``memory``, ``head`` and ``weight`` are of the (word, memory) pairs, ``rows`` those to match.
    """
    mates = np.flatnonzero(np.arange(len(word)) - head < MATES)
    first, size = _spans(word[mates], word[rows])

    def other(a: _Ints, b: _Ints) -> NDArray[np.bool_]:
        mine, theirs = sessions[a], sessions[b]
        return theirs < mine if online else theirs != mine

    return _largest_shared(memory[rows], weight[rows], first, size, memory[mates], len(sessions), other)


def _largest_shared(
    memory: _Ints,
    weight: _Floats,
    first: _Ints,
    size: _Ints,
    mate: _Ints,
    n: int,
    allowed: Callable[[_Ints, _Ints], NDArray[np.bool_]] | None = None,
) -> _Floats:
    """float64[n]; for each memory the largest weight shared with one mate.

    Row r says that ``memory[r]`` shares a word of ``weight[r]`` with each of ``mate[first[r]:][:size[r]]``,
    as far as ``allowed``. Rows are sorted by word.
    """
    out = np.zeros(n)
    if int(size.sum()) > _PAIRS:
        by = np.argsort(memory, kind="stable")  # a memory's rows side by side, words in order
        memory, weight, first, size = memory[by], weight[by], first[by], size[by]
    columns = int(mate.max(initial=-1)) + 1
    for part in _parts(memory, size):
        left, right = _expand(first[part], size[part])
        a, b, w = memory[part][left], mate[right], weight[part][left]
        if allowed is not None:
            pairs = np.flatnonzero(allowed(a, b))
            a, b, w = a[pairs], b[pairs], w[pairs]
        if len(a):
            low = int(a.min())
            largest = _largest_sum(a - low, b, w, int(a.max()) - low + 1, columns)
            np.maximum(out[low : low + len(largest)], largest, out=out[low : low + len(largest)])
    return out


def _parts(memory: _Ints, pairs: _Ints) -> list[slice]:
    """Runs of rows with at most `_PAIRS` pairs (or one memory's rows); all as one when there are no more."""
    ends = np.cumsum(pairs)
    if not len(ends) or ends[-1] <= _PAIRS:
        return [slice(0, len(ends))]
    starts = _starts(memory)
    before = np.append(0, ends)[np.append(starts, len(memory))]  # pairs before each memory, and of all
    out, first = [], 0
    while first < len(starts):
        last = max(int(np.searchsorted(before, before[first] + _PAIRS, side="right")) - 1, first + 1)
        out.append(slice(int(starts[first]), int(starts[last]) if last < len(starts) else len(memory)))
        first = last
    return out


def _topic_batch(
    group: _Groups, session: _Ints, weight: _Floats, match: NDArray[np.bool_], count: int
) -> _Floats:
    """float64[count]; shared weight with the most similar other conversation, as a share of one's own."""
    rows = np.flatnonzero(match)
    left, right = group.members(rows)
    a, b, w = session[rows][left], session[right], weight[rows][left] ** 2
    other = a != b
    shared = _largest_sum(a[other], b[other], w[other], count, count)
    own = np.bincount(session, weights=weight**2, minlength=count)
    return shared / (own + TOPIC_PRIOR)


class _Topic:
    """The topic of the conversation so far, and what it needs to go on with it.

    ``base`` conversations came before those of the part.
    """

    def __init__(self, base: int, past: RecurrencePast | None) -> None:
        self.base = base
        self.own = 0.0 if past is None else past.own
        self.shared_with = np.zeros(0, dtype=np.int64) if past is None else past.shared_with
        self.shared = np.zeros(0) if past is None else past.shared

    def online(
        self,
        group: _Groups,
        word: _Ints,
        session: _Ints,
        head: _Ints,
        weight: _Floats,
        match: NDArray[np.bool_],
        fresh: NDArray[np.bool_],
        sessions: _Ints,
        met: Met | None,
    ) -> _Floats:
        """float64[n]; as `_topic_batch`, with the conversation so far against each earlier one.

        ``fresh`` are the (word, conversation) pairs that the past has not counted yet.
        """
        n = len(sessions)
        out = np.zeros(n)
        rows = np.flatnonzero(match & fresh)
        # Earlier conversations with the word are the rows of its group before this one.
        left, right = _expand(group.first[rows], rows - group.first[rows])
        at, other, w = head[rows][left], session[right] + self.base, weight[rows][left] ** 2
        if met is not None:
            left, right = _expand(*_spans(met.session_word, word[rows]))
            at = np.concatenate([at, head[rows][left]])
            other = np.concatenate([other, met.session[right]])
            w = np.concatenate([w, weight[rows][left] ** 2])
        order = np.argsort(at, kind="stable")  # words stay in order, which fixes the order of every sum
        at, other, w = at[order], other[order], w[order]
        own = np.bincount(head[fresh], weights=weight[fresh] ** 2, minlength=n).astype(np.float64)
        bounds = np.append(_starts(sessions), n)
        cuts = np.searchsorted(at, bounds).tolist()
        for k, (lo, hi) in enumerate(pairwise(bounds.tolist())):
            if k:
                self.own, self.shared_with, self.shared = 0.0, self.shared_with[:0], self.shared[:0]
            own[lo] += self.own
            total = np.cumsum(own[lo:hi])
            self.own = float(total[-1])
            events = slice(cuts[k], cuts[k + 1])
            if len(self.shared) or events.start < events.stop:
                largest = self._largest(at[events] - lo, other[events], w[events], hi - lo)
                out[lo:hi] = largest / (total + TOPIC_PRIOR)
        return out

    def _largest(self, at: _Ints, other: _Ints, w: _Floats, length: int) -> _Floats:
        """float64[length]; after each place the largest shared weight with an ``other`` (``at`` sorted)."""
        seen = np.unique(np.concatenate([self.shared_with, other]) if len(self.shared_with) else other)
        column = np.searchsorted(seen, other)
        carry = np.zeros(len(seen))
        carry[np.searchsorted(seen, self.shared_with)] = self.shared
        rows = max(1, _DENSE_CELLS // len(seen))
        out = np.empty(length)
        for lo in range(0, length, rows):
            hi = min(lo + rows, length)
            here = slice(*np.searchsorted(at, (lo, hi)).tolist())
            cell = (at[here] - lo) * len(seen) + column[here]
            table = np.bincount(cell, weights=w[here], minlength=(hi - lo) * len(seen)).astype(np.float64)
            table = table.reshape(hi - lo, len(seen))
            table[0] += carry
            np.cumsum(table, axis=0, out=table)
            carry = table[-1].copy()
            out[lo:hi] = table.max(axis=1)
        self.shared_with, self.shared = seen, carry
        return out


def _largest_sum(a: _Ints, b: _Ints, w: _Floats, rows: int, columns: int) -> _Floats:
    """float64[rows]; for each a, the largest over b of the summed weights of the pairs (a, b).

    Both ways add the weights of a pair one after the other as they are given, so they agree bit for bit.
    """
    out = np.zeros(rows)
    if not len(a):
        return out
    key = a * columns + b
    if rows * columns <= _DENSE_CELLS:
        table = np.bincount(key, weights=w, minlength=rows * columns)
        return np.asarray(table.reshape(rows, columns).max(axis=1))
    order = np.argsort(key, kind="stable")
    key, w = key[order], w[order]
    first = _starts(key)
    # Not np.add.reduceat, which adds in another order.
    sums = np.bincount(_ranks(key), weights=w)
    owner = key[first] // columns
    heads = _starts(owner)
    out[owner[heads]] = np.maximum.reduceat(sums, heads)
    return out


class _Groups:
    """Runs of equal values of a sorted array: where each element's run starts, and how long it is."""

    def __init__(self, sorted_values: _Ints) -> None:
        starts = _starts(sorted_values)
        sizes = np.diff(np.append(starts, len(sorted_values)))
        self.first: _Ints = np.repeat(starts, sizes)
        self.size: _Ints = np.repeat(sizes, sizes)

    def members(self, rows: _Ints) -> tuple[_Ints, _Ints]:
        """int64[p], int64[p]; all pairs of a row (as place in ``rows``) and an element of its run."""
        return _expand(self.first[rows], self.size[rows])


def _starts(sorted_values: NDArray[np.integer]) -> _Ints:
    """Index of the first element of every run of equal values."""
    change = np.empty(len(sorted_values), dtype=bool)
    change[:1] = True
    np.not_equal(sorted_values[1:], sorted_values[:-1], out=change[1:])
    return np.flatnonzero(change)


def _ranks(sorted_values: NDArray[np.integer]) -> _Ints:
    """int64[m]; which run of equal values each element is of, from 0."""
    out = np.zeros(len(sorted_values), dtype=np.int64)
    np.cumsum(sorted_values[1:] != sorted_values[:-1], out=out[1:])
    return out


def _ranked(values: _Ints) -> _Ints:
    """int64[m]; the rank of each value among the distinct ones."""
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.int64).reshape(-1)


def _spans(sorted_values: _Ints, sought: _Ints) -> tuple[_Ints, _Ints]:
    """int64[k], int64[k]; where the run of each of k sought values begins, and how long it is."""
    first = np.searchsorted(sorted_values, sought)
    return first, np.searchsorted(sorted_values, sought, side="right") - first


def _expand(first: _Ints, size: _Ints) -> tuple[_Ints, _Ints]:
    """All (row, member) pairs of rows whose group is ``first[row] … first[row] + size[row] - 1``."""
    row = np.repeat(np.arange(len(first)), size)
    offset = np.cumsum(size) - size
    return row, np.arange(int(size.sum())) + (first - offset)[row]
