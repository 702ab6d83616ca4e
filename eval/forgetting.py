"""Which order of forgetting is best: by forget risk, by the paper's forget score, or by plain value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.bench import Bench
from memvalue.eval.calibration import Reliability, reliability
from memvalue.eval.policy import Inapplicable
from memvalue.features.names import FACTORS
from memvalue.train.forget_risk import ForgetRisk, HeldOut, fit_forget_risk
from memvalue.train.objective import retention

if TYPE_CHECKING:
    from memvalue.serve import ValueModel

#: Exponent of the age and β of the published engine (arXiv 2606.12945).
AGE_EXPONENT = 0.7
PAPER_BETA = 8.0

#: Values of β that are tried: 0 ignores the value, 4,096 all but ignores the rest (where the oldest memory is
#: a thousand days old, age^0.7 spans a factor of 126).
BETAS: tuple[float, ...] = (0.0, *(float(2**k) for k in range(-1, 13)))

#: A larger β must keep more of the needed memories by this share: from 256 on the order hardly changes, since
#: 1 + β·value is then β·value but for the worthless.
MIN_GAIN = 2e-3

#: Column of the factor that holds rehearsal.
REHEARSAL = FACTORS.index("usage_history")

#: Shares of the memories that are kept in the comparison.
KEPT: tuple[float, ...] = (0.05, 0.1, 0.3, 0.5)


def forget_score(
    value: NDArray[np.floating],
    age_days: NDArray[np.floating],
    uses: NDArray[np.floating] | float = 0.0,
    *,
    beta: float = PAPER_BETA,
) -> NDArray[np.float64]:
    """float64[n] ≥ 0: age^0.7 / (1 + uses) / (1 + β·value) (arXiv 2606.12945); the highest goes first."""
    aged = np.maximum(np.asarray(age_days, dtype=np.float64), 0.0) ** AGE_EXPONENT
    return np.asarray(aged / (1.0 + np.asarray(uses, dtype=np.float64)) / (1.0 + beta * np.asarray(value)))


def fit_beta(
    value: NDArray[np.floating],
    bench: Bench,
    *,
    budgets: Sequence[float] = (0.05, 0.1, 0.2, 0.3),
    betas: Sequence[float] = BETAS,
) -> tuple[float, dict[str, float]]:
    """The β whose order of forgetting leaves most of the needed memories, on these (training) cases.

    Parameters
    ----------
    value
        float[N] in [0, 1]; for an honest figure, by models that had not seen the memory's case.
    bench
        C labelled cases with N memories.
    budgets
        Shares of the memories that are kept, over which retention is averaged.
    betas
        Rising candidates; of those within 0.002 of the best the smallest wins.

    Returns
    -------
    beta, and the retention of every candidate by its name.
    """
    if not len(betas) or sorted(betas) != list(betas) or betas[0] < 0:
        raise ValueError(f"betas must be rising numbers of 0 or more, got {betas!r}")
    scores = np.stack([-forget_score(value, bench.age_days, beta=b) for b in betas])
    kept = np.nanmean(retention(scores, bench.offsets, bench.needed, budgets), axis=(1, 2))
    best = int(np.flatnonzero(kept >= kept.max() - MIN_GAIN)[0])
    return float(betas[best]), {f"{b:g}": float(k) for b, k in zip(betas, kept, strict=True)}


@dataclass(frozen=True)
class Forgetting:
    """What was found about forgetting.

    Parameters
    ----------
    kept
        Order of forgetting → budget → mean share of the needed memories that are still there.
    reliability
        How far the stated P(needed) can be believed, on cases that its curve was not fitted on.
    risk, terms
        The curve fitted on all cases, and what became of each of its optional terms.
    beta
        β fitted on all cases; None where none was fitted.
    """

    kept: dict[str, dict[str, float]]
    reliability: Reliability
    risk: ForgetRisk | None = None
    terms: dict[str, str] | None = None
    beta: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain data, for a report."""
        return {
            "kept": self.kept,
            "reliability": self.reliability.as_dict(),
            "risk": None if self.risk is None else self.risk.as_dict(),
            "terms": self.terms,
            "beta": self.beta,
        }

    def text(self) -> str:
        """A small table: a row an order, a column a budget."""
        budgets = list(next(iter(self.kept.values())))
        width = max(map(len, self.kept))
        lines = [" " * width + "".join(f"{100 * float(b):>8g} %" for b in budgets)]
        lines += [
            f"{name:<{width}}" + "".join(f"{row[b]:>10.3f}" for b in budgets)
            for name, row in self.kept.items()
        ]
        return "\n".join(lines)


