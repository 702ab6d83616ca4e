"""What `recurrence` has to know of the past: words of persons, and who used them in which conversation.

A stream keeps one of these and hands over its memories as they come, one or many at a time; the cost of a
memory does not depend on how many came before, and the result not on how they are cut into parts.

Bounded. For each word: in how many conversations it was used, when last, and, as long as these are at most
`RARE`, its *mates*, the memories that used it there: about 110 bytes a word with room to grow. Of 100,000
LongMemEval turns persons' words are 42,000 (benchmarks/stream.py), and they grow with the square root of the
turns, so a million turns take some 15 MB. When more than `MAX_WORDS` are known or more than `MAX_MATES` kept,
the words that were not used for the longest time are forgotten: a quarter of the words, or down to half of
the mates. A forgotten word that comes back is new. The same holds where a whole store is looked at online, so
that stream and extraction agree there too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memvalue.features.growing import Growing
from memvalue.features.key_table import KeyTable

#: Words used in more conversations than this are not matched. On LongMemEval the overlap's AUC among
#: simulated users' turns is .780 at 8, .771 at 16, .764 at 32 and .758 without a bound; 8 also bounds the
#: work.
RARE = 8

#: Of the memories of one conversation that use a word, the first this many are mates. LongMemEval has at most
#: 26, Memora 11, LoCoMo 24; it bounds the work where a conversation goes on for ever.
MATES = 32

#: Most words and mates kept: 54 MB when both are nearly reached (600,000 random words in 160,000 memories).
MAX_WORDS = 1 << 19
MAX_MATES = 1 << 21

_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Met:
    """What the past knows of W words. The pairs are sorted by word."""

    df: _Ints  # [W] conversations before the current one that used it
    said: NDArray[np.bool_]  # [W] whether the current conversation did already
    session_word: _Ints  # [r] (word, conversation) pairs of words to be matched
    session: _Ints  # [r]
    mate_word: _Ints  # [k] (word, memory) pairs of the same
    mate: _Ints  # [k]


class RecurrencePast:
    """The past of one store.

    Attributes
    ----------
    memories, sessions
        How many there were, the current conversation included.
    session
        The caller's number of the current conversation; None before the first.
    own
        Σ ω² of the current conversation's words so far.
    shared_with, shared
        int64[k], float64[k]; earlier conversations, and the Σ ω² of the words shared with each.
    """

    def __init__(self) -> None:
        self.memories = 0
        self.sessions = 0
        self.session: int | None = None
        self.own = 0.0
        self.shared_with: _Ints = np.zeros(0, dtype=np.int64)
        self.shared: _Floats = np.zeros(0)
        self._opened = 0  # the current conversation's first memory
        self._words = KeyTable()
        self._df: Growing[np.int32] = Growing(np.int32)
        self._last: Growing[np.int32] = Growing(np.int32)  # the last memory with the word
        self._run: Growing[np.int32] = Growing(np.int32)  # the word's latest run, −1 for none
        self._here: Growing[np.uint8] = Growing(np.uint8)  # its mates in the current conversation
        # A run is a word in one conversation: its mates lie side by side, up to where the next run's begin.
        self._run_session: Growing[np.int32] = Growing(np.int32)
        self._run_before: Growing[np.int32] = Growing(np.int32)  # the word's run before that one, or −1
        self._run_first: Growing[np.int32] = Growing(np.int32)
        self._mates: Growing[np.int32] = Growing(np.int32)
        # Mates of the current conversation, not yet runs: it is not matched with itself.
        self._pending_word: Growing[np.int32] = Growing(np.int32)
        self._pending_mate: Growing[np.int32] = Growing(np.int32)

    @property
    def nbytes(self) -> int:
        """Bytes held, room to grow included."""
        return self._words.nbytes + sum(c.nbytes for c in vars(self).values() if isinstance(c, Growing))

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """All of it as plain arrays."""
        numbers = [self.memories, self.sessions, self._opened, self.session is not None, self.session or 0]
        columns = {name: getattr(self, f"_{name}").values.copy() for name in _COLUMNS}
        return {
            "numbers": np.array(numbers, dtype=np.int64),
            "own": np.array([self.own], dtype=np.float64),
            "shared_with": self.shared_with,
            "shared": self.shared,
            "words": self._words.keys.copy(),
            **columns,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> RecurrencePast:
        """What `arrays` gave. Raises ValueError for anything else, with the reason."""
        found = {}
        for name, dtype in _STORED.items():
            array = arrays.get(name)
            if array is None or array.dtype != dtype or array.ndim != 1:
                raise ValueError(f"{name} is missing or no column of {np.dtype(dtype)}")
            found[name] = array
        out = cls()
        _check(found)
        memories, sessions, opened, begun, session = found["numbers"].astype(np.int64).tolist()
        out.memories, out.sessions, out._opened = memories, sessions, opened
        out.session = session if begun else None
        out.own = float(found["own"].astype(np.float64)[0])
        out.shared_with = found["shared_with"].astype(np.int64)
        out.shared = found["shared"].astype(np.float64)
        out._words = KeyTable(found["words"].astype(np.uint64))
        for name, dtype in _COLUMNS.items():
            setattr(out, f"_{name}", Growing(dtype, found[name]))
        out._here.extend(np.bincount(found["pending_word"].astype(np.int64), minlength=len(out._words)))
        return out

    def parts(self, sessions: _Ints, words: _Ints) -> Iterator[slice]:
        """Cut n new memories so that each part continues the current conversation or begins with a new one,
        and nothing has to be forgotten within a part.

        Parameters
        ----------
        sessions
            int64[n]; the caller's numbers, never decreasing.
        words
            int64[n]; at least as many as the words of a person in each memory.
        """
        start, n = 0, len(sessions)
        while start < n:
            stop = n
            if int(sessions[start]) == self.session:
                stop = int(np.searchsorted(sessions, sessions[start], side="right"))
            room = min(MAX_WORDS - len(self._words), MAX_MATES - len(self._mates) - len(self._pending_mate))
            fitting = int(np.searchsorted(np.cumsum(words[start:stop]), room, side="right"))
            stop = start + max(1, fitting)
            yield slice(start, stop)
            start = stop

    def close(self) -> None:
        """The current conversation is over: what was said in it is the past from now on."""
        word, mate = self._pending_word.values, self._pending_mate.values
        rare = self._df.values[word] <= RARE
        self._here.values[word] = 0
        word, mate = word[rare], mate[rare]
        order = np.argsort(word, kind="stable")
        word, mate = word[order], mate[order]
        first = np.flatnonzero(np.append(True, word[1:] != word[:-1])[: len(word)])
        rows, runs = word[first], len(self._run_session)
        self._run_session.extend(np.full(len(rows), self.sessions - 1, dtype=np.int32))
        self._run_before.extend(self._run.values[rows])
        self._run_first.extend(first + len(self._mates))
        self._run.values[rows] = np.arange(runs, runs + len(rows), dtype=np.int32)
        self._mates.extend(mate)
        self._pending_word, self._pending_mate = Growing(np.int32), Growing(np.int32)
        self._opened = self.memories
        self.own = 0.0
        self.shared_with, self.shared = np.zeros(0, dtype=np.int64), np.zeros(0)

    def meet(self, word_hash: NDArray[np.uint64]) -> Met:
        """What is known of uint64[W] distinct words."""
        row = self._words.find(word_hash)
        known = np.flatnonzero(row >= 0)
        row = row[known]
        df, said = np.zeros(len(word_hash), dtype=np.int64), np.zeros(len(word_hash), dtype=bool)
        said[known] = self._last.values[row] >= self._opened
        df[known] = self._df.values[row] - said[known]
        word, run = known, self._run.values[row]
        words, runs = [], []
        matched = (df[word] <= RARE) & (run >= 0)
        while matched.any():
            word, run = word[matched], run[matched]
            words.append(word)
            runs.append(run)
            run = self._run_before.values[run]
            matched = run >= 0
        if not runs:
            none = np.zeros(0, dtype=np.int64)
            return Met(df, said, none, none, none, none)
        word, run = np.concatenate(words), np.concatenate(runs)
        order = np.argsort(word, kind="stable")
        word, run = word[order], run[order]
        first, size = self._spans(run)
        ends = np.cumsum(size)
        place = np.arange(int(ends[-1])) + np.repeat(first - ends + size, size)
        return Met(
            df,
            said,
            word,
            self._run_session.values[run].astype(np.int64),
            np.repeat(word, size),
            self._mates.values[place].astype(np.int64),
        )

    def record(
        self, word_hash: NDArray[np.uint64], word: _Ints, memory: _Ints, sessions: _Ints, numbers: _Ints
    ) -> None:
        """Take up n memories, of the current conversation or of new ones.

        Parameters
        ----------
        word_hash
            uint64[W] distinct.
        word, memory
            int64[p]; the distinct pairs of a word and a memory of a person (0 to n − 1), sorted.
        sessions
            int64[n]; which of ``numbers`` each memory is of, from 0, never decreasing.
        numbers
            int64[S]; the caller's numbers of the conversations.
        """
        of = sessions[memory]
        order = np.argsort(of, kind="stable")
        cuts = np.searchsorted(of[order], np.arange(len(numbers) + 1))
        ends = np.searchsorted(sessions, np.arange(len(numbers)), side="right")
        before = self.memories
        for k, number in enumerate(numbers.tolist()):
            if number != self.session:
                self.close()
                self.session = number
                self.sessions += 1
            pairs = order[cuts[k] : cuts[k + 1]]
            self._say(word_hash, word[pairs], memory[pairs] + before)
            self.memories = before + int(ends[k])

    def _say(self, word_hash: NDArray[np.uint64], word: _Ints, memory: _Ints) -> None:
        """Take up p pairs of words and memories of the current conversation, sorted."""
        if not len(word):
            return
        first = np.flatnonzero(np.append(True, word[1:] != word[:-1]))
        size = np.diff(np.append(first, len(word)))
        hashes = word_hash[word[first]]
        row = self._words.find(hashes)
        new = row < 0
        count = int(new.sum())
        if count:
            row[new] = np.arange(len(self._words), len(self._words) + count)
            self._words.add(hashes[new])
            self._df.extend(np.zeros(count, dtype=np.int32))
            self._last.extend(np.full(count, -1, dtype=np.int32))
            self._run.extend(np.full(count, -1, dtype=np.int32))
            self._here.extend(np.zeros(count, dtype=np.uint8))
        df, last, here = self._df.values, self._last.values, self._here.values
        df[row] += last[row] < self._opened
        last[row] = memory[first + size - 1]
        rank = np.arange(len(word)) + np.repeat(here[row] - first, size)
        kept = (rank < MATES) & np.repeat(df[row] <= RARE, size)
        here[row] = np.where(df[row] <= RARE, np.minimum(here[row] + size, MATES), 0)
        self._pending_word.extend(np.repeat(row, size)[kept])
        self._pending_mate.extend(memory[kept])

    def trim(self) -> None:
        """Forget what was not used for the longest time, where there is too much."""
        mates = len(self._mates) + len(self._pending_mate)
        if len(self._words) <= MAX_WORDS and mates <= MAX_MATES:
            return
        rare = self._df.values <= RARE
        word_of_run = self._words_of_runs()
        live = np.zeros(len(self._words), dtype=np.int64)
        size = self._spans(np.arange(len(word_of_run)))[1]
        np.add.at(live, word_of_run[word_of_run >= 0], size[word_of_run >= 0])
        live[~rare] = 0
        np.add.at(live, self._pending_word.values, 1)
        newest = np.argsort(-self._last.values.astype(np.int64), kind="stable")
        held = np.cumsum(live[newest])
        keep = min(3 * MAX_WORDS // 4, int(np.searchsorted(held, MAX_MATES // 2, side="right")))
        last = self._last.values
        # Words that were last used in the same memory go together: their order is a matter of chance.
        kept = last > last[newest[keep]] if keep < len(newest) else np.ones(len(last), dtype=bool)
        self._keep(kept, word_of_run)

    def _spans(self, run: NDArray[np.integer]) -> tuple[_Ints, _Ints]:
        """int64[m], int64[m]; where the mates of each of m runs begin, and how many they are."""
        begin = self._run_first.values
        if not len(begin):
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        after = run + 1
        end = np.where(after < len(begin), begin[np.minimum(after, len(begin) - 1)], len(self._mates))
        first = begin[run].astype(np.int64)
        return first, end - first

    def _words_of_runs(self) -> _Ints:
        """int64[runs]; the row of each run's word, −1 where no word leads to it any more."""
        out = np.full(len(self._run_session), -1, dtype=np.int64)
        word, run = np.arange(len(self._words)), self._run.values
        while len(run):
            word, run = word[run >= 0], run[run >= 0]
            out[run] = word
            run = self._run_before.values[run]
        return out

    def _keep(self, kept: NDArray[np.bool_], word_of_run: _Ints) -> None:
        """Forget all words but bool[words] ``kept``, and the runs of words that are matched no more."""
        new_row = np.cumsum(kept) - 1
        matched = kept & (self._df.values <= RARE)
        alive = (word_of_run >= 0) & matched[word_of_run]
        new_run = np.append(np.where(alive, np.cumsum(alive) - 1, -1), -1)  # −1, no run, stays −1
        first, size = self._spans(np.flatnonzero(alive))
        ends = np.cumsum(size)
        place = np.arange(int(size.sum())) + np.repeat(first - ends + size, size)
        before = self._run_before.values[alive]
        run = self._run.values[kept]
        pending = kept[self._pending_word.values]
        self._words = KeyTable(self._words.keys[kept])
        self._df = Growing(np.int32, self._df.values[kept])
        self._last = Growing(np.int32, self._last.values[kept])
        self._here = Growing(np.uint8, self._here.values[kept])
        self._run = Growing(np.int32, new_run[run])
        self._run_session = Growing(np.int32, self._run_session.values[alive])
        self._run_before = Growing(np.int32, new_run[before])
        self._run_first = Growing(np.int32, ends - size)
        self._mates = Growing(np.int32, self._mates.values[place])
        self._pending_mate = Growing(np.int32, self._pending_mate.values[pending])
        self._pending_word = Growing(np.int32, new_row[self._pending_word.values[pending]])


