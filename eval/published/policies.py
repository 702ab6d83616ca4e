"""The published policies as rows of the table: each scores a case's view by its formula.

LongMemEval and Memora keep no log and ask nothing before the scores are in, so most formulas come down to the
age of a memory there. The report says of which rows that holds. With ``replay`` (rows ending in ``_replay``)
the uses are made up from the conversations themselves (``replay.py``).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memvalue.data import Consolidation, Event
from memvalue.eval.bench import Bench, BlindBench
from memvalue.eval.learned import check_labels
from memvalue.eval.policy import Inapplicable, Policy, Regime, Rule
from memvalue.eval.published.act_r import act_r
from memvalue.eval.published.elfmem import elfmem
from memvalue.eval.published.fade_mem import fade_mem
from memvalue.eval.published.fsrs import fsrs
from memvalue.eval.published.generative_agents import generative_agents
from memvalue.eval.published.half_life import fit_half_life, half_life
from memvalue.eval.published.hindsight import hindsight
from memvalue.eval.published.knowledge_tracing import knowledge_tracing
from memvalue.eval.published.lfu import lfu
from memvalue.eval.published.lru import lru
from memvalue.eval.published.mem0_decay import mem0_decay
from memvalue.eval.published.memory_bank import memory_bank
from memvalue.eval.published.memory_os import memory_os_heat
from memvalue.eval.published.oblivion import oblivion
from memvalue.eval.published.replay import replayed_events
from memvalue.eval.published.sm2 import sm2
from memvalue.eval.published.view import View
from memvalue.serve.frames import FRAMES

#: A policy: memories, events, query or none, now → float64[n].
Formula = Callable[[View], NDArray[np.float64]]

#: Where ratings of a language model are asked for: none (all alike), or the plain mean of the seven factors.
Importance = Literal["uniform", "value"]

#: Every formula by its name, with the paper's constants; ``_released`` is what the authors' code does.
FORMULAS: dict[str, Formula] = {
    "generative_agents": generative_agents,
    "generative_agents_released": partial(generative_agents, released=True),
    "memory_bank": memory_bank,
    "memory_bank_released": partial(memory_bank, released=True),
    "act_r": act_r,
    "fsrs": fsrs,
    "memory_os_heat": memory_os_heat,
    "mem0_decay": mem0_decay,
    "fade_mem": fade_mem,
    "oblivion": oblivion,
    "hindsight": hindsight,
    **{f"elfmem_{frame}": partial(elfmem, frame=frame) for frame in FRAMES},
    "knowledge_tracing": knowledge_tracing,
    "sm2": sm2,
    "lru": lru,
    "lfu": lfu,
}

#: Formulas that want an importance; each has a second row ``_value``, rated by the mean of the seven factors.
RATED = ("generative_agents", "elfmem_self")

#: Say nothing at all where no event is logged.
NEED_EVENTS = ("knowledge_tracing", "lfu")

#: Rows that are fitted: half-life regression on uses alone, and with the seven factors for lexeme tags.
FITTED = ("half_life_regression", "half_life_regression_factors")

#: The one-line rows of the same table and its black-box ceiling, which the roster has already.
OTHERS = ("random", "recency", "length", "role", "user_first_person", "trees")

ROWS: tuple[str, ...] = (*FORMULAS, *(f"{name}_value" for name in RATED), *FITTED)
REPLAY_ROWS: tuple[str, ...] = tuple(f"{name}_replay" for name in ROWS)


class Views:
    """The views of a bench's cases; replayed events are kept, since every row of a table asks for them."""

    def __init__(self, replay: bool = False) -> None:
        self.replay = replay
        self._events: dict[int, tuple[Consolidation, tuple[Event, ...]]] = {}

    def of(
        self, bench: BlindBench, *, importance: Importance = "uniform", items: bool = False
    ) -> Iterator[View]:
        """One view a case, in order.

        Parameters
        ----------
        bench
            Its similarity, where it has been opened to an oracle, is the relevance.
        importance
            ``value`` rates a memory by the mean of its factors.
        items
            Take the factors along, for a fit.

        Raises
        ------
        Inapplicable
            When the bench has no memories, times and events but numbers alone.
        """
        if len(bench.consolidations) != bench.cases:
            raise Inapplicable("published policies read times and events, and this bench has none")
        for c, store in enumerate(bench.consolidations):
            rows = slice(int(bench.offsets[c]), int(bench.offsets[c + 1]))
            factors = bench.factors[rows].astype(np.float64)
            yield View.of(
                store,
                events=self._of(store),
                importance=factors.mean(axis=1) if importance == "value" else None,
                relevance=None if bench.similarity is None else bench.similarity[rows],
                items=factors if items else None,
                words=bench.tokens[rows],
            )

    def events(self, bench: BlindBench) -> int:
        """How many events the cases have, made up or logged."""
        return sum(len(self._of(store)) for store in bench.consolidations)

    def _of(self, store: Consolidation) -> tuple[Event, ...]:
        if not self.replay:
            return store.events
        found = self._events.get(id(store))
        if found is None or found[0] is not store:
            found = (store, tuple(sorted((*store.events, *replayed_events(store)), key=lambda e: e.time)))
            self._events[id(store)] = found
        return found[1]