def judge_forgetting(
    value: NDArray[np.floating], bench: Bench, *, budgets: Sequence[float] = KEPT
) -> Forgetting:
    """Fit β and the risk, and compare the orders of forgetting on cases that they were not fitted on.

    For every other case β and the curve are those fitted on the remaining ones, and the reverse. Orders:
    ``value``, ``forget_risk``, ``forget_score`` with β fitted, ``forget_score_paper`` with β = 8, ``age``.

    Parameters
    ----------
    value
        float[N] in [0, 1]; each by a model that had not seen the memory's case.
    bench
        C labelled cases.
    budgets
        Shares of the memories that are kept.

    Raises
    ------
    Inapplicable
        When either half of the cases lacks needed memories or others to tell them from.
    """
    value = np.asarray(value, dtype=np.float64)
    rehearsal = bench.factors[:, REHEARSAL].astype(np.float64)
    uses = known_uses(bench)
    used: NDArray[np.float64] | float = 0.0 if uses is None else uses
    risk_order, score_order = np.empty(len(bench)), np.empty(len(bench))
    half = np.arange(bench.cases) % 2 == 0
    for judged in (half, ~half):
        learned, rows = np.flatnonzero(~judged), judged[bench.case_of]
        other = bench.take(learned)
        if not 0 < int(other.needed.sum()) < len(other):
            raise Inapplicable(
                "forgetting is judged on one half of the cases and fitted on the other: each needs needed "
                "memories and others; give more labelled cases"
            )
        curve, _ = fit_forget_risk(held_out(value[~rows], other))
        beta, _ = fit_beta(value[~rows], other)
        here = used if isinstance(used, float) else used[rows]
        risk_order[rows] = curve(
            value[rows], age_days=bench.age_days[rows], uses=here, rehearsal=rehearsal[rows]
        )
        score_order[rows] = forget_score(value[rows], bench.age_days[rows], here, beta=beta)
    risk, terms = fit_forget_risk(held_out(value, bench))
    beta, _ = fit_beta(value, bench)
    return Forgetting(
        kept=judge_orders(
            {
                "value": -value,
                "forget_risk": risk_order,
                "forget_score": score_order,
                "forget_score_paper": forget_score(value, bench.age_days, used),
                "age": bench.age_days,
            },
            bench,
            budgets,
        ),
        reliability=reliability(1.0 - risk_order, bench.needed),
        risk=risk,
        terms=terms,
        beta=beta,
    )


def judge_model(model: ValueModel, bench: Bench, *, budgets: Sequence[float] = KEPT) -> Forgetting:
    """The orders of forgetting, and the reliability, of a model that exists, by its own decisions.

    Only where the model was fitted on other cases is this held out.
    """
    uses = known_uses(bench)
    found = model.decide(bench.factors, age_days=bench.age_days, uses=uses, machine=~bench.person)
    used: NDArray[np.float64] | float = 0.0 if uses is None else uses
    return Forgetting(
        kept=judge_orders(
            {
                "value": -found.value,
                "forget_risk": found.forget_risk,
                "forget_score": found.forget_score,
                "forget_score_paper": forget_score(found.value, bench.age_days, used),
                "age": bench.age_days,
            },
            bench,
            budgets,
        ),
        reliability=reliability(1.0 - found.forget_risk.astype(np.float64), bench.needed),
    )


def judge_orders(
    orders: Mapping[str, NDArray[np.floating]], bench: Bench, budgets: Sequence[float] = KEPT
) -> dict[str, dict[str, float]]:
    """Order → budget → mean share of needed memories kept, when those with the *highest* number go first."""
    out = {}
    for name, column in orders.items():
        kept = retention(-np.asarray(column, dtype=np.float64), bench.offsets, bench.needed, budgets)
        means = np.nanmean(kept, axis=0)
        out[name] = {f"{b:g}": float(m) for b, m in zip(budgets, means, strict=True)}
    return out


def held_out(value: NDArray[np.floating], bench: Bench) -> HeldOut:
    """What the risk is fitted on: values by models that had not seen the case, and the bench's columns."""
    return HeldOut(
        values=value,
        needed=bench.needed,
        age_days=bench.age_days,
        uses=known_uses(bench),
        rehearsal=bench.factors[:, REHEARSAL],
        groups=bench.case_of,
    )


def known_uses(bench: Bench) -> NDArray[np.float64] | None:
    """float64[N]; deliberate uses, decayed, from the event logs; None unless every case has a log."""
    if "uses" not in bench.evidence_names:
        return None
    found = bench.column("uses").astype(np.float64)
    return found if np.isfinite(found).all() else None
