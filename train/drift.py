"""What has changed since the last run: the factors' distributions, and how well a model keeps the needed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memvalue.data.factor_table import FactorTable

#: Equal bins of [0, 1]; a factor at 0 or 1 exactly has a bin of its own, since many memories are there.
BINS = 10

#: Stability index from which a distribution has moved a little, and much: the customary readings of credit
#: scoring (Siddiqi 2006).
MOVED, SHIFTED = 0.1, 0.25

#: Two-sided 95 % of a normal distribution.
_Z = 1.96


@dataclass(frozen=True)
class Snapshot:
    """What a run leaves behind for the next one to be compared with; plain numbers.

    Parameters
    ----------
    counts
        Factor → memories in each of ``BINS`` + 2 bins: exactly 0, ten equal bins, exactly 1.
    cases, memories, needed
        How many.
    kept
        Mean retention of the model in use, over cases that need something; NaN for none.
    kept_se
        Its standard error over cases.
    """

    counts: dict[str, list[int]]
    cases: int
    memories: int
    needed: int
    kept: float
    kept_se: float

    @classmethod
    def of(cls, table: FactorTable, kept: ArrayLike = ()) -> Snapshot:
        """Of a table, and of the retention float[C] of the model in use on its cases (NaN is skipped)."""
        values = np.asarray(kept, dtype=np.float64)
        values = values[np.isfinite(values)]
        n = len(values)
        return cls(
            counts={name: _binned(table.factors[:, i]).tolist() for i, name in enumerate(table.names)},
            cases=len(table),
            memories=table.rows,
            needed=int(table.needed.sum()),
            kept=float(values.mean()) if n else math.nan,
            kept_se=float(values.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data; a number that is not finite is None."""
        return {
            "counts": self.counts,
            "cases": self.cases,
            "memories": self.memories,
            "needed": self.needed,
            "kept": self.kept if math.isfinite(self.kept) else None,
            "kept_se": self.kept_se if math.isfinite(self.kept_se) else None,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Snapshot:
        """Mirror of :meth:`to_dict`.

        Raises
        ------
        ValueError
            For data that is no snapshot.
        """
        try:
            counts = {str(k): [int(x) for x in v] for k, v in data["counts"].items()}
            kept, standard_error = (
                math.nan if data[k] is None else float(data[k]) for k in ("kept", "kept_se")
            )
            cases, memories, needed = (int(data[k]) for k in ("cases", "memories", "needed"))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"this is no snapshot of an earlier run ({error!r})") from error
        if any(len(v) != BINS + 2 or min(v) < 0 for v in counts.values()):
            raise ValueError(f"a snapshot has {BINS + 2} counts of 0 or more for each factor")
        return cls(counts, cases, memories, needed, kept, standard_error)


def drift(before: Snapshot, after: Snapshot) -> dict[str, Any]:
    """Compare two runs.

    The index of a factor is Σ(q − p) ln(q/p) over the bins, p and q being the shares before and after, with
    half a memory added to each bin. Two samples of one distribution have about (B − 1)(1/n + 1/m), B being
    the bins in use (Yurdakul 2018); what exceeds twice that as well as ``MOVED`` is called ``moved``, or
    ``shifted`` above ``SHIFTED``.

    Returns
    -------
    dict
        ``factors``: name → ``{"index", "verdict", "mean_before", "mean_after"}``, verdict being ``steady``,
        ``moved`` or ``shifted`` (means are of bin centres); ``needed_share``: (before, after); ``kept``:
        ``{"before", "after", "change", "verdict"}`` with ``steady``, ``better``, ``worse`` (beyond 1.96
        standard errors) or ``unknown``; ``changed``: sentences about whatever is not steady.

    Raises
    ------
    ValueError
        When the runs have other factors.
    """
    if before.counts.keys() != after.counts.keys():
        raise ValueError(
            "the runs have other factors and cannot be compared; extract both under one definition"
        )
    said: list[str] = []
    factors: dict[str, dict[str, Any]] = {}
    for name in after.counts:
        p, q = (np.array(s.counts[name], dtype=np.float64) for s in (before, after))
        index, chance = _index(p, q)
        verdict = "steady"
        if index > max(MOVED, 2.0 * chance):
            verdict = "shifted" if index > SHIFTED else "moved"
        means = [float(_centres() @ x / x.sum()) if x.sum() else math.nan for x in (p, q)]
        factors[name] = {
            "index": index, "verdict": verdict, "mean_before": means[0], "mean_after": means[1],
        }  # fmt: skip
        if verdict != "steady":
            said.append(f"{name} has {verdict}: mean {means[0]:.3f} before, {means[1]:.3f} now")
    change = after.kept - before.kept
    error = math.hypot(before.kept_se, after.kept_se)
    verdict = "unknown"
    if math.isfinite(change) and math.isfinite(error):
        verdict = "steady" if abs(change) <= _Z * error else "better" if change > 0 else "worse"
        if verdict != "steady":
            said.append(f"what is in use keeps {after.kept:.3f}, {before.kept:.3f} before")
    return {
        "factors": factors,
        "needed_share": tuple(s.needed / s.memories if s.memories else math.nan for s in (before, after)),
        "kept": {"before": before.kept, "after": after.kept, "change": change, "verdict": verdict},
        "changed": said,
    }


def _binned(column: NDArray[np.floating]) -> NDArray[np.int64]:
    """int64[BINS + 2] counts: exactly 0, BINS equal bins of (0, 1), exactly 1."""
    place = np.where(column <= 0, 0, np.where(column >= 1, BINS + 1, 1 + np.floor(column * BINS)))
    return np.bincount(np.minimum(place, BINS + 1).astype(np.int64), minlength=BINS + 2)


def _centres() -> NDArray[np.float64]:
    return np.concatenate([[0.0], (np.arange(BINS) + 0.5) / BINS, [1.0]])


def _index(p: NDArray[np.float64], q: NDArray[np.float64]) -> tuple[float, float]:
    """The stability index of two rows of counts, and what chance alone makes of it."""
    used = (p + q) > 0
    p, q = p[used], q[used]
    if p.sum() == 0 or q.sum() == 0:
        return 0.0, math.inf
    chance = (len(p) - 1) * (1.0 / p.sum() + 1.0 / q.sum())
    p, q = (p + 0.5) / (p + 0.5).sum(), (q + 0.5) / (q + 0.5).sum()
    return float(((q - p) * np.log(q / p)).sum()), float(chance)
