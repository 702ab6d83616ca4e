"""Rehearsal without embeddings: rare words that come up again in another conversation.

What comes up again, spaced, is needed again (Anderson & Schooler 1991, need probability; Bjork & Bjork 1992).
Two measures, both in units of *rare words* so that they do not depend on the size of the store. A word w that
a person used in df(w) of S conversations weighs

    ω(w) = log((S + 1) / (df(w) + 1/2)) / log(S + 1),   in [0, 1)

- overlap of memory i: the largest Σ ω(w) over the words it shares with one memory of another conversation;
- topic of a conversation: the largest Σ ω² over the words it shares with one other conversation, divided by
  the Σ ω² of its own words plus `TOPIC_PRIOR`.

Only persons' words count, and only words used in at most `RARE` conversations are matched. ``batch`` looks at
all conversations; ``online`` at earlier ones only, with the weights of that moment, so that a stream can do
the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Words used in more conversations than this are not matched. On LongMemEval the overlap's AUC among
#: simulated users' turns is .780 at 8, .771 at 16, .764 at 32 and .758 without a bound; 8 also bounds the work.
RARE = 8

#: Rare words added to a conversation's own before dividing, so that a short one is not all topic.
#: 20 of them do as well as the cosine (AUC .80 each), which a stream could not keep up to date.
TOPIC_PRIOR = 20.0

#: Dense tables up to this many cells; larger ones are summed by sorting.
_DENSE_CELLS = 1 << 22

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


def recurrence(
    word_hash: NDArray[np.uint64],
    owner: _Ints,
    sessions: _Ints,
    person: NDArray[np.bool_],
    *,
    online: bool = False,
) -> tuple[_Floats, _Floats]:
    """Overlap and topic of n memories.

    Parameters
    ----------
    word_hash
        uint64[m]; the words of all memories in reading order.
    owner
        int64[m]; the memory of each word, never decreasing.
    sessions
        int64[n]; the conversation of each memory, from 0, never decreasing.
    person
        bool[n]; True where a person spoke. Others have overlap 0 and their conversation's topic.
    online
        Look only at earlier conversations, and for the topic only at the person's words so far.

    Returns
    -------
    overlap
        float64[n], 0 or more; in rare words.
    topic
        float64[n] in [0, 1).
    """
    n = len(sessions)
    overlap, topic = np.zeros(n), np.zeros(n)
    spoken = person[owner]
    if not spoken.any():
        return overlap, topic
    _, word = np.unique(word_hash[spoken], return_inverse=True)
    # Distinct (word, memory) pairs sorted by word, then by time.
    pairs = np.unique(word.astype(np.int64) * n + owner[spoken])
    word, memory = pairs // n, pairs % n
    count = int(sessions[-1]) + 1
    # Distinct (word, conversation) pairs; `head` is the first memory of the conversation with that word.
    heads = _starts(word * count + sessions[memory])
    s_word, s_session, s_head = word[heads], sessions[memory[heads]], memory[heads]
    # Conversations before this one in which the word was used, and in all of them.
    before = np.arange(len(s_word)) - np.repeat(_starts(s_word), _sizes(s_word))
    if online:
        s_df, s_total = before, s_session
    else:
        s_df, s_total = np.repeat(_sizes(s_word), _sizes(s_word)), np.full(len(s_word), count)
    s_weight = _weight(s_df, s_total)
    s_match = (s_df >= 1 if online else s_df >= 2) & (s_df <= RARE)

    position = np.repeat(np.arange(len(heads)), np.diff(np.append(heads, len(word))))
    overlap[:] = _overlap(word, memory, sessions, s_weight[position], s_match[position], n=n, online=online)
    if online:
        topic[:] = _topic_online(s_word, s_session, s_head, s_weight, s_match, sessions, count)
    else:
        topic[:] = _topic_batch(s_word, s_session, s_weight, s_match, count)[sessions]
    return overlap, topic


def _weight(df: _Ints, total: _Ints) -> _Floats:
    """ω of a word used in df of ``total`` conversations; 0 before there is a second conversation."""
    total = np.maximum(total, 1)
    return np.maximum(0.0, np.log((total + 1.0) / (df + 0.5)) / np.log(total + 1.0)).clip(0.0, 1.0)


def _overlap(
    word: _Ints,
    memory: _Ints,
    sessions: _Ints,
    weight: _Floats,
    match: NDArray[np.bool_],
    *,
    n: int,
    online: bool,
) -> _Floats:
    """float64[n]; the largest shared weight with one memory of another (online: earlier) conversation."""
    sizes, firsts = _sizes(word), _starts(word)
    size = np.repeat(sizes, sizes)[match]
    first = np.repeat(firsts, sizes)[match]
    left, right = _expand(first, size)
    a, b = memory[match][left], memory[right]
    other = sessions[b] < sessions[a] if online else sessions[b] != sessions[a]
    a, b, w = a[other], b[other], weight[match][left[other]]
    return _largest_sum(a, b, w, n, n)


def _topic_batch(
    word: _Ints, session: _Ints, weight: _Floats, match: NDArray[np.bool_], count: int
) -> _Floats:
    """float64[count]; shared weight with the most similar other conversation, as a share of one's own."""
    sizes, firsts = _sizes(word), _starts(word)
    left, right = _expand(np.repeat(firsts, sizes)[match], np.repeat(sizes, sizes)[match])
    a, b = session[match][left], session[right]
    other = a != b
    shared = _largest_sum(a[other], b[other], weight[match][left[other]] ** 2, count, count)
    own = np.bincount(session, weights=weight**2, minlength=count)
    return shared / (own + TOPIC_PRIOR)


