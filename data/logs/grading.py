"""How often graders are wrong, judged by how often they contradict each other."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from memvalue.data.logs.log import Log

#: Two grades of one memory within a month, with nothing written between them, speak of the same state of it.
WINDOW = np.timedelta64(30, "D")

#: One-sided 95 %.
_Z = 1.645


@dataclass(frozen=True, slots=True)
class GradingError:
    """The share of grades that are wrong, as far as pairs of grades tell.

    Parameters
    ----------
    share
        Estimate in [0, .5]; NaN without pairs.
    at_least
        Its one-sided 95 % lower bound.
    pairs
        Pairs of grades compared.
    """

    share: float
    at_least: float
    pairs: int


def grading_error(log: Log) -> GradingError:
    """Compare consecutive grades of one memory: confirmed against corrected or contradicted.

    Were each grade wrong with chance ε on its own, two grades of one thing would differ with chance
    d = 2ε(1 − ε), whatever is true of it; so ε = (1 − √(1 − 2d)) / 2. What truly changed between two grades
    counts as a contradiction too, which happens once a change: the estimate errs on the high side by little.
    """
    right = log.of("confirmed") & (log.signal >= 0.5)
    grade = log.of("confirmed", "corrected", "contradicted") & (log.weight > 0)
    looked = np.flatnonzero(grade | log.of("written", "superseded"))
    looked = looked[np.argsort(log.memory[looked], kind="stable")]
    one, other = looked[:-1], looked[1:]
    paired = (
        (log.memory[one] == log.memory[other])
        & grade[one] & grade[other]
        & (log.time[other] - log.time[one] <= WINDOW)
    )  # fmt: skip
    pairs = int(paired.sum())
    if not pairs:
        return GradingError(math.nan, 0.0, 0)
    differ = int((paired & (right[one] != right[other])).sum())
    return GradingError(_error(differ / pairs), _error(_lower(differ, pairs)), pairs)


def _error(differ: float) -> float:
    return (1.0 - math.sqrt(max(0.0, 1.0 - 2.0 * differ))) / 2.0


def _lower(hits: int, n: int) -> float:
    """Wilson's lower bound of a share (Wilson 1927)."""
    p, z2 = hits / n, _Z * _Z
    return (p + z2 / (2 * n) - _Z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))) / (1 + z2 / n)
