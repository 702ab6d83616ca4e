"""What is read off one policy's scores: a number a case and budget for every measure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.bench import Bench
from memvalue.train.objective import retention

#: The measures of :func:`judge`, in the order of the tables, and what each one counts.
MEASURES: dict[str, str] = {
    "turns": "needed memories kept, budget in memories",
    "tokens": "needed memories kept, budget in tokens",
    "source_controlled": "needed memories kept, ranked only among the simulated users' own turns",
    "all_kept": "probability that every needed memory of the case is kept",
    "live": "needed memories that still hold, kept",
    "obsolete": "memories that have become false, kept (lower is better)",
    "announces": "memories that announce that another one has become false, kept",
}

#: The source label of the benchmark's simulated users (data/README.md, LongMemEval).
SIMULATED = "simulated"


def judge(
    bench: Bench,
    scores: NDArray[np.float64],
    budgets: Sequence[float],
    token_budgets: Sequence[float],
    token_scores: NDArray[np.float64] | None = None,
) -> dict[str, NDArray[np.float64]]:
    """Every measure that the bench's labels allow.

    Ties are broken at random, in expectation, everywhere.

    Parameters
    ----------
    bench
        C cases, N memories.
    scores
        float64[N], finite.
    budgets, token_budgets
        Shares in (0, 1] of a case's memories (at least one), and of its tokens (maybe none).
    token_scores
        float64[N], finite, by which memories are ranked for token budgets; ``scores`` when None.

    Returns
    -------
    dict
        Names of :data:`MEASURES` → float64[C, B]; NaN for a case that has nothing to count. ``tokens`` has a
        column a token budget, all others a column a turn budget.
    """
    out: dict[str, NDArray[np.float64]] = {}
    out["turns"] = kept_share(scores, bench.offsets, bench.needed, budgets)
    sub = source_rows(bench)
    if sub is not None:
        out["source_controlled"] = kept_share(scores, bench.offsets, bench.needed, budgets, rows=sub)
    out["all_kept"] = all_kept(scores, bench.offsets, bench.needed, budgets)
    if bench.obsolete is not None:
        live = bench.needed & ~bench.obsolete
        out["live"] = kept_share(scores, bench.offsets, live, budgets)
        out["obsolete"] = kept_share(scores, bench.offsets, bench.obsolete, budgets)
    if bench.announces is not None:
        out["announces"] = kept_share(scores, bench.offsets, bench.announces, budgets)
    if len(token_budgets):
        ranked = scores if token_scores is None else token_scores
        out["tokens"] = kept_share(ranked, bench.offsets, bench.needed, token_budgets, tokens=bench.tokens)
    return {name: out[name] for name in MEASURES if name in out}


def source_rows(bench: Bench) -> NDArray[np.bool_] | None:
    """bool[N]: turns that a simulated user spoke, the only ones that the source-controlled figure ranks.

    None when the data has no source labels.
    """
    if bench.source is None:
        return None
    return np.asarray((bench.source == SIMULATED) & bench.person, dtype=bool)


def kept_share(
    scores: NDArray[np.float64],
    offsets: NDArray[np.int64],
    counted: NDArray[np.bool_],
    budgets: Sequence[float],
    *,
    tokens: NDArray[np.int64] | None = None,
    rows: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Kept share of the ``counted`` memories of each case.

    Parameters
    ----------
    scores, offsets, counted
        float64[N], int64[C+1], bool[N].
    budgets
        Shares of the case's memories, or of its tokens when ``tokens`` (int64[N]) is given.
    rows
        bool[N]; only these are ranked, counted and paid for: the budget is a share of this sub-list.

    Returns
    -------
    float64[C, B]
        NaN where the case (or its sub-list) has nothing to count.
    """
    cases = len(offsets) - 1
    out = np.full((cases, len(budgets)), np.nan)
    if rows is not None:
        ends = np.concatenate([[0], np.cumsum(rows)])
        sizes = np.diff(ends[offsets])
        scores, counted = scores[rows], counted[rows]
        tokens = None if tokens is None else tokens[rows]
    else:
        sizes = np.diff(offsets)
    filled = np.flatnonzero(sizes)
    if len(filled) and counted.any():
        packed = np.concatenate([[0], np.cumsum(sizes[filled])]).astype(np.int64)
        out[filled] = retention(scores, packed, counted, budgets, tokens=tokens)
    return out


def all_kept(
    scores: NDArray[np.float64],
    offsets: NDArray[np.int64],
    needed: NDArray[np.bool_],
    budgets: Sequence[float],
) -> NDArray[np.float64]:
    """Probability that *every* needed memory of a case is among the k = max(1, ⌊b·n⌋) kept.

    Only the lowest-scored needed memories matter. With ``above`` memories scoring strictly more, ``tied``
    scoring the same and t of those needed, r = k − above places fall at random on the tied ones, so the
    probability is C(tied − t, r − t) / C(tied, r): 1 when all tied fit, 0 when r < t.

    Returns
    -------
    float64[C, B]
        NaN for a case without a needed memory.
    """
    cases = len(offsets) - 1
    out = np.full((cases, len(budgets)), np.nan)
    case_of = np.repeat(np.arange(cases), np.diff(offsets))
    gold = np.flatnonzero(needed)
    if not len(gold):
        return out
    has, start = np.unique(case_of[gold], return_index=True)
    lowest = np.full(cases, np.inf)
    lowest[has] = np.minimum.reduceat(scores[gold], start)
    at = lowest[case_of]
    above = np.bincount(case_of[scores > at], minlength=cases)[has]
    same = scores == at
    tied = np.bincount(case_of[same], minlength=cases)[has]
    t = np.bincount(case_of[same & needed], minlength=cases)[has]
    sizes = np.diff(offsets)[has]
    k = np.maximum(1, np.floor(np.outer(sizes, budgets) + 1e-9))
    places = np.clip(k - above[:, None], 0, tied[:, None])
    chance = np.ones_like(places)
    for i in range(int(t.max())):  # hypergeometric, one needed memory at a time
        step = np.maximum(places - i, 0) / np.maximum(tied - i, 1)[:, None]
        chance *= np.where((i < t)[:, None], step, 1.0)
    out[has] = chance
    return out
