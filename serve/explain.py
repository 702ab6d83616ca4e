"""Why a memory has its value, how far it is from the cut, and what would bring it across."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import factorial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memvalue.features.names import FACTORS
from memvalue.serve.budget import Budget
from memvalue.serve.plan import plan_forgetting

if TYPE_CHECKING:
    from memvalue.serve.value_model import ValueModel

#: Points at which a factor is tried for a flip before bisecting: a network's value need not rise with it.
_GRID = 257

#: Halvings of the step in which a flip was found: 1/256 becomes 2e-10, below float32's own step.
_HALVINGS = 24


@dataclass(frozen=True, slots=True)
class Flip:
    """The smallest change of one factor, all else as it is, that turns the decision round."""

    factor: str
    change: float
    to: float

    def __str__(self) -> str:
        return f"{self.factor} {self.change:+.3f} (to {self.to:.3f})"


@dataclass(frozen=True)
class Explanation:
    """Why a memory has its value.

    Parameters
    ----------
    value
        In [0, 1].
    baseline
        The value of a person's memory with mean factors.
    contributions
        Factor → value units. baseline + role + Σ contributions = value, up to rounding.
    role
        What being said by a machine adds; 0 for a person's memory and for a model without a role offset.
    factors, reference
        Factor → this memory's, and the mean that it is compared with.
    cut
        The value from which memories are kept; None when no decision was asked for.
    flips
        Smallest change first; factors that cannot turn the decision round are left out.
    """

    value: float
    baseline: float
    contributions: dict[str, float]
    role: float
    factors: dict[str, float]
    reference: dict[str, float]
    cut: float | None = None
    flips: tuple[Flip, ...] = ()

    @property
    def margin(self) -> float | None:
        """value − cut: 0 or more is kept."""
        return None if self.cut is None else self.value - self.cut

    @property
    def kept(self) -> bool | None:
        """Is it kept at that cut?"""
        return None if self.cut is None else self.value >= self.cut

    @property
    def flip(self) -> Flip | None:
        """The smallest change of a single factor that would turn the decision round; None if none does."""
        return self.flips[0] if self.flips else None

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "value": self.value,
            "baseline": self.baseline,
            "contributions": dict(self.contributions),
            "role": self.role,
            "factors": dict(self.factors),
            "reference": dict(self.reference),
            "cut": self.cut,
            "margin": self.margin,
            "kept": self.kept,
            "flips": [{"factor": f.factor, "change": f.change, "to": f.to} for f in self.flips],
        }

    def __str__(self) -> str:
        parts = sorted(self.contributions.items(), key=lambda item: -abs(item[1]))
        lines = [f"value {self.value:.3f} = {self.baseline:.3f} for a memory with mean factors"]
        if self.role:
            lines.append(f"  {self.role:+.3f}  said by a machine")
        lines += [
            f"  {part:+.3f}  {name} {self.factors[name]:.2f} (mean {self.reference[name]:.2f})"
            for name, part in parts
        ]
        if self.margin is not None:
            lines.append(
                f"{'kept' if self.kept else 'not kept'}: {self.margin:+.3f} from the cut {self.cut:.3f}"
            )
            lines.append(f"would turn with {self.flip}" if self.flip else "no single factor can turn it")
        return "\n".join(lines)


def explain(
    model: ValueModel,
    factors: ArrayLike,
    *,
    machine: bool = False,
    cut: float | None = None,
    among: ArrayLike | None = None,
    budget: Budget | str | float | None = None,
) -> Explanation:
    """Explain the value of one memory and, given a cut, its decision.

    Contributions are exact Shapley values over the seven factors (2^7 = 128 evaluations in one batch), a
    factor that is "absent" standing at its mean over the memories that the model was exported with. For a
    linear model they are weight · (factor − mean). Flips are searched for on 257 points of each factor and
    then by bisection, all with the model itself.

    Parameters
    ----------
    model
        A loaded model.
    factors
        float[7] in [0, 1].
    machine
        A machine said it.
    cut
        The value from which memories are kept.
    among, budget
        Instead of ``cut``: the values float[m] of the store's memories, and what is kept of them (in
        memories). The cut is the lowest value kept.

    Raises
    ------
    ValueError
        For anything but seven factors, or a cut given both ways.
    """
    row = np.asarray(factors, dtype=np.float32)
    if row.shape == (1, len(FACTORS)):
        row = row[0]
    if row.shape != (len(FACTORS),):
        raise ValueError(f"explain takes one memory, {len(FACTORS)} factors; got shape {row.shape}")
    edge = _cut(cut, among, budget)
    mean = model.reference_mean
    chosen = _coalitions()[0]
    rows = np.where(chosen, row, mean).astype(np.float32)
    # Two more: the memory itself, and the mean as a person's, by the very call that decides.
    values = model.value(rows, machine=machine).astype(np.float64)
    baseline = float(model.value(mean, machine=False)[0])
    parts = _coalitions()[1] @ values
    value = float(model.value(row, machine=machine)[0])
    return Explanation(
        value=value,
        baseline=baseline,
        contributions=dict(zip(FACTORS, parts.tolist(), strict=True)),
        role=float(values[0]) - baseline if machine else 0.0,
        factors=dict(zip(FACTORS, row.tolist(), strict=True)),
        reference=dict(zip(FACTORS, mean.tolist(), strict=True)),
        cut=edge,
        flips=() if edge is None else _flips(model, row, machine, edge, value >= edge),
    )


def near_misses(
    model: ValueModel,
    factors: ArrayLike,
    budget: Budget | str | float,
    *,
    ids: Sequence[str] | None = None,
    machine: ArrayLike | None = None,
    count: int = 10,
) -> list[tuple[str, Explanation]]:
    """The memories just below the cut of a budget in memories, closest first, each explained.

    Parameters
    ----------
    factors
        float[n, 7].
    budget
        What is kept of the n memories.
    ids, machine
        n names (default the row numbers) and bool[n].
    count
        At most so many.
    """
    table = np.asarray(factors, dtype=np.float32)
    flags = np.zeros(len(table), bool) if machine is None else np.asarray(machine, dtype=bool)
    values = model.value(table, machine=flags)
    plan = plan_forgetting(values, _in_memories(Budget.parse(budget)), ids=ids)
    where = {name: i for i, name in enumerate(plan.ids)}
    return [
        (
            miss["id"],
            explain(model, table[where[miss["id"]]], machine=bool(flags[where[miss["id"]]]), cut=plan.cut),
        )
        for miss in plan.near_misses(count)
    ]


def _cut(cut: float | None, among: ArrayLike | None, budget: Budget | str | float | None) -> float | None:
    if cut is not None:
        if among is not None or budget is not None:
            raise ValueError("give the cut itself, or the values it comes from with a budget, not both")
        if not np.isfinite(cut):
            raise ValueError(f"the cut must be a finite number, got {cut}")
        return float(cut)
    if (among is None) != (budget is None):
        raise ValueError("a budget needs the values among which it cuts, and the reverse")
    if among is None or budget is None:
        return None
    return plan_forgetting(among, _in_memories(Budget.parse(budget))).cut


def _in_memories(budget: Budget) -> Budget:
    if budget.unit != "memories":
        raise ValueError(
            f"a cut in value needs a budget in memories, not {budget}; plan_forgetting takes tokens"
        )
    return budget


@lru_cache(maxsize=1)
def _coalitions() -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """bool[2^7, 7] which factors are present; float64[7, 2^7] Shapley's weights of the values of these."""
    width = len(FACTORS)
    codes = np.arange(1 << width)
    present = (codes[:, None] >> np.arange(width)) & 1 == 1
    size = present.sum(axis=1)
    weight = np.array(
        [factorial(s) * factorial(width - s - 1) / factorial(width) for s in range(width)] + [0.0]
    )
    # With the factor: the weight of the coalition without it; without: the same, negative.
    return present, np.where(present, weight[size[:, None] - 1], -weight[size[:, None]]).T


