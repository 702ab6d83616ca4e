"""Plots for the registry, as PNG bytes: what is kept by each model, and how well values agree with needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Groups of equally many memories in the reliability plot.
GROUPS = 10

_INCHES = (5.0, 3.5)


def retention_plot(budgets: Sequence[float], kept: Mapping[str, Sequence[float]]) -> bytes | None:
    """PNG of the share of needed memories kept at each budget, a line a model.

    Parameters
    ----------
    budgets
        Shares of memories, rising.
    kept
        Name (``base``, ``current``, ``candidate``) → a share in [0, 1] for each budget; NaN leaves a gap.

    Returns
    -------
    None where matplotlib (which the full MLflow brings) is not installed.

    Raises
    ------
    ValueError
        For a line of another length.
    """
    for name, line in kept.items():
        if len(line) != len(budgets):
            raise ValueError(f"{name!r} has {len(line)} numbers for {len(budgets)} budgets")
    figure = _figure()
    if figure is None:
        return None
    axes = figure.add_subplot()
    for name, line in kept.items():
        axes.plot([100 * b for b in budgets], line, marker="o", label=name)
    axes.set(xlabel="memories kept, %", ylabel="needed memories kept", ylim=(0, 1.02))
    if kept:
        axes.legend()
    return _png(figure)


def reliability_plot(values: ArrayLike, needed: ArrayLike) -> bytes | None:
    """PNG of how often memories were needed, by their value, in ten groups of equally many.

    Parameters
    ----------
    values
        float[n] in [0, 1], of memories that the model was not fitted on.
    needed
        bool[n].

    Returns
    -------
    None where matplotlib is not installed.
    """
    table = reliability_table(values, needed)
    figure = _figure()
    if figure is None:
        return None
    axes = figure.add_subplot()
    axes.plot(table["value"], table["needed"], marker="o")
    axes.set(xlabel="mean value of the group", ylabel="share that was needed", xlim=(0, 1))
    return _png(figure)


def reliability_table(values: ArrayLike, needed: ArrayLike) -> dict[str, list[float]]:
    """The numbers of :func:`reliability_plot`: columns ``value``, ``needed`` and ``memories``.

    Raises
    ------
    ValueError
        For no memories, or two lengths.
    """
    v = np.asarray(values, dtype=np.float64)
    y = np.asarray(needed, dtype=bool)
    if v.ndim != 1 or v.shape != y.shape or not len(v):
        raise ValueError(f"needs one value and one flag a memory, got shapes {v.shape} and {y.shape}")
    order = np.argsort(v, kind="stable")
    groups = [g for g in np.array_split(order, GROUPS) if len(g)]
    return {
        "value": [float(v[g].mean()) for g in groups],
        "needed": [float(y[g].mean()) for g in groups],
        "memories": [len(g) for g in groups],
    }


def _figure() -> Figure | None:
    try:
        from matplotlib.figure import Figure  # not pyplot, which keeps state and may ask for a screen
    except ImportError:
        return None
    return Figure(figsize=_INCHES, layout="tight")


def _png(figure: Any) -> bytes:
    out = BytesIO()
    # No date and version, so that equal numbers give equal bytes.
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()
