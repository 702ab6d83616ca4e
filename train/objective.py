"""Retention: the share of the needed memories that a ranking keeps within a budget.

The measure is that of the paper's protocol (arXiv 2606.12945): rank a case's memories, keep the best, count
the needed ones among them. Ties are resolved in expectation over random orders, so a constant score earns
exactly the budget and no policy gains from the order of its rows.

For memories, one sort per case yields the cut of every budget at once and every needed memory is compared
with it; 240 cases of 494 memories cost about 0.3 ms a candidate in batches of 16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memvalue.train.layout import case_offsets

#: Slack of a budget, so that 0.29 of 100 memories is 29 and not 28 (0.29 * 100 = 28.999999999999996).
BUDGET_SLACK = 1e-9

#: Comparisons held at once by the token path: about 16 MB of float32, within a core's cache share.
_BLOCK = 4_000_000


def retention(
    scores: ArrayLike,
    offsets: ArrayLike,
    needed: ArrayLike,
    budgets: Sequence[float],
    *,
    tokens: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Share of each case's needed memories that is kept, for every budget.

    Parameters
    ----------
    scores
        float[N], or float[P, N] for P candidates; the higher is kept first. Infinite is allowed, NaN is not.
    offsets
        int64[C + 1]; case c owns rows ``offsets[c]:offsets[c + 1]``.
    needed
        bool[N].
    budgets
        B shares in (0, 1]. Of n memories, k = max(1, floor(b·n)) are kept. Memories tied at the cut are kept
        with probability (k − number above) / number tied.
    tokens
        int64[N], 1 or more. When given, a budget is a share of the case's tokens, and the longest prefix of
        the ranking that fits is kept, at least its first memory. A group of tied memories that fits only in
        part is kept with the probability (limit − tokens above) / tokens of the group.

    Returns
    -------
    float64[C, B], or float64[P, C, B] for P candidates, in [0, 1]; NaN for a case with nothing needed.

    Raises
    ------
    ValueError
        For NaN scores, budgets outside (0, 1], tokens below 1, or lengths that disagree.
    """
    table = np.asarray(scores)
    if table.dtype.kind not in "f":
        table = table.astype(np.float64)
    single = table.ndim == 1
    table = table[None, :] if single else table
    bounds = np.asarray(offsets, dtype=np.int64)
    flags = np.asarray(needed, dtype=bool)
    if table.ndim != 2:
        raise ValueError(f"scores must be [N] or [P, N], got shape {table.shape}")
    n = table.shape[1]
    if flags.shape != (n,):
        raise ValueError(f"needed has shape {flags.shape}, scores have {n} memories")
    if (
        bounds.ndim != 1
        or len(bounds) < 1
        or bounds[0] != 0
        or bounds[-1] != n
        or (np.diff(bounds) < 0).any()
    ):
        raise ValueError(f"offsets must rise from 0 to {n}, one more than there are cases")
    if np.isnan(table).any():
        raise ValueError("scores hold NaN; a policy must score every memory")
    shares = check_budgets(budgets)
    out = np.full((len(table), len(bounds) - 1, len(shares)), np.nan)
    plan = _Plan.of(bounds, flags, shares, None if tokens is None else check_tokens(tokens, n))
    if len(plan.cases):
        out[:, plan.cases, :] = plan.kept(table)
    return out[0] if single else out