def _flips(
    model: ValueModel, row: NDArray[np.float32], machine: bool, cut: float, kept: bool
) -> tuple[Flip, ...]:
    """Smallest change of each factor that carries the value to the other side of the cut, smallest first."""
    grid = np.linspace(0.0, 1.0, _GRID, dtype=np.float32)
    width = len(FACTORS)
    rows = np.repeat(row[None], width * _GRID, axis=0)
    rows[np.arange(len(rows)), np.repeat(np.arange(width), _GRID)] = np.tile(grid, width)
    turned = ((model.value(rows, machine=machine) >= cut) != kept).reshape(width, _GRID)
    which = np.flatnonzero(turned.any(axis=1))
    if not len(which):
        return ()
    distance = np.where(turned[which], np.abs(grid - row[which, None]), np.inf)
    far = grid[distance.argmin(axis=1)].astype(np.float64)  # turned
    near = row[which].astype(np.float64)  # not turned; the last grid point before is closer
    step = np.sign(near - far) / (_GRID - 1)
    near = np.where(np.abs(near - far) > np.abs(step), far + step, near)
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        rows = np.repeat(row[None], len(which), axis=0)
        rows[np.arange(len(which)), which] = middle
        over = (model.value(rows, machine=machine) >= cut) != kept
        far, near = np.where(over, middle, far), np.where(over, near, middle)
    found = [
        Flip(FACTORS[i], float(to - row[i]), float(to)) for i, to in zip(which.tolist(), far, strict=True)
    ]
    return tuple(sorted(found, key=lambda flip: abs(flip.change)))
