"""How much of each memory later conversations reuse, beyond chance and topic."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from memvalue.data.consolidation import Consolidation
from memvalue.features.lexicon import load_lexicon
from memvalue.features.scan import scan

#: Rare words added to the length of both turns before dividing, so that a short one does not agree with
#: whatever shares its only word. On the development half of LongMemEval (SELF_LABELS.md) weights fitted on
#: the labels keep .88 of the gold weights' gain at 2, .98 at 5 and .94 at 10 rare words.
PRIOR_WORDS = 5.0

#: Words used in more than this share of the conversations say nothing of what is reused (with them: the same
#: within noise, and more work).
COMMON = 0.5

#: One shared word is chance: agreement needs this many in one turn. It lifts the share of the gold weights'
#: gain from .71 to .90 under the definition ``longmemeval`` and leaves it at .95 under ``default``.
SHARED_WORDS = 2

#: A word that t turns of the memory's own conversation use counts t^-1/2 of its weight there: what all of
#: them say is the conversation's topic, and the turn that opens it says most of that. From none to 1/2 to 1
#: the share of the gold weights' gain goes .69, .74, .30 under the definition ``longmemeval``, which may look
#: at openings, and .98, .95, .82 under ``default``. Crediting a word to the turn that says it first favours
#: openings: .05.
TOPIC_POWER = 0.5

#: Share of the mean agreement of the conversation's other turns with the same later turn that is taken off:
#: agreement that comes with the topic. None, half and all of it are the same within noise.
TOPIC_SHARE = 0.5

#: Cells of agreement held at once; bounds the working memory to some 100 MB.
_CELLS = 1 << 22


class Reuse:
    """The words of a transcript, indexed once, to be asked at any cut.

    Rarity of a word that df of S conversations use is ω = log((S + 1)/(df + ½)) / log(S + 1), cut to [0, 1],
    as in `features.recurrence` (after Spärck Jones 1972). Memory i and a later turn j agree by

        c(i, j) = Σ ω²(w) · t_i(w)^-½ / √((Σ ω² of i + 5) (Σ ω² of j + 5))

    over the words w that both use, t_i(w) being the turns of i's conversation so far that use w; less half
    the mean c(·, j) of the other turns of i's conversation (the topic); and 0 where they share fewer than two
    words (chance). Words of feeling are left out, and of shared words those that more than half of the
    conversations use.

    Parameters
    ----------
    transcript
        All that was said, of n turns.
    language
        Folder of lexicons, as for the scan.
    """

    def __init__(self, transcript: Consolidation, language: str = "en") -> None:
        n = len(transcript)
        scanned = scan(transcript.texts, language)
        # A stable sort by word leaves the turns of each word in order; then distinct (word, turn) pairs.
        content = np.flatnonzero(~np.isin(scanned.word_hash, _feeling(language)))
        order = content[np.argsort(scanned.word_hash[content], kind="stable")]
        hashes, turn = scanned.word_hash[order], scanned.word_text[order]
        word = np.cumsum(_starts(hashes), dtype=np.int64) - 1
        self._words = int(word[-1]) + 1 if len(word) else 0
        pairs = np.flatnonzero(_starts(word * n + turn))
        self._word, self._turn = word[pairs], turn[pairs]
        self._person = transcript.person
        self._ordinal = np.cumsum(_starts(transcript.sessions), dtype=np.int64) - 1
        # Pairs of one word in one conversation follow one another.
        self._is_first = _starts(self._word * n + self._ordinal[self._turn])
        self._group = np.cumsum(self._is_first, dtype=np.int64) - 1

    def best(self, n: int, stop: int) -> NDArray[np.float64]:
        """float64[n] in [0, 1]; the largest agreement of each of the first n turns with a later one.

        Later turns are those of persons before row ``stop``, in conversations that begin after row n. Only
        persons' memories agree with anything: an assistant's words come back because its user's do. Nothing
        from ``stop`` on counts, not even for how rare a word is.
        """
        out = np.zeros(n)
        if not n:
            return out
        later = np.flatnonzero(self._person[:stop] & (self._ordinal[:stop] > self._ordinal[n - 1]))
        if not len(later):
            return out
        known = np.flatnonzero(self._turn < stop)
        turn, word = self._turn[known], self._word[known]
        sessions = int(self._ordinal[stop - 1]) + 1
        used = np.bincount(word[self._is_first[known]], minlength=self._words)
        rarity = np.clip(np.log((sessions + 1.0) / (used + 0.5)) / np.log(sessions + 1.0), 0.0, 1.0)
        weight = rarity[word]
        length = np.sqrt(np.bincount(turn, weights=weight**2, minlength=stop) + PRIOR_WORDS)

        matched = ((used >= 2) & (used <= max(2.0, COMMON * sessions)))[word]
        mine = matched & (turn < n)
        group = self._group[known][mine]
        topical = np.bincount(group)[group] ** -TOPIC_POWER
        row, column = turn[mine], word[mine]
        credit = weight[mine] * topical / length[row]
        memories = sparse.csr_matrix((credit, (column, row)), shape=(self._words, n))
        present = sparse.csr_matrix((np.ones(len(row), np.float32), (column, row)), shape=(self._words, n))

        place = np.full(stop, -1)
        place[later] = np.arange(len(later))
        theirs = matched & (place[turn] >= 0)
        row, column = place[turn[theirs]], word[theirs]
        asked = sparse.csr_matrix(
            (weight[theirs] / length[turn[theirs]], (row, column)), shape=(len(later), self._words)
        )
        asks = sparse.csr_matrix(
            (np.ones(len(row), np.float32), (row, column)), shape=(len(later), self._words)
        )

        starts = np.flatnonzero(_starts(self._ordinal[:n]))
        size = np.diff(np.append(starts, n))
        own, others = self._ordinal[:n], np.maximum(size - 1, 1)
        step = max(1, _CELLS // n)
        for low, high in pairwise([*range(0, len(later), step), len(later)]):
            agreement = (asked[low:high] @ memories).toarray()
            topic = (np.add.reduceat(agreement, starts, axis=1)[:, own] - agreement) / others[own]
            shared = (asks[low:high] @ present).toarray()
            agreement -= TOPIC_SHARE * topic
            agreement[shared < SHARED_WORDS] = 0.0
            np.maximum(out, agreement.max(axis=0), out=out)
        out[~self._person[:n]] = 0.0
        return np.minimum(out, 1.0)


@lru_cache(maxsize=8)
def _feeling(language: str) -> NDArray[np.uint64]:
    """Hashes of words with a valence. Two turns that are both "so excited" reuse nothing of each other.

    With them the fitted weight of emotional intensity is .05 to .09, without .01 to .03 (gold: .01).
    """
    lexicon = load_lexicon(language)
    words = [w for w, v in zip(lexicon.words, lexicon.valence[1:].tolist(), strict=False) if v]
    return np.unique(scan(words, language).word_hash)


def _starts(values: NDArray[np.int64] | NDArray[np.uint64]) -> NDArray[np.bool_]:
    """bool[m]; where a run of equal values begins."""
    out = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=out[1:])
    return out
