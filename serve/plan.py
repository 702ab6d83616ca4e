"""What to keep within a budget, what to compress, what to forget, and why. Nothing is deleted here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memvalue.data.files import write_atomic
from memvalue.serve.budget import Budget

Action = Literal["keep", "compress", "forget"]

#: Why a memory is where it is, by code of ``Plan.reason``.
REASONS: tuple[str, ...] = (
    "pinned",
    "within the grace period",
    "value within the budget",
    "below the cut, worth a summary",
    "below the cut",
    "expired",
)
_PINNED, _GRACE, _VALUE, _SUMMARY, _BELOW, _EXPIRED = range(len(REASONS))
_ACTIONS: tuple[Action, ...] = ("keep", "keep", "keep", "compress", "forget", "forget")


@dataclass(frozen=True)
class Plan:
    """A plan for n memories, as columns in the order in which they were given.

    Parameters
    ----------
    ids
        n names.
    budget
        What had to be met.
    value
        float64[n].
    tokens
        int64[n], or None where they did not matter.
    reason
        int8[n]; an index into :data:`REASONS`.
    score
        float64[n]; what was ranked: the value, or value / tokens^γ within a token budget.
    cut
        The lowest score that was kept for its value; NaN when none was.
    """

    ids: tuple[str, ...]
    budget: Budget
    value: NDArray[np.float64]
    tokens: NDArray[np.int64] | None
    reason: NDArray[np.int8]
    score: NDArray[np.float64]
    cut: float

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def kept(self) -> NDArray[np.bool_]:
        """bool[n]: stays as it is."""
        return np.asarray(self.reason <= _VALUE)

    @property
    def compressed(self) -> NDArray[np.bool_]:
        """bool[n]: only its gist stays."""
        return np.asarray(self.reason == _SUMMARY)

    @property
    def forgotten(self) -> NDArray[np.bool_]:
        """bool[n]: may go."""
        return np.asarray(self.reason >= _BELOW)

    @property
    def margin(self) -> NDArray[np.float64]:
        """float64[n]: score − cut; 0 or more for what its value kept, 0 or less for what lies below."""
        return np.asarray(self.score - self.cut)

    @property
    def over_budget(self) -> bool:
        """True when pinned and recent memories alone exceed the budget; they are kept all the same."""
        kept = self.kept
        if self.budget.unit == "memories":
            return int(kept.sum()) > self.budget.places(len(self))
        assert self.tokens is not None  # a token budget needs them
        first_only = int(kept.sum()) == 1 and not (self.reason < _VALUE).any()
        return not first_only and float(self.tokens[kept].sum()) > self.budget.limit(self.tokens)

    def rows(self, order: Sequence[int] | NDArray[np.int64] | None = None) -> Iterator[dict[str, Any]]:
        """A plain object a memory: id, action, reason, value, score and margin (None where none was cut)."""
        margin = self.margin.tolist()
        for i in range(len(self)) if order is None else order:
            code = int(self.reason[i])
            row: dict[str, Any] = {
                "id": self.ids[i],
                "action": _ACTIONS[code],
                "reason": REASONS[code],
                "value": round(float(self.value[i]), 9),
                "margin": None if np.isnan(self.cut) else round(margin[i], 9),
            }
            if self.tokens is not None:
                row["tokens"] = int(self.tokens[i])
            yield row

    def keep(self) -> list[dict[str, Any]]:
        """What stays, best first."""
        return self._list(self.kept)

    def compress(self) -> list[dict[str, Any]]:
        """What would leave only its gist, best first."""
        return self._list(self.compressed)

    def forget(self) -> list[dict[str, Any]]:
        """What may go, worst first."""
        return self._list(self.forgotten)[::-1]

    def near_misses(self, count: int = 10) -> list[dict[str, Any]]:
        """The memories just below the cut, closest first."""
        below = (self.reason == _BELOW) | (self.reason == _SUMMARY)
        return self._list(below, count)

    def _list(self, which: NDArray[np.bool_], count: int | None = None) -> list[dict[str, Any]]:
        order = ranking(self.score, self.ids)
        return list(self.rows(order[which[order]][:count]))

    def summary(self) -> dict[str, Any]:
        """Counts and, where they are known, tokens of each list."""
        out: dict[str, Any] = {"memories": len(self), "budget": str(self.budget)}
        for name, which in (
            ("keep", self.kept),
            ("compress", self.compressed),
            ("forget", self.forgotten),
        ):
            part: dict[str, Any] = {"memories": int(which.sum())}
            if self.tokens is not None:
                part["tokens"] = int(self.tokens[which].sum())
            part["reasons"] = {
                REASONS[code]: int(count)
                for code, count in enumerate(np.bincount(self.reason[which], minlength=len(REASONS)))
                if count
            }
            out[name] = part
        out["cut"] = None if np.isnan(self.cut) else self.cut
        out["over_budget"] = self.over_budget
        return out

    def write(self, path: str | Path) -> None:
        """Write a line a memory, in the order given; the file appears whole or not at all."""
        write_atomic(path, (json.dumps(row, allow_nan=False) + "\n" for row in self.rows()))


def plan_forgetting(
    values: ArrayLike,
    budget: Budget | str | float,
    *,
    ids: Sequence[str] | None = None,
    tokens: ArrayLike | None = None,
    pinned: ArrayLike | None = None,
    age_days: ArrayLike | None = None,
    grace_days: float = 0.0,
    expired: ArrayLike | None = None,
    summary_from: float | None = None,
    density_exponent: float = 0.0,
) -> Plan:
    """Divide n memories into what is kept, compressed and forgotten.

    Pinned memories come first, then those within the grace period; they are kept whatever it costs. The rest
    of the budget goes to the others by value: k = max(1, ⌊share·n⌋) memories in all, or the longest run of
    the ranking whose tokens fit (at least its first memory). This is the evaluation's rule, so without pinned
    memories and grace a plan keeps what the evaluation says it keeps. Equal scores are broken by the SHA-256
    of the id: an order that favours neither old nor new, is the same every night and in every file order, and
    on average keeps what the evaluation's random order keeps.

    Parameters
    ----------
    values
        float[n] in [0, 1].
    budget
        A :class:`Budget`, or as ``Budget.parse`` reads it: ``"10%"``, ``500``, ``"10%tokens"``.
    ids
        n different names; default the row numbers.
    tokens
        int64[n], 1 or more; needed for a token budget.
    pinned, expired
        bool[n]. An expired memory is forgotten first, whatever its value, unless it is pinned.
    age_days, grace_days
        float[n], and the age below which a memory is too young to be judged.
    summary_from
        Value from which a memory below the cut is compressed instead of forgotten; None compresses nothing.
        Summaries are not counted against the budget.
    density_exponent
        γ: within a token budget memories are ranked by value / tokens^γ. A model's own is in its metadata.

    Raises
    ------
    ValueError
        For columns of another length, values that are not finite, doubled ids, or missing tokens.
    """
    limit = Budget.parse(budget)
    value = np.asarray(values, dtype=np.float64)
    if value.ndim != 1 or not np.isfinite(value).all():
        raise ValueError("values must be one column of finite numbers")
    n = len(value)
    names = tuple(map(str, range(n))) if ids is None else tuple(ids)
    if len(names) != n or len(set(names)) != n:
        raise ValueError(f"ids must be {n} different names, one a memory")
    cost = None if tokens is None else _tokens(tokens, n)
    score = value
    if limit.unit == "tokens":
        if cost is None:
            raise ValueError("a token budget needs the memories' tokens")
        if not (np.isfinite(density_exponent) and density_exponent >= 0):
            raise ValueError(f"density_exponent must be finite and 0 or more, got {density_exponent}")
        score = value / cost.astype(np.float64) ** density_exponent
    reason = np.full(n, _BELOW, dtype=np.int8)
    if summary_from is not None:
        reason[value >= summary_from] = _SUMMARY
    gone = _flags("expired", expired, n)
    reason[gone] = _EXPIRED
    if grace_days < 0 or (grace_days > 0 and age_days is None):
        raise ValueError("a grace period is a number of days of 0 or more, and needs age_days")
    if grace_days > 0:
        age = np.asarray(age_days, dtype=np.float64)
        if age.shape != (n,) or not np.isfinite(age).all():
            raise ValueError(f"age_days must be {n} finite numbers, one a memory")
        reason[(age < grace_days) & ~gone] = _GRACE
    reason[_flags("pinned", pinned, n)] = _PINNED
    safe = reason <= _GRACE
    order = ranking(score, names)
    order = order[((reason == _BELOW) | (reason == _SUMMARY))[order]]
    chosen = order[: _room(limit, safe, order, cost)]
    reason[chosen] = _VALUE
    cut = float(score[chosen[-1]]) if len(chosen) else float("nan")
    return Plan(names, limit, value, cost, reason, score, cut)


def ranking(score: NDArray[np.float64], ids: Sequence[str]) -> NDArray[np.int64]:
    """int64[n]: rows from the highest score down, equals by the SHA-256 of their ids."""
    order = np.argsort(-score, kind="stable")
    ranked = score[order]
    same = np.flatnonzero(ranked[1:] == ranked[:-1])
    if not len(same):
        return order
    # Only ties are hashed: one run of equals after the other.
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    ends = np.append(starts[1:], len(ranked))
    for start, end in zip(starts[ends - starts > 1].tolist(), ends[ends - starts > 1].tolist(), strict=True):
        run = order[start:end]
        marks = [hashlib.sha256(ids[i].encode("utf-8", "surrogatepass")).digest() for i in run.tolist()]
        order[start:end] = run[sorted(range(len(run)), key=marks.__getitem__)]
    return order


def _room(
    limit: Budget,
    safe: NDArray[np.bool_],
    order: NDArray[np.int64],
    cost: NDArray[np.int64] | None,
) -> int:
    """How many of ``order`` fit beside what is safe."""
    if limit.unit == "memories":
        return max(0, limit.places(len(safe)) - int(safe.sum()))
    assert cost is not None  # checked by the caller
    left = limit.limit(cost) - float(cost[safe].sum())
    fitting = int(np.searchsorted(np.cumsum(cost[order]), left, side="right"))
    return max(fitting, 0 if safe.any() else 1)


def _tokens(tokens: ArrayLike, n: int) -> NDArray[np.int64]:
    counts = np.asarray(tokens)
    if counts.shape != (n,) or counts.dtype.kind not in "iu" or (n and counts.min() < 1):
        raise ValueError(f"tokens must be {n} whole numbers of 1 or more, one a memory")
    return counts.astype(np.int64)


def _flags(name: str, flags: ArrayLike | None, n: int) -> NDArray[np.bool_]:
    if flags is None:
        return np.zeros(n, dtype=bool)
    column = np.asarray(flags)
    if column.shape != (n,) or column.dtype != bool:
        raise ValueError(f"{name} must be {n} flags, one a memory")
    return column
