"""The probability that a memory is not needed again, from its value, age, uses and rehearsal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Age whose effect is none, in days: what the runtime takes for an age that it was not told.
NEUTRAL_AGE = 1.0

#: A term stays only when it betters the held-out log likelihood by this many nats (odds of 55 to 1): half of
#: the cases fit it, the other half judge it, and the reverse. A column of noise moves it by up to 4 on
#: LongMemEval, Memora and the simulated corpus; age by 2 at most, and rehearsal, which the value already
#: holds, for the worse or with the wrong sign. So on these data the risk is the value's alone.
MIN_GAIN = 4.0

#: Ridge on standardised terms, in memories: it only matters where labels are separated.
RIDGE = 1e-3

#: Optional terms, each with the least value that its coefficient may have. A use or a recurrence is never
#: evidence that something is useless (the reverse, disuse as evidence, is what elfmem warns of); age may
#: speak either way.
TERMS: dict[str, float] = {"age": -np.inf, "uses": 0.0, "rehearsal": 0.0}


@dataclass(frozen=True, slots=True)
class ForgetRisk:
    """P(needed) = σ(slope·value + intercept + age·ln((1 + days)/2) + uses·ln(1 + uses) + rehearsal·r).

    r is the usage-history factor. The forget risk is 1 − P(needed). At an age of one day, without uses and
    without rehearsal the optional terms are exactly 0, so leaving their inputs out changes nothing.
    """

    slope: float
    intercept: float
    age: float = 0.0
    uses: float = 0.0
    rehearsal: float = 0.0

    def __call__(
        self,
        values: ArrayLike,
        *,
        age_days: ArrayLike = NEUTRAL_AGE,
        uses: ArrayLike = 0.0,
        rehearsal: ArrayLike = 0.0,
    ) -> NDArray[np.float64]:
        """float64[n] in [0, 1]: the *risk*, 1 − P(needed), of each memory."""
        given = {"age_days": age_days, "uses": uses, "rehearsal": rehearsal}
        v = np.asarray(values, dtype=np.float64)
        z = self.slope * v + self.intercept
        for name, column in _terms(v.shape, given).items():
            z = z + getattr(self, name) * column
        risk: NDArray[np.float64] = 0.5 * (1.0 - np.tanh(0.5 * z))  # the logistic, without overflow
        return risk

    def as_dict(self) -> dict[str, float]:
        """The coefficients by name."""
        return asdict(self)


@dataclass(frozen=True)
class HeldOut:
    """What a calibration is fitted on: values by models that had not seen the memory's case.

    Parameters
    ----------
    values, needed
        float[n] and bool[n].
    age_days, uses, rehearsal
        float[n] each, or None where nothing is known: such a term is not fitted.
    groups
        The case of each memory; keeps a case on one side when terms are chosen. None: each its own.
    """

    values: ArrayLike
    needed: ArrayLike
    age_days: ArrayLike | None = None
    uses: ArrayLike | None = None
    rehearsal: ArrayLike | None = None
    groups: ArrayLike | None = None


def fit_forget_risk(held_out: HeldOut, *, steps: int = 100) -> tuple[ForgetRisk, dict[str, Any]]:
    """Fit the logistic by Newton's method on Platt's smoothed targets (1999); keep the terms that help.

    Terms are tried in the order age, uses, rehearsal. One that is unknown or constant is not fitted; one
    whose coefficient has the wrong sign, or that does not better the log loss of the half of the cases that
    it was not fitted on, is dropped. A slope below 0, which would make better memories riskier, is replaced
    by 0.

    Returns
    -------
    ForgetRisk, and what was decided about each term: ``{"age": "kept" | "no gain" | "wrong sign" |
    "constant" | "unknown", …}``.

    Raises
    ------
    ValueError
        For NaN, lengths that disagree, or no memory of either kind.
    """
    v = np.asarray(held_out.values, dtype=np.float64)
    flags = np.asarray(held_out.needed, dtype=bool)
    if v.ndim != 1 or v.shape != flags.shape:
        raise ValueError(f"values {v.shape} and needed {flags.shape} must be two columns of one length")
    given = {"age_days": held_out.age_days, "uses": held_out.uses, "rehearsal": held_out.rehearsal}
    for name, column in {"values": v, **given}.items():
        if column is not None and not np.isfinite(np.asarray(column, dtype=np.float64)).all():
            raise ValueError(f"{name} holds NaN or infinity; leave an unknown column out as None")
        if column is not None and np.shape(column) != v.shape:
            raise ValueError(f"{name} has shape {np.shape(column)}, values have {v.shape}")
    if not flags.any() or flags.all():
        raise ValueError("calibration needs both needed and other memories among the held-out ones")
    known = {"age": held_out.age_days, "uses": held_out.uses, "rehearsal": held_out.rehearsal}
    columns = _terms(v.shape, {k: 0.0 if c is None else c for k, c in given.items()})
    half = _halves(held_out.groups, flags)
    chosen: list[str] = []
    fate: dict[str, str] = {}
    best = _crossed([v], flags, half, steps)
    for name, column in columns.items():
        if known[name] is None:
            fate[name] = "unknown"
        elif np.ptp(column) == 0:
            fate[name] = "constant"
        else:
            trial = [v, *(columns[c] for c in chosen), column]
            if _logistic(trial, _targets(flags), steps)[-2] < TERMS[name]:
                fate[name] = "wrong sign"
                continue
            loss = _crossed(trial, flags, half, steps)
            fate[name] = "kept" if loss < best - MIN_GAIN else "no gain"
            if fate[name] == "kept":
                chosen.append(name)
                best = loss
    while True:
        point = _logistic([v, *(columns[c] for c in chosen)], _targets(flags), steps)
        # A term may be turned round by one that was kept after it.
        turned = [c for c, coefficient in zip(chosen, point[1:-1], strict=True) if coefficient < TERMS[c]]
        if not turned:
            break
        fate |= dict.fromkeys(turned, "wrong sign")
        chosen = [c for c in chosen if c not in turned]
    if point[0] < 0:
        rest = _logistic([columns[c] for c in chosen], _targets(flags), steps)
        point = np.concatenate([[0.0], rest])
    return ForgetRisk(
        float(point[0]), float(point[-1]), **dict(zip(chosen, point[1:-1].tolist(), strict=True))
    ), fate


def _terms(shape: tuple[int, ...], given: Mapping[str, Any]) -> dict[str, NDArray[np.float64]]:
    """The optional columns of the logistic, 0 at their neutral inputs."""
    days = np.maximum(np.asarray(given["age_days"], dtype=np.float64), 0.0)
    used = np.maximum(np.asarray(given["uses"], dtype=np.float64), 0.0)
    return {
        "age": np.broadcast_to(np.log((1.0 + days) / (1.0 + NEUTRAL_AGE)), shape),
        "uses": np.broadcast_to(np.log1p(used), shape),
        "rehearsal": np.broadcast_to(np.asarray(given["rehearsal"], dtype=np.float64), shape),
    }


def _targets(flags: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Platt's smoothed targets, which keep the curve off 0 and 1."""
    yes, no = int(flags.sum()), int((~flags).sum())
    return np.where(flags, (yes + 1) / (yes + 2), 1 / (no + 2))