def _topic_online(
    word: _Ints,
    session: _Ints,
    head: _Ints,
    weight: _Floats,
    match: NDArray[np.bool_],
    sessions: _Ints,
    count: int,
) -> _Floats:
    """float64[n]; as `_topic_batch`, with the conversation so far against each earlier one."""
    n = len(sessions)
    out = np.zeros(n)
    sizes, firsts = _sizes(word), _starts(word)
    first = np.repeat(firsts, sizes)
    # Earlier conversations with the word are the rows of its group before this one.
    left, right = _expand(first[match], np.flatnonzero(match) - first[match])
    at, other, w = head[match][left], session[right], weight[match][left] ** 2
    order = np.lexsort((other, at))
    at, other, w = at[order], other[order], w[order]
    own = np.bincount(head, weights=weight**2, minlength=n)
    bounds = np.append(_starts(sessions), n)
    cuts = np.searchsorted(at, bounds)
    for k in range(len(bounds) - 1):
        lo, hi = int(bounds[k]), int(bounds[k + 1])
        rows = slice(int(cuts[k]), int(cuts[k + 1]))
        total = np.cumsum(own[lo:hi])
        if rows.start == rows.stop:
            continue
        seen, column = np.unique(other[rows], return_inverse=True)
        table = np.zeros((hi - lo, len(seen)))
        np.add.at(table, (at[rows] - lo, column), w[rows])
        out[lo:hi] = np.cumsum(table, axis=0).max(axis=1) / (total + TOPIC_PRIOR)
    return out


def _largest_sum(a: _Ints, b: _Ints, w: _Floats, rows: int, columns: int) -> _Floats:
    """float64[rows]; for each a, the largest over b of the summed weights of the pairs (a, b)."""
    out = np.zeros(rows)
    if not len(a):
        return out
    if rows * columns <= _DENSE_CELLS:
        table = np.bincount(a * columns + b, weights=w, minlength=rows * columns)
        return table.reshape(rows, columns).max(axis=1)
    key = a * columns + b
    order = np.argsort(key, kind="stable")
    key, w = key[order], w[order]
    starts = _starts(key)
    sums = np.add.reduceat(w, starts)
    np.maximum.at(out, key[starts] // columns, sums)
    return out


def _starts(sorted_values: _Ints) -> _Ints:
    """Index of the first element of every run of equal values."""
    change = np.empty(len(sorted_values), dtype=bool)
    change[:1] = True
    np.not_equal(sorted_values[1:], sorted_values[:-1], out=change[1:])
    return np.flatnonzero(change)


def _sizes(sorted_values: _Ints) -> _Ints:
    """Length of every run of equal values."""
    return np.diff(np.append(_starts(sorted_values), len(sorted_values)))


def _expand(first: _Ints, size: _Ints) -> tuple[_Ints, _Ints]:
    """All (row, member) pairs of rows whose group is ``first[row] … first[row] + size[row] - 1``."""
    row = np.repeat(np.arange(len(first)), size)
    offset = np.cumsum(size) - size
    return row, np.arange(int(size.sum())) - offset[row] + first[row]
