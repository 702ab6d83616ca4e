"""Policies that a simulated business is replayed under: how candidates are ordered, and what counts as use.

Every policy ranks by the runtime's own :func:`~memvalue.serve.rank_many.rank_many` over states that the
runtime's own fold made; policies differ in the signals that they hand over. None of them sees an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memvalue.serve.frames import frame_states
from memvalue.serve.history.states import States
from memvalue.serve.history.utility import mean
from memvalue.serve.rank import HARM, NUDGE
from memvalue.serve.rank_many import rank_many
from memvalue.serve.signals import harm_strength, recent_need, use_strength, value_signal

#: ACT-R activation at which a use strength is as high as the short clock's: both clocks give half of a single
#: use's strength 5.8 days after it (Σ t^−.5 = .085 then, and .995^t = .5).
ACTIVATION_SCALE = 2.0 * 138.3**-0.5

#: Uses over a whole life at which the lifetime strength is 1 − 2/e.
LIFETIME_SCALE = 5.0

#: Recent need under which a gate drops a page: a single use fades to it in nearly four weeks.
GATE = 0.04

#: What a named list can go by.
View = Literal["long", "short", "edit", "count"]
VIEWS: tuple[View, ...] = ("long", "short", "edit", "count")
Signals = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Moment:
    """What a policy may look at for the q questions of a day.

    Parameters
    ----------
    states
        The log up to the morning of the day.
    now
        That morning, in hours.
    rows
        int64[q, n]; the states' row of each candidate, 0 where there is none.
    relevance
        float64[q, n]; by reciprocal rank, NaN where there is no candidate.
    similarity
        float32[q, n]; NaN likewise.
    """

    states: States
    now: float
    rows: NDArray[np.int64]
    relevance: NDArray[np.float64]
    similarity: NDArray[np.float32]

    def ask(self, question: Callable[..., NDArray[np.float64]], **more: Any) -> NDArray[np.float64]:
        """float64[q, n]; a question to the states at this moment, such as ``use_strength``."""
        found = question(self.states, self.now, self.rows.ravel(), **more)
        return found.reshape(self.rows.shape)

    def of(self, column: Callable[[NDArray[np.int64]], NDArray[np.float64]]) -> NDArray[np.float64]:
        """float64[q, n]; a column of the states that does not depend on the moment."""
        return column(self.rows.ravel()).reshape(self.rows.shape)


def _nothing(moment: Moment) -> Signals:
    return {}


@dataclass(frozen=True)
class Ranker:
    """A policy.

    Parameters
    ----------
    name, says
        For the table.
    signals
        What it hands to the ranking for each candidate: ``values``, ``use_strength``, ``harm``.
    width, harm_width, bounded
        Largest nudges, and whether they stay inside the spread of the scores.
    shown_is_use
        Every page that was shown counts as used, not only those that were opened or confirmed.
    view
        What its named list goes by: the long clock, the short clock, the last edit, or the count of uses.
    gate
        Recent need under which a candidate is dropped; None for no gate.
    frame
        An elfmem frame that orders the candidates in place of nudged reciprocal ranks.
    """

    name: str
    says: str
    signals: Callable[[Moment], Signals] = _nothing
    width: float = NUDGE
    harm_width: float = HARM
    bounded: bool = True
    shown_is_use: bool = False
    view: View = "long"
    gate: float | None = None
    frame: str | None = None

    def order(self, moment: Moment, top: int) -> NDArray[np.int64]:
        """int64[q, top]; columns of the candidates, best first, −1 where there are fewer."""
        if self.frame is not None:
            return self._framed(moment, top)
        relevance = moment.relevance
        if self.gate is not None:
            relevance = np.where(moment.ask(recent_need) < self.gate, np.nan, relevance)
        found = rank_many(
            relevance,
            **self.signals(moment),
            top=top,
            width=self.width,
            harm_width=self.harm_width,
            bounded=self.bounded,
        )
        return found.order

    def _framed(self, moment: Moment, top: int) -> NDArray[np.int64]:
        there = ~np.isnan(moment.relevance)
        similarity = np.where(there, moment.similarity, 0.0)
        assert self.frame is not None
        flat = frame_states(
            moment.states, moment.now, self.frame, rows=moment.rows.ravel(), similarity=similarity.ravel()
        )
        score = np.where(there, flat.score.reshape(there.shape), -np.inf)
        order = np.argsort(-score, axis=1, kind="stable")[:, :top]
        return np.where(np.take_along_axis(there, order, axis=1), order, -1)


def _use(moment: Moment) -> Signals:
    return {"use_strength": moment.ask(use_strength)}


def _use_long(moment: Moment) -> Signals:
    """The power-law clock, squashed as the short one is."""
    total = np.exp(moment.ask(States.activation))
    return {"use_strength": 1.0 - 2.0 * np.exp(-total / ACTIVATION_SCALE)}


def _harm(moment: Moment) -> Signals:
    return {"harm": moment.ask(harm_strength)}


def _dual(moment: Moment) -> Signals:
    return {**_use(moment), **_harm(moment)}


def _dual_value(moment: Moment) -> Signals:
    value = value_signal(moment.states, moment.rows.ravel()).reshape(moment.rows.shape)
    return {"values": value, **_dual(moment)}


def _folded(moment: Moment) -> Signals:
    """One number for both: recent corrections are taken off recent need."""
    net = moment.ask(recent_need) - moment.ask(States.harm)
    return {"use_strength": 1.0 - 2.0 * np.exp(-np.maximum(net, 0.0))}


def _lifetime_use(moment: Moment) -> Signals:
    return {"use_strength": 1.0 - 2.0 * np.exp(-(1.0 + moment.of(moment.states.uses)) / LIFETIME_SCALE)}


def _utility(moment: Moment) -> NDArray[np.float64]:
    return mean(moment.of(moment.states.alpha), moment.of(moment.states.beta))


def _lifetime_folded(moment: Moment) -> Signals:
    """Beta's mean over a whole life: help raises it, corrections lower it."""
    return {"use_strength": 2.0 * _utility(moment) - 1.0}