def mean_retention(
    scores: ArrayLike,
    offsets: ArrayLike,
    needed: ArrayLike,
    budgets: Sequence[float],
    *,
    tokens: ArrayLike | None = None,
    case_weight: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Mean of :func:`retention` over the budgets and the cases that need something.

    ``case_weight`` float[C] weighs the cases (default equal). Returns a float64 scalar array for float[N],
    float64[P] for float[P, N].

    Raises
    ------
    ValueError
        As :func:`retention`; also when no case needs anything.
    """
    kept = retention(scores, offsets, needed, budgets, tokens=tokens).mean(axis=-1)
    weight = np.ones(kept.shape[-1]) if case_weight is None else np.asarray(case_weight, dtype=np.float64)
    if weight.shape != (kept.shape[-1],) or not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise ValueError(f"case_weight must be {kept.shape[-1]} finite numbers of 0 or more")
    usable = ~np.isnan(kept.reshape(-1, kept.shape[-1])[0])
    weight = np.where(usable, weight, 0.0)
    if weight.sum() <= 0:
        raise ValueError("no case (of positive weight) has a needed memory, so there is nothing to average")
    mean: NDArray[np.float64] = np.where(usable, kept, 0.0) @ (weight / weight.sum())
    return mean


class RetentionObjective:
    """Mean retention of linear scores ``X @ w``, prepared once and called for batches of weights.

    Parameters
    ----------
    X
        float[N, F]; held as float32.
    needed
        bool[N].
    groups
        Case of each row, any hashable dtype; None stands for one case.
    budgets, tokens
        As in :func:`retention`.
    case_weight
        float[C], 0 or more, in the order in which the cases first appear; lets data sets weigh equally.
        Default: equal.
    mask
        bool[N]; ranking and budgets are restricted to these rows (the source-controlled loss).

    Attributes
    ----------
    n_cases
        Cases that count: at least one needed memory and a positive weight.
    cases
        int64[n_cases]; which of the cases, in the order in which they first appear.

    Raises
    ------
    ValueError
        When no case counts, or shapes disagree.
    """

    def __init__(
        self,
        X: ArrayLike,
        needed: ArrayLike,
        groups: ArrayLike | None,
        budgets: Sequence[float],
        tokens: ArrayLike | None = None,
        case_weight: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> None:
        rows = np.asarray(X, dtype=np.float32)
        if rows.ndim != 2 or not np.isfinite(rows).all():
            raise ValueError(f"X must be a finite [N, F] table, got shape {rows.shape}")
        n = len(rows)
        flags = np.asarray(needed, dtype=bool)
        if flags.shape != (n,):
            raise ValueError(f"needed has shape {flags.shape}, X has {n} rows")
        order, offsets = case_offsets(groups, n)
        weight = np.ones(len(offsets) - 1) if case_weight is None else np.asarray(case_weight, np.float64)
        if weight.shape != (len(offsets) - 1,) or not (np.isfinite(weight).all() and (weight >= 0).all()):
            raise ValueError(f"case_weight must be {len(offsets) - 1} finite numbers of 0 or more")
        case = np.repeat(np.arange(len(weight)), np.diff(offsets))
        keep = weight[case] > 0
        if mask is not None:
            chosen = np.asarray(mask, dtype=bool)
            if chosen.shape != (n,):
                raise ValueError(f"mask has shape {chosen.shape}, X has {n} rows")
            keep &= chosen[order]
        counts = np.bincount(case, weights=keep & flags[order], minlength=len(weight))
        keep &= counts[case] > 0  # rows of cases without a needed memory would only cost time
        if not keep.any():
            raise ValueError("no needed memory is left to fit on (check y, mask and case_weight)")
        row, case = order[keep], case[keep]
        used, sizes = np.unique(case, return_counts=True)
        bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._columns = np.ascontiguousarray(rows[row].T)
        picked = None if tokens is None else check_tokens(tokens, n)[row]
        self._plan = _Plan.of(bounds, flags[row], check_budgets(budgets), picked)
        self._weight = weight[used] / weight[used].sum() / len(budgets)
        self.n_cases = len(used)
        self.cases = used

    def __call__(self, W: ArrayLike) -> NDArray[np.float64]:
        """float64[P]: mean retention of each of the P weight vectors in ``W`` float[P, F] (or float[F])."""
        mean: NDArray[np.float64] = self._kept(W).sum(axis=2) @ self._weight
        return mean

    def by_case(self, W: ArrayLike) -> NDArray[np.float64]:
        """float64[P, n_cases]: each case's retention, the mean over the budgets, for weights as in a call."""
        mean: NDArray[np.float64] = self._kept(W).mean(axis=2)
        return mean

    @property
    def case_share(self) -> NDArray[np.float64]:
        """float64[n_cases] with sum 1: what each case that counts weighs in the mean."""
        share: NDArray[np.float64] = self._weight / self._weight.sum()
        return share

    def _kept(self, W: ArrayLike) -> NDArray[np.float64]:
        """float64[P, n_cases, B]."""
        weights = np.atleast_2d(np.asarray(W, dtype=np.float32))
        if weights.shape[1] != len(self._columns):
            raise ValueError(f"weights have {weights.shape[1]} columns, X has {len(self._columns)}")
        return self._plan.kept(weights @ self._columns)


def check_budgets(budgets: Sequence[float]) -> NDArray[np.float64]:
    """float64[B] of shares in (0, 1], or a ValueError that names the culprit."""
    shares = np.atleast_1d(np.asarray(budgets, dtype=np.float64))
    if shares.ndim != 1 or not len(shares):
        raise ValueError("budgets must be a non-empty list of shares, e.g. (0.1, 0.3)")
    for share in shares:
        if not 0.0 < share <= 1.0:
            raise ValueError(f"budget {share} is not a share in (0, 1]; write 30 % as 0.3")
    return shares


def check_tokens(tokens: ArrayLike, n: int) -> NDArray[np.int64]:
    """int64[n] of 1 or more, or a ValueError."""
    counts = np.asarray(tokens)
    if counts.shape != (n,) or counts.dtype.kind not in "iu":
        raise ValueError(f"tokens must be {n} integers, got shape {counts.shape} of {counts.dtype}")
    if n and counts.min() < 1:
        raise ValueError(f"tokens[{int(counts.argmin())}] is {counts.min()}; every memory costs at least 1")
    return counts.astype(np.int64)


@dataclass(frozen=True)
class _Plan:
    """Everything about cases and budgets that does not depend on the scores."""

    cases: NDArray[np.int64]  # [K] the cases that need something
    starts: NDArray[np.int64]  # [K]
    stops: NDArray[np.int64]  # [K]
    wanted: NDArray[np.int64]  # [M] rows of the needed memories, case by case
    owner: NDArray[np.int64]  # [M] which of the K cases
    first: NDArray[np.int64]  # [K] where each case's needed memories start in `wanted`
    counts: NDArray[np.float64]  # [K] how many are needed
    k: NDArray[np.int64]  # [K, B] memories kept
    limits: NDArray[np.float64]  # [K, B] tokens kept
    tokens: NDArray[np.int64] | None  # [N]

    @classmethod
    def of(
        cls,
        offsets: NDArray[np.int64],
        needed: NDArray[np.bool_],
        budgets: NDArray[np.float64],
        tokens: NDArray[np.int64] | None,
    ) -> _Plan:
        wanted = np.flatnonzero(needed)
        cases, owner, counts = np.unique(
            np.searchsorted(offsets, wanted, side="right") - 1, return_inverse=True, return_counts=True
        )
        starts, stops = offsets[cases], offsets[cases + 1]
        n = (stops - starts)[:, None]
        k = np.clip(np.floor(budgets * n + BUDGET_SLACK), 1, n).astype(np.int64)
        running = np.concatenate([[0], np.cumsum(np.zeros(len(needed)) if tokens is None else tokens)])
        return cls(
            cases=cases,
            starts=starts,
            stops=stops,
            wanted=wanted,
            owner=owner.reshape(-1),
            first=np.cumsum(counts) - counts,
            counts=counts.astype(np.float64),
            k=k,
            limits=(running[stops] - running[starts])[:, None] * budgets + BUDGET_SLACK,
            tokens=tokens,
        )

    def kept(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """float64[P, K, B] from float[P, N]."""
        share = self._by_memories(scores) if self.tokens is None else self._by_tokens(scores, self.tokens)
        kept: NDArray[np.float64] = np.add.reduceat(share, self.first, axis=1) / self.counts[:, None]
        return kept

    def _by_memories(self, scores: NDArray[np.floating]) -> NDArray[np.float64]:
        """float64[P, M, B]: probability that each needed memory is kept."""
        size = self.stops - self.starts
        width = self.k.shape[1]
        # Ascending places of the last memory kept and of the first one dropped.
        last = size[:, None] - self.k
        places = np.concatenate([last, np.maximum(last - 1, 0)], axis=1)
        around = np.empty((len(size), len(scores), 2 * width), dtype=scores.dtype)
        for c, (start, stop) in enumerate(zip(self.starts.tolist(), self.stops.tolist(), strict=True)):
            around[c] = np.sort(scores[:, start:stop], axis=1)[:, places[c]]
        cut = around[:, :, :width].transpose(1, 0, 2)
        straddles = (cut == around[:, :, width:].transpose(1, 0, 2)) & (last > 0)
        mine = scores[:, self.wanted][:, :, None]
        at = cut[:, self.owner, :]
        share = (mine >= at).astype(np.float64)
        # Only a needed memory that ties with a dropped one is kept in part.
        partial = (mine == at) & straddles[:, self.owner, :]
        for c in np.unique(self.owner[partial.any(axis=(0, 2))]).tolist():
            row = scores[:, None, self.starts[c] : self.stops[c]]
            edge = cut[:, c, :, None]
            above, tied = (row > edge).sum(axis=2), (row == edge).sum(axis=2)
            part = slice(int(self.first[c]), int(self.first[c] + self.counts[c]))
            share[:, part, :] = np.where(
                partial[:, part, :], ((self.k[c] - above) / tied)[:, None, :], share[:, part, :]
            )
        return share

    def _by_tokens(self, scores: NDArray[np.floating], tokens: NDArray[np.int64]) -> NDArray[np.float64]:
        """float64[P, M, B]: probability that each needed memory is kept within a token budget."""
        share = np.empty((len(scores), len(self.wanted), self.limits.shape[1]))
        ends = np.append(self.first[1:], len(self.wanted))
        for c, (start, stop) in enumerate(zip(self.starts.tolist(), self.stops.tolist(), strict=True)):
            row = scores[:, None, start:stop]
            cost = tokens[start:stop]
            # Sums of integers are exact in float32 up to 2^24.
            exact: type[Any] = np.float32 if cost.sum() < 2**24 else np.float64
            both = np.stack([cost, np.ones_like(cost)], axis=1).astype(exact)
            step = max(1, _BLOCK // (len(scores) * (stop - start)))
            for a in range(int(self.first[c]), int(ends[c]), step):
                part = slice(a, min(a + step, int(ends[c])))
                mine = scores[:, self.wanted[part], None]
                above = ((row > mine).astype(exact) @ both[:, 0])[:, :, None].astype(np.float64)
                tied = ((row == mine).astype(exact) @ both).astype(np.float64)
                group, members = tied[:, :, :1], tied[:, :, 1:]
                room = self.limits[c] - above
                # The first of the ranking is always kept; within a tied group it is each with equal chance.
                least = np.where(above == 0, 1.0 / members, 0.0)
                partial = np.where(members == 1, 0.0, np.clip(room / group, 0.0, 1.0))
                share[:, part, :] = np.where(room >= group, 1.0, np.maximum(partial, least))
        return share
