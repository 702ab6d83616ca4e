"""CMA-ES (Hansen 2016, arXiv 1604.00772) by package ``cma``, made quiet, reproducible and batched."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Minimum:
    """Where a search ended.

    ``x`` float64[d] and ``value`` are the best point evaluated, ``mean`` float64[d] the centre of the final
    distribution, ``evaluations`` and ``iterations`` what it cost, ``reason`` why it stopped.
    """

    x: NDArray[np.float64]
    value: float
    mean: NDArray[np.float64]
    evaluations: int
    iterations: int
    reason: str


def minimise(
    function: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    start: ArrayLike,
    step: float,
    *,
    rng: np.random.Generator,
    max_evaluations: int,
    population: int | None = None,
    tolerance: float = 1e-5,
) -> Minimum:
    """Minimise a function of d ≥ 1 real numbers without derivatives.

    Parameters
    ----------
    function
        Called with float64[P, d], a whole generation; returns float64[P].
    start, step
        float64[d] and the initial standard deviation in every direction.
    rng
        The only source of randomness; numpy's global state is neither read nor written.
    max_evaluations
        Upper limit; the last generation may exceed it by at most ``population − 1``.
    population
        Points a generation; default 4 + floor(3 ln d), the standard choice, but at least 12 so that a batched
        objective pays.
    tolerance
        Stop when the values of a generation, and the best ones of recent generations, differ by less.

    Raises
    ------
    ValueError
        For an empty or infinite start, a step of 0 or less, or a function that returns NaN.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import cma

        x0 = np.array(start, dtype=np.float64)
        if x0.ndim != 1 or not len(x0) or not np.isfinite(x0).all():
            raise ValueError(f"start must be a non-empty finite vector, got shape {x0.shape}")
        if not (step > 0 and np.isfinite(step)):
            raise ValueError(f"step must be a positive number, got {step}")
        if max_evaluations < 1:
            raise ValueError(f"max_evaluations must be 1 or more, got {max_evaluations}")
        size = population or max(12, 4 + int(3 * np.log(len(x0))))
        padded = len(x0) == 1  # cma refuses one dimension; a second, ignored one leaves the problem as it is
        origin = np.append(x0, 0.0) if padded else x0
        search = cma.CMAEvolutionStrategy(
            origin,
            step,
            {
                "popsize": size,
                "maxfevals": max_evaluations,
                "tolfun": tolerance,
                "tolfunhist": tolerance / 10,
                "seed": np.nan,  # leave the global generator alone
                "randn": lambda *shape: rng.standard_normal(shape),
                "verbose": -9,
                "verb_log": 0,
                "verb_disp": 0,
                "verb_filenameprefix": "",
                "signals_filename": None,
            },
        )
        best, value = x0, np.inf
        while not search.stop():
            points = search.ask()
            table = np.asarray(points)[:, : len(x0)]
            values = np.asarray(function(table), dtype=np.float64)
            if values.shape != (len(table),) or np.isnan(values).any():
                raise ValueError("the objective must return one number, not NaN, for each candidate")
            search.tell(points, values.tolist())
            low = int(values.argmin())
            if values[low] < value:
                best, value = table[low].copy(), float(values[low])
        return Minimum(
            x=best,
            value=value,
            mean=np.array(search.mean[: len(x0)], dtype=np.float64),
            evaluations=int(search.countevals),
            iterations=int(search.countiter),
            reason=", ".join(sorted(search.stop())),
        )