def _lifetime_dual(moment: Moment) -> Signals:
    """Uses and corrections of a whole life, kept apart but never fading."""
    return {**_lifetime_use(moment), "harm": np.maximum(0.0, 1.0 - 2.0 * _utility(moment))}


#: Every policy, in the order of the table. ``dual`` is the product's.
RANKERS: tuple[Ranker, ...] = (
    Ranker("relevance", "relevance alone; named list by the last edit", view="edit"),
    Ranker("retrieval_as_use", "whatever was shown counts as used, ±5 %", _use,
           shown_is_use=True, view="short"),
    Ranker("use", "deliberate use, short clock, ±5 %; named list by it too", _use, view="short"),
    Ranker("use_long", "deliberate use, long clock, ±5 %; named list by it too", _use_long),
    Ranker("folded", "use less corrections in one number, ±5 %", _folded, view="short"),
    Ranker("lifetime_use", "count of uses, ±5 %; named list by the count", _lifetime_use, view="count"),
    Ranker("lifetime_folded", "Beta mean of all outcomes, ±5 %", _lifetime_folded, view="count"),
    Ranker("lifetime_dual", "count of uses ±5 %, share of corrections −9 %", _lifetime_dual, view="count"),
    Ranker("harm", "recent corrections alone, −9 %", _harm),
    Ranker("dual", "ours: short clock ±5 %, recent corrections −9 %, named list by the long clock", _dual),
    Ranker("dual_value", "ours, with the importance told at writing", _dual_value),
    Ranker("dual_15", "as dual at ±15 %", _dual, width=0.15, bounded=False),
    Ranker("dual_50", "as dual at ±50 %, beyond the spread", _dual, width=0.5, bounded=False),
    Ranker("gate", "as dual, but faded pages are dropped", _dual, gate=GATE),
    Ranker("elfmem", "elfmem's frame ATTENTION", frame="attention"),
)  # fmt: skip

#: The product's policy.
MAIN = "dual"


def rankers(names: str | Sequence[str] = "all") -> tuple[Ranker, ...]:
    """The policies of these names, in the order of the table; ``all`` for every one. ``dual`` is always in.

    Raises
    ------
    ValueError
        For an unknown name.
    """
    if names == "all" or list(names) == ["all"]:
        return RANKERS
    wanted = set(names.split(",") if isinstance(names, str) else names)
    known = [r.name for r in RANKERS]
    if unknown := sorted(wanted - set(known)):
        raise ValueError(f"unknown policy {', '.join(unknown)}; choose from all, {', '.join(known)}")
    return tuple(r for r in RANKERS if r.name in wanted | {MAIN})