def _halves(groups: ArrayLike | None, flags: NDArray[np.bool_]) -> NDArray[np.bool_] | None:
    """bool[n]: every other case; None when a half would have one kind of memory only."""
    if groups is None:
        half = np.arange(len(flags)) % 2 == 0
    else:
        half = np.unique(np.asarray(groups), return_inverse=True)[1].reshape(-1) % 2 == 0
    mixed = all(0 < int(flags[side].sum()) < int(side.sum()) for side in (half, ~half))
    return half if mixed else None


def _crossed(
    columns: list[NDArray[np.float64]],
    flags: NDArray[np.bool_],
    half: NDArray[np.bool_] | None,
    steps: int,
) -> float:
    """Log loss in nats of each half under the fit of the other; infinite when the cases cannot be halved."""
    if half is None:
        return np.inf
    total = 0.0
    for side in (half, ~half):
        point = _logistic([c[~side] for c in columns], _targets(flags[~side]), steps)
        z = np.column_stack([c[side] for c in columns]) @ point[:-1] + point[-1]
        total += float(np.logaddexp(0.0, np.where(flags[side], -z, z)).sum())
    return total


def _logistic(
    columns: list[NDArray[np.float64]], target: NDArray[np.float64], steps: int
) -> NDArray[np.float64]:
    """float64[k + 1]: coefficients of the columns, and the intercept, by damped Newton steps."""
    n = len(target)
    base = float(np.log(target.mean() / (1 - target.mean())))
    table = np.column_stack([*columns, np.ones(n)]) if columns else np.ones((n, 1))
    centre, spread = table.mean(axis=0), table.std(axis=0)
    centre[-1], spread[-1] = 0.0, 1.0
    alive = spread > 0
    x = (table[:, alive] - centre[alive]) / spread[alive]
    pull = np.full(x.shape[1], RIDGE)
    pull[-1] = 0.0  # the mean probability is the base rate

    def loss(point: NDArray[np.float64]) -> float:
        z = x @ point
        return float((np.logaddexp(0.0, z) - target * z).sum() + 0.5 * pull @ point**2)

    point = np.zeros(x.shape[1])
    point[-1] = base
    low = loss(point)
    for _ in range(steps):
        p = 0.5 * (1.0 + np.tanh(0.5 * (x @ point)))
        gradient = x.T @ (p - target) + pull * point
        curvature = (x * (p * (1 - p))[:, None]).T @ x + np.diag(pull + 1e-12)
        move = np.linalg.solve(curvature, gradient)
        scale = 1.0
        while loss(point - scale * move) > low and scale > 1e-10:
            scale /= 2
        point = point - scale * move
        value = loss(point)
        done = low - value < 1e-12 * n
        low = min(low, value)
        if done:
            break
    out = np.zeros(table.shape[1])
    out[alive] = point / spread[alive]
    out[-1] -= float((out[:-1] * centre[:-1]).sum())
    return out