#: The columns that are stored, and all that is.
_COLUMNS: dict[str, type[np.generic]] = {
    "df": np.int32,
    "last": np.int32,
    "run": np.int32,
    "run_session": np.int32,
    "run_before": np.int32,
    "run_first": np.int32,
    "mates": np.int32,
    "pending_word": np.int32,
    "pending_mate": np.int32,
}
_STORED: dict[str, type[np.generic]] = {
    "numbers": np.int64,
    "own": np.float64,
    "shared_with": np.int64,
    "shared": np.float64,
    "words": np.uint64,
    **_COLUMNS,
}


def _check(found: Mapping[str, NDArray[np.generic]]) -> None:
    """Raise ValueError where columns of the right types do not fit one another."""
    if len(found["numbers"]) != 5 or len(found["own"]) != 1:
        raise ValueError("the counts of memories and conversations are incomplete")
    memories, sessions, opened, begun, _ = found["numbers"].astype(np.int64).tolist()
    if not (0 <= opened <= memories < 1 << 31 and 0 <= sessions <= memories and begun == (sessions > 0)):
        raise ValueError("the counts of memories and conversations contradict one another")
    words, runs, mates = len(found["words"]), len(found["run_session"]), len(found["mates"])
    if len(np.unique(found["words"])) != words:
        raise ValueError("a word is there twice")
    for name, length, low, high in (
        ("df", words, 1, sessions + 1),
        ("last", words, 0, memories),
        ("run", words, -1, runs),
        ("run_session", runs, 0, sessions),
        ("run_before", runs, -1, runs),
        ("run_first", runs, 0, mates),
        ("mates", mates, 0, memories),
        ("pending_word", len(found["pending_mate"]), 0, words),
        ("pending_mate", len(found["pending_word"]), opened, memories),
        ("shared_with", len(found["shared"]), 0, sessions),
    ):
        column = found[name].astype(np.int64)
        if len(column) != length or (length and not low <= int(column.min()) <= int(column.max()) < high):
            raise ValueError(f"{name} holds numbers that lead nowhere")
    if runs and (found["run_before"].astype(np.int64) >= np.arange(runs)).any():
        raise ValueError("run_before leads in a circle")
    first = found["run_first"].astype(np.int64)
    if runs and (first[0] or (np.diff(first) < 1).any()):
        raise ValueError("run_first does not rise from 0")
    run = found["run"].astype(np.int64)
    for _ in range(RARE):
        run = found["run_before"].astype(np.int64)[run[run >= 0]]
    if (run >= 0).any():
        raise ValueError(f"a word has more than {RARE} conversations to be matched with")
    if mates and not runs:
        raise ValueError("mates are there without their words")
    if len(np.unique(found["shared_with"])) != len(found["shared_with"]):
        raise ValueError("shared_with names a conversation twice")
    sums = np.append(found["shared"].astype(np.float64), found["own"].astype(np.float64))
    if not (np.isfinite(sums).all() and (sums >= 0).all()):
        raise ValueError("sums of weights are no numbers of 0 or more")
    pending = np.bincount(found["pending_word"].astype(np.int64), minlength=1)
    if int(pending.max()) > MATES:
        raise ValueError(f"a word has more than {MATES} mates in one conversation")
