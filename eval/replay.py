"""Replay a simulated business under a policy: recall, answer, feedback, day by day, by the runtime's code."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memvalue.data.worlds import Graders, World
from memvalue.data.worlds.world import DAY
from memvalue.eval.rankers import VIEWS, Moment, Ranker, View
from memvalue.serve.history.formulas import Formulas
from memvalue.serve.history.named_list import named_list
from memvalue.serve.history.states import States
from memvalue.serve.rank import RRF_K
from memvalue.serve.signals import recent_need

#: Pages that the answer is read from (Bizer).
TOP = 4

#: Share of the pages that is kept in view by name: large enough that a good list meets most needs.
IN_VIEW = 0.2

#: A new list is made every month, and nothing is judged in the first.
MONTH = 30 * DAY

_GRADERS = Graders()

#: Measures of a replay, in the order of the table.
MEASURES = ("correct", "rare_correct", "wrong_after_switch", "named_list_coverage")


@dataclass(frozen=True, eq=False)
class Replayed:
    """What came of m needs.

    Parameters
    ----------
    place
        int64[m]; of the needed page among those answered from, from 1; 0 where it is not among them.
    stale
        bool[m]; answered from the page that the needed one replaced.
    judged
        bool[m]; after the first month.
    rare, switched
        bool[m]; the needed page is a rare one; has replaced another.
    view
        What the policy's named list goes by.
    coverage
        For each view, float64[months]; share of the month's needs whose page was in view by name, NaN for a
        month without any. All views are lists of the same log.
    events
        Events that the replay wrote.
    """

    place: NDArray[np.int64]
    stale: NDArray[np.bool_]
    judged: NDArray[np.bool_]
    rare: NDArray[np.bool_]
    switched: NDArray[np.bool_]
    view: View
    coverage: dict[View, NDArray[np.float64]]
    events: int

    @property
    def correct(self) -> NDArray[np.bool_]:
        """bool[m]; the needed page is there, and no stale page above it."""
        return (self.place > 0) & ~self.stale

    def measures(self) -> dict[str, float]:
        """The figures of :data:`MEASURES`; NaN where the world has no such need."""
        return {
            "correct": _share(self.correct, self.judged),
            "rare_correct": _share(self.correct, self.judged & self.rare),
            "wrong_after_switch": _share(self.stale, self.judged & self.switched),
            "named_list_coverage": self.covered()[self.view],
        }

    def covered(self) -> dict[View, float]:
        """Mean coverage over months of the named list by each view."""
        return {view: _share(months, ~np.isnan(months)) for view, months in self.coverage.items()}


def _share(column: NDArray[np.generic], among: NDArray[np.bool_]) -> float:
    return float(column[among].mean()) if among.any() else math.nan


def replay(
    world: World,
    ranker: Ranker,
    *,
    graders: Graders = _GRADERS,
    formulas: Formulas | None = None,
    top: int = TOP,
    in_view: float = IN_VIEW,
) -> Replayed:
    """Replay a world under a policy.

    Every page is written when it comes and at each edit. For a question, the world's twelve candidates are
    ranked by the policy, on the states of that morning, and the first four are answered from:

    - The needed page is among them and no page that it replaced is above it: correct. The page is opened;
      the grader may confirm the answer, or correct it by mistake.
    - The page that it replaced comes first: stale. That page is opened, and often corrected.
    - Neither is there: nothing is opened, and nothing learnt.

    What was shown is written to the log only where the policy counts it as use: by itself it changes no state
    that any policy reads.

    Parameters
    ----------
    world, ranker, graders
        See there.
    formulas
        Constants of the states; the defaults where None.
    top
        Pages that are answered from.
    in_view
        Share of the pages written so far that is kept in view by name.

    Raises
    ------
    ValueError
        For a number out of range.
    """
    if top < 1 or not 0.0 < in_view <= 1.0:
        raise ValueError(f"top must be 1 or more and in_view in (0, 1], got {top} and {in_view}")
    play = _Play(world, ranker, graders, formulas)
    m = len(world.need_time)
    place, stale = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=bool)
    relevance = 1.0 / (RRF_K + np.arange(1, world.candidates.shape[1] + 1))
    coverage: dict[View, list[float]] = {view: [] for view in VIEWS}
    month = MONTH
    for day, first, last in _days(world):
        while month <= day * DAY:  # the list of a month is made before its first question
            for view, share in play.coverage(month, in_view).items():
                coverage[view].append(share)
            month += MONTH
        play.write(day * DAY)
        mine = slice(first, last)
        candidates = world.candidates[mine]
        there = candidates >= 0
        moment = Moment(
            play.states,
            day * DAY,
            np.where(there, play.row[candidates], 0),
            np.where(there, relevance, np.nan),
            world.similarity[mine],
        )
        order = ranker.order(moment, top)
        chosen = np.where(order >= 0, np.take_along_axis(candidates, order, axis=1), -1)
        place[mine], stale[mine] = play.answer(first, chosen.tolist())
    page = world.need_page
    return Replayed(
        place, stale, world.need_time >= MONTH, world.of_kind("rare")[page],
        world.replaces[page] >= 0, ranker.view, {v: np.array(c) for v, c in coverage.items()},
        play.events,
    )  # fmt: skip


def _days(world: World) -> Iterator[tuple[int, int, int]]:
    """Day, first and last + 1 need of each day on which something is asked."""
    day = np.floor(world.need_time / DAY).astype(np.int64)
    starts = np.flatnonzero(np.append(True, day[1:] != day[:-1])[: len(day)])
    yield from zip(day[starts].tolist(), starts.tolist(), [*starts[1:].tolist(), len(day)], strict=True)


class _Play:
    """The states of one business, and how they come about."""

    def __init__(self, world: World, ranker: Ranker, graders: Graders, formulas: Formulas | None) -> None:
        self.world, self.ranker, self.graders = world, ranker, graders
        self.states = States(formulas)
        self.row = np.full(world.pages, -1, dtype=np.int64)
        self.edited = np.full(world.pages, -np.inf)
        self.events = 0
        self._names = [str(i) for i in range(world.pages)]
        time = np.concatenate([world.created, world.edit_time])
        page = np.concatenate([np.arange(world.pages), world.edit_page])
        order = np.argsort(time, kind="stable")
        self._write_time, self._write_page = time[order].tolist(), page[order].tolist()
        self._written = 0
        self._importance = world.importance.tolist()
        self._need_time, self._need_page = world.need_time.tolist(), world.need_page.tolist()
        self._replaces, self._luck = world.replaces.tolist(), world.luck.tolist()

    def _event(self, page: int, kind: str, time: float, signal: float = 1.0) -> None:
        self.states.apply_at(self._names[page], kind, time, signal)
        self.events += 1

    def write(self, until: float) -> None:
        """All writings up to this hour."""
        i = self._written
        while i < len(self._write_time) and self._write_time[i] <= until:
            page = self._write_page[i]
            if self.row[page] < 0:
                self.row[page] = len(self.states)
            self._event(page, "written", self._write_time[i], self._importance[page])
            self.edited[page] = self._write_time[i]
            i += 1
        self._written = i

    def answer(self, first: int, chosen: list[list[int]]) -> tuple[list[int], list[bool]]:
        """Answer the needs from ``first`` on from the chosen pages, and take in what users say."""
        places, stales = [], []
        for i, pages in enumerate(chosen, first):
            time, needed, (grade, corrected) = self._need_time[i], self._need_page[i], self._luck[i]
            place = pages.index(needed) + 1 if needed in pages else 0
            old = self._replaces[needed]
            above = old >= 0 and old in (pages[: place - 1] if place else pages)
            if self.ranker.shown_is_use:
                for page in pages:
                    if page >= 0:
                        self._event(page, "opened", time)
            elif above:
                self._event(old, "opened", time)
                if self.graders.corrects(corrected):
                    self._event(old, "corrected", time)
                    self._event(needed, "opened", time)
            elif place:
                self._event(needed, "opened", time)
                verdict = self.graders.of_correct(grade)
                if verdict is not None:
                    self._event(needed, "confirmed" if verdict == "helpful" else "corrected", time)
            places.append(place)
            stales.append(above)
        return places, stales

    def coverage(self, month: float, share: float) -> dict[View, float]:
        """Share of the needs of the month from this hour on whose page is in view by name, by each view."""
        self.write(month)
        first, last = np.searchsorted(self.world.need_time, [month, month + MONTH])
        if first == last:
            return dict.fromkeys(VIEWS, math.nan)
        size = math.ceil(share * len(self.states))
        needed = self.world.need_page[first:last]
        return {view: float(np.isin(needed, self._in_view(view, month, size)).mean()) for view in VIEWS}

    def _in_view(self, view: View, now: float, size: int) -> NDArray[np.int64]:
        if view == "long":
            return np.array([int(name) for name in named_list(self.states, size, now)], dtype=np.int64)
        there = np.flatnonzero(self.row >= 0)
        if view == "edit":
            score = self.edited[there]
        elif view == "short":
            score = recent_need(self.states, now, self.row[there])
        else:
            score = self.states.uses(self.row[there])
        return there[np.argsort(-score, kind="stable")[:size]]
