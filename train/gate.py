"""The gate: a candidate takes the place of what is in use only when later cases say so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Decision = Literal["keep-base", "keep-current", "promote"]

#: Fewest held-out cases on which anything is promoted: the sign-flip test of five differences can reach
#: 1/32, that of four no more than 1/16.
LEAST_CASES = 5

#: Chance with which as many cases as are said to settle it would settle it.
POWER = 0.8

#: Lag-one autocorrelation, in units of 1/√n, beyond which consecutive cases are taken as dependent (one-sided
#: 95 % under independence).
DEPENDENT = 1.645


@dataclass(frozen=True)
class Comparison:
    """Mean of n paired differences in retention.

    ``gain`` their mean; ``low`` and ``high`` its one-sided bounds at the gate's confidence, infinite for too
    few cases; ``p`` one-sided p-value of "no better", ``worse_p`` of "no worse"; ``block`` length of the
    blocks whose means were taken as independent; ``cases`` n.
    """

    gain: float
    low: float
    high: float
    p: float
    worse_p: float
    block: int
    cases: int


@dataclass(frozen=True)
class Verdict:
    """Which model stays.

    Parameters
    ----------
    decision
        ``promote`` (the candidate), ``keep-current`` or ``keep-base``.
    gain, ci
        Retention of the candidate beyond that of what was in use (the current model, else the base), and its
        one-sided bounds (low, high). 0 and (−inf, inf) where there is no candidate.
    p
        One-sided: how likely so much of a gain is by chance.
    gain_over_base
        Mean beyond the base of the model that stays: 0 for ``keep-base``.
    cases
        Held-out cases that count.
    cases_to_settle
        Held-out cases that would show this gain, four times in five; None where there is no gain.
    reasons
        Why, in words.
    comparisons
        ``candidate-current``, ``candidate-base`` and ``current-base``, as far as these are there.
    """

    decision: Decision
    gain: float
    ci: tuple[float, float]
    p: float
    gain_over_base: float
    cases: int
    cases_to_settle: int | None
    reasons: tuple[str, ...]
    comparisons: dict[str, Comparison]

    def to_dict(self) -> dict[str, Any]:
        """Plain data; infinite bounds become None."""

        def plain(x: float) -> float | None:
            return float(x) if math.isfinite(x) else None

        return {
            "decision": self.decision,
            "gain": plain(self.gain),
            "ci": [plain(x) for x in self.ci],
            "p": plain(self.p),
            "gain_over_base": plain(self.gain_over_base),
            "cases": self.cases,
            "cases_to_settle": self.cases_to_settle,
            "reasons": list(self.reasons),
            "comparisons": {
                name: {
                    "gain": plain(c.gain), "low": plain(c.low), "high": plain(c.high), "p": plain(c.p),
                    "worse_p": plain(c.worse_p), "block": c.block, "cases": c.cases,
                }
                for name, c in self.comparisons.items()
            },
        }  # fmt: skip


def judge(
    kept: Mapping[str, ArrayLike], *, confidence: float = 0.95, least: int = LEAST_CASES, block: int = 1
) -> Verdict:
    """Decide between the base, what is in use and a candidate, on cases that none of them was fitted on.

    The candidate is promoted when it is better than both others beyond chance, each by a one-sided paired
    test. Otherwise what is in use stays, ties included; but a current model that is measurably worse than the
    base gives way to the base.

    Parameters
    ----------
    kept
        ``base``, and ``current`` and ``candidate`` where there are such: float[C], each held-out case's
        retention, in order of time. NaN for a case that needs nothing; it is left out.
    confidence
        Of the one-sided intervals.
    least
        Fewest cases on which anything may change.
    block
        Consecutive cases that are known to share what they measure (overlapping horizons); 1 for none.

    Raises
    ------
    ValueError
        For a missing base, unknown names, columns of other lengths, or numbers out of range.
    """
    unknown = set(kept) - {"base", "current", "candidate"}
    if unknown or "base" not in kept:
        raise ValueError(f"the gate compares base, current and candidate, and needs base; got {sorted(kept)}")
    if not 0.5 <= confidence < 1.0:
        raise ValueError(f"confidence must lie in [.5, 1), got {confidence}")
    if least < 2 or block < 1:
        raise ValueError(f"least must be 2 or more and block 1 or more, got {least} and {block}")
    columns = {name: np.asarray(column, dtype=np.float64) for name, column in kept.items()}
    if any(c.shape != columns["base"].shape or c.ndim != 1 for c in columns.values()):
        raise ValueError("the gate needs one number a case for every model, over the same cases")
    counts = np.all([np.isfinite(c) for c in columns.values()], axis=0)
    columns = {name: column[counts] for name, column in columns.items()}
    n = int(counts.sum())

    def compared(one: str, other: str) -> None:
        if one in columns and other in columns:
            gaps = columns[one] - columns[other]
            comparisons[f"{one}-{other}"] = compare(gaps, confidence=confidence, least=least, block=block)

    comparisons: dict[str, Comparison] = {}
    compared("candidate", "current")
    compared("candidate", "base")
    compared("current", "base")
    level = 1.0 - confidence
    in_use: Literal["current", "base"] = "current" if "current" in columns else "base"
    reasons: list[str] = []
    promote = "candidate" in columns
    rivals = [other for other in ("current", "base") if f"candidate-{other}" in comparisons]
    for other in rivals:
        c = comparisons[f"candidate-{other}"]
        if not c.low > 0:
            promote = False
            reasons.append(_why_not(c, other, level, least))
    if "candidate" not in columns:
        reasons.append("there is no candidate")
    decision: Decision = "promote" if promote else "keep-current" if in_use == "current" else "keep-base"
    if promote:
        reasons = [_why(comparisons[f"candidate-{other}"], other) for other in rivals]
    elif in_use == "current":
        worse = comparisons["current-base"]
        if worse.high < 0:
            decision = "keep-base"
            reasons.append(
                f"the current model keeps {-worse.gain:.3f} less than the base over {n} cases (one-sided p "
                f"{worse.worse_p:.3g}); the base takes its place"
            )
    main = comparisons.get(f"candidate-{in_use}")
    stays = {"promote": "candidate-base", "keep-current": "current-base"}.get(decision, "")
    return Verdict(
        decision=decision,
        gain=main.gain if main else 0.0,
        ci=(main.low, main.high) if main else (-math.inf, math.inf),
        p=main.p if main else 1.0,
        gain_over_base=comparisons[stays].gain if stays else 0.0,
        cases=n,
        cases_to_settle=_to_settle(columns, rivals, confidence, block, least),
        reasons=tuple(reasons),
        comparisons=comparisons,
    )


def compare(gaps: ArrayLike, *, confidence: float, least: int = LEAST_CASES, block: int = 1) -> Comparison:
    """One-sided t bounds of the mean of paired differences, in order of time.

    Consecutive cases share pages and horizons. Where the differences' lag-one autocorrelation r shows it, or
    ``block`` says so, means of blocks are taken for the sample (Carlstein 1986), of length
    ⌈(2r/(1 − r²))^⅔ n^⅓⌉, the best for a first-order process. The p-value is not below 2^−m, m being the
    number of blocks that differ at all: the sign-flip test's least.

    Parameters
    ----------
    gaps
        float[n], finite.
    confidence, least, block
        As in :func:`judge`.
    """
    d = np.asarray(gaps, dtype=np.float64)
    n = len(d)
    if n < 2 or n < least:
        return Comparison(float(d.mean()) if n else 0.0, -math.inf, math.inf, 1.0, 1.0, block, n)
    length = max(block, _dependence(d))
    means, sizes = _blocks(d, length)
    if len(means) < least:  # too few independent pieces to say anything
        return Comparison(float(d.mean()), -math.inf, math.inf, 1.0, 1.0, length, n)
    gain = float(d.mean())
    spread = float(np.sqrt(((means - gain) ** 2 * sizes / sizes.mean()).sum() / (len(means) - 1)))
    error = spread / math.sqrt(len(means))
    floor = 2.0 ** -float(np.count_nonzero(means))
    p, worse = _one_sided(gain, error, len(means) - 1)
    p, worse = max(p, floor), max(worse, floor)
    reach = _t_quantile(confidence, len(means) - 1) * error
    level = 1.0 - confidence
    # The bounds say what the p-values say: a floor above the level leaves 0 inside.
    low = gain - reach if p <= level or gain <= 0 else min(gain - reach, 0.0)
    high = gain + reach if worse <= level or gain >= 0 else max(gain + reach, 0.0)
    return Comparison(gain, low, high, p, worse, length, n)


def _dependence(d: NDArray[np.float64]) -> int:
    """Length of blocks that the lag-one autocorrelation asks for; 1 where it is within chance."""
    n = len(d)
    centred = d - d.mean()
    power = float(centred @ centred)
    if power <= 1e-24 * max(n, 1):
        return 1
    r = float(centred[1:] @ centred[:-1]) / power
    if r * math.sqrt(n) <= DEPENDENT:
        return 1
    r = min(r, 0.95)
    length: int = math.ceil(math.pow(2.0 * r / (1.0 - r * r), 2.0 / 3.0) * math.pow(n, 1.0 / 3.0))
    return max(2, length)


def _blocks(d: NDArray[np.float64], length: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and sizes of consecutive blocks of about this length, as equal as can be."""
    count = max(1, len(d) // length)
    edges = np.linspace(0, len(d), count + 1).round().astype(int)
    sizes = np.diff(edges).astype(np.float64)
    return np.add.reduceat(d, edges[:-1]) / sizes, sizes


def _one_sided(gain: float, error: float, freedom: int) -> tuple[float, float]:
    """p-values of "no better" and "no worse"."""
    from scipy.stats import t

    if error <= 1e-15:
        return (0.0, 1.0) if gain > 1e-12 else (1.0, 0.0) if gain < -1e-12 else (1.0, 1.0)
    return float(t.sf(gain / error, freedom)), float(t.cdf(gain / error, freedom))


def _t_quantile(confidence: float, freedom: int) -> float:
    from scipy.stats import t

    return float(t.ppf(confidence, freedom))


def _to_settle(
    columns: dict[str, NDArray[np.float64]], rivals: list[str], confidence: float, block: int, least: int
) -> int | None:
    """Held-out cases at which the smallest gain over a rival would show, by the normal approximation."""
    from scipy.stats import norm

    z = float(norm.ppf(confidence) + norm.ppf(POWER))
    most = 0
    for other in rivals:
        d = columns["candidate"] - columns[other]
        gain = float(d.mean()) if len(d) else 0.0
        if len(d) < 2 or gain <= 1e-12:
            return None
        length = max(block, _dependence(d))
        means, _ = _blocks(d, length)
        variance = float(means.var(ddof=1)) * length if len(means) > 1 else float(d.var(ddof=1))
        most = max(most, math.ceil((z / gain) ** 2 * variance))
    return max(most, least) if rivals else None


_THE = {"base": "the base", "current": "the model in use"}


def _why(c: Comparison, other: str) -> str:
    return f"keeps {c.gain:.3f} more than {_THE[other]} over {c.cases} cases (one-sided p {c.p:.3g})"


def _why_not(c: Comparison, other: str, level: float, least: int) -> str:
    if c.cases < least:
        return f"{c.cases} held-out cases; nothing is promoted on fewer than {least}"
    if c.low == -math.inf:
        return f"{c.cases} held-out cases in runs of {c.block} that depend on each other are too few to tell"
    if abs(c.gain) < 1e-12:
        return f"keeps as much as {_THE[other]}"
    if c.gain < 0:
        return f"keeps {-c.gain:.3f} less than {_THE[other]} over {c.cases} cases"
    return (
        f"keeps {c.gain:.3f} more than {_THE[other]} over {c.cases} cases, which chance alone may do "
        f"(one-sided p {c.p:.3g}, needed {level:.3g})"
    )