class Published(Rule):
    """A published formula as a policy.

    Parameters
    ----------
    name
        Row name.
    formula
        Takes a view.
    views
        Where the views come from; shared by the rows of a table.
    importance
        What stands in for a language model's rating.
    needs_events
        The formula says nothing where no event is logged: left out of the table then.
    """

    def __init__(
        self,
        name: str,
        formula: Formula,
        views: Views,
        importance: Importance = "uniform",
        needs_events: bool = False,
    ) -> None:
        self.name = name
        self._formula = formula
        self._views = views
        self._importance: Importance = importance
        self._needs_events = needs_events

    def score(self, bench: BlindBench) -> NDArray[np.float64]:
        """float64[N]; the formula of each case."""
        if self._needs_events and not self._views.events(bench):
            raise Inapplicable(f"{self.name} counts what is logged, and this data has no event log")
        views = self._views.of(bench, importance=self._importance)
        return _joined([self._formula(view) for view in views])

    def remark(self, bench: BlindBench) -> str | None:
        """What this data leaves of the formula, for the report's notes; None where nothing is missing."""
        found = self._views.events(bench)
        if self._views.replay:
            return f"uses are made up: {found} times a later turn shares rare words with an earlier one"
        if found:
            return None
        if self._formula is memory_os_heat:
            return "no visit is logged: the length of a conversation decides, then its age"
        if self._importance == "value":
            return (
                "no use is logged and nothing is asked: age, and the mean of the seven factors for a rating"
            )
        return (
            "no use is logged and nothing is asked: creation time alone, which the turns of a session share"
        )


class HalfLifeRegression:
    """Half-life regression, fitted on what the training half needed.

    Parameters
    ----------
    name
        Row name.
    views
        Where the views come from.
    items
        Take the seven factors for the paper's lexeme tags; else x is uses alone.
    """

    regime: Regime = "blind"
    learns = True

    def __init__(self, name: str, views: Views, items: bool = False) -> None:
        self.name = name
        self._views = views
        self._items = items
        self.theta: NDArray[np.float64] | None = None

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """None: θ weighs a half-life, not a value."""
        return None

    def fit(self, train: Bench) -> Policy:
        """A copy with θ fitted on ``train``."""
        check_labels(train, self.name)
        fitted = copy.copy(self)
        needed = np.split(train.needed, train.offsets[1:-1])
        fitted.theta = fit_half_life(list(self._views.of(train.blind(), items=self._items)), needed)
        return fitted

    def score(self, bench: BlindBench) -> NDArray[np.float64]:
        """float64[N]; log₂ p of each memory."""
        if self.theta is None:
            raise ValueError(f"{self.name!r} is not fitted; call fit(train) first")
        return _joined([half_life(view, self.theta) for view in self._views.of(bench, items=self._items)])

    def remark(self, bench: BlindBench) -> str | None:
        """As :meth:`Published.remark`."""
        if self._views.replay or self._views.events(bench):
            return None
        return None if self._items else "no use is logged: one half-life for all, so creation time alone"

    def __repr__(self) -> str:
        return f"HalfLifeRegression({self.name!r})"


def published_policies(*, replay: bool = False) -> list[Policy]:
    """Every published row: :data:`ROWS`, or :data:`REPLAY_ROWS` over made-up uses."""
    views, end = Views(replay), "_replay" if replay else ""
    rows: list[Policy] = [
        Published(name + end, formula, views, needs_events=name in NEED_EVENTS)
        for name, formula in FORMULAS.items()
    ]
    rows += [Published(f"{name}_value{end}", FORMULAS[name], views, "value") for name in RATED]
    rows += [HalfLifeRegression(name + end, views, name.endswith("factors")) for name in FITTED]
    return rows


def _joined(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.concatenate(parts) if parts else np.zeros(0)
