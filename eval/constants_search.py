"""Do searched ranking constants beat the ones chosen by hand, on businesses that the search never saw?

They do at what is searched for, and pay for it elsewhere. Differences from the constants in force in points,
on 20 held-out seeds of both worlds, with 95 % intervals of what was searched for
(``benchmarks/simulate.py --constants``):

====================  ===================  =======  ============  ==================
searched for          gain in it           correct  rare correct  wrong after switch
====================  ===================  =======  ============  ==================
mean of the three     +1.4 [+1.0, +2.0]       −6.3          +6.3                −4.3
correct               +0.7 [+0.4, +1.1]       +0.7          −1.0                +6.3
====================  ===================  =======  ============  ==================

144 and 96 sets of constants were tried. Those in force lie between the two results, so they stay: what a
business wants is its own choice, to be fitted on its own log. The first search ran to the edge of what it was
allowed (a half-life of harm of thirteen months).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.data.worlds import RHYTHMS, World
from memvalue.eval.rankers import Moment, Ranker
from memvalue.eval.replay import MEASURES, replay
from memvalue.eval.simulate_job import draw, spread
from memvalue.eval.statistics import Resampling
from memvalue.features.use_clock import DECAY_PER_HOUR, HARM_PER_HOUR
from memvalue.serve.history.formulas import Formulas
from memvalue.serve.rank import HARM, NUDGE
from memvalue.serve.signals import HARM_SCALE, USE_SCALE, harm_strength, use_strength
from memvalue.train.cmaes import minimise

#: Seeds that the search looks at, far from those that judge it (0 and up, as ``memvalue simulate`` has them).
TRAINING = tuple(range(1000, 1004))

#: Step of the search in the transformed constants, which lie in [0, 1].
STEP = 0.2


@dataclass(frozen=True)
class Constants:
    """What the ranking by use and correctness is made of; the defaults are the runtime's.

    Parameters
    ----------
    width, harm_width
        Largest nudge by use, either way, and by harm, downwards. They stay inside the spread of each
        question's scores whatever they are.
    use_scale, harm_scale
        Recent uses and recent corrections that make a strong signal.
    use_half_life, harm_half_life
        Hours.
    """

    width: float = NUDGE
    harm_width: float = HARM
    use_scale: float = USE_SCALE
    harm_scale: float = HARM_SCALE
    use_half_life: float = math.log(0.5) / math.log(DECAY_PER_HOUR)
    harm_half_life: float = math.log(0.5) / math.log(HARM_PER_HOUR)

    def formulas(self) -> Formulas:
        """The states' constants."""
        return Formulas(
            use_per_hour=0.5 ** (1.0 / self.use_half_life), harm_per_hour=0.5 ** (1.0 / self.harm_half_life)
        )

    def ranker(self, name: str = "searched") -> Ranker:
        """The product's policy with these constants."""

        def signals(moment: Moment) -> dict[str, NDArray[np.float64]]:
            return {
                "use_strength": moment.ask(use_strength, scale=self.use_scale),
                "harm": moment.ask(harm_strength, scale=self.harm_scale),
            }

        return Ranker(name, "", signals, width=self.width, harm_width=self.harm_width)

    @classmethod
    def at(cls, point: NDArray[np.float64]) -> Constants:
        """The constants at a point of [0, 1]^6; a point outside is reflected into it."""
        inside = np.abs(np.mod(point + 1.0, 2.0) - 1.0)
        low, high = np.log(_BOUNDS).T
        found: Sequence[float] = np.exp(low + inside * (high - low)).tolist()
        return cls(*found)

    def point(self) -> NDArray[np.float64]:
        """float64[6]; where :meth:`at` finds these constants."""
        low, high = np.log(_BOUNDS).T
        own = np.array([getattr(self, f.name) for f in fields(self)])
        return np.asarray((np.log(own) - low) / (high - low))


#: Lowest and highest of each constant, on a logarithmic scale.
_BOUNDS = np.array(
    [
        (0.005, 0.25), (0.005, 0.25),  # the spread of twelve reciprocal ranks is .18
        (0.1, 10.0), (0.1, 20.0),
        (12.0, 2400.0), (24.0, 9600.0),
    ]
)  # fmt: skip


def worth(measures: dict[str, float]) -> float:
    """What is searched for: the mean of correct, correct on rare pages, and not wrong after a switch."""
    parts = (measures["correct"], measures["rare_correct"], 1.0 - measures["wrong_after_switch"])
    return float(np.nanmean(parts))


#: What can be searched for: by name, of the measures of a replay.
OBJECTIVES: dict[str, Callable[[dict[str, float]], float]] = {
    "worth": worth,
    "correct": lambda measures: measures["correct"],
}


def search(
    *,
    objective: str = "worth",
    evaluations: int = 180,
    training: Sequence[int] = TRAINING,
    held_out: Sequence[int] = tuple(range(20)),
    worlds: Sequence[str] = tuple(RHYTHMS),
    pages: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int, str], object] | None = None,
) -> dict[str, Any]:
    """Search by CMA-ES on the training seeds, judge once on the held-out ones.

    Parameters
    ----------
    objective
        One of :data:`OBJECTIVES`.
    evaluations
        Sets of constants that are tried, each on every world of every training seed.
    training, held_out
        Seeds; none may be in both.
    worlds, pages
        As ``memvalue simulate`` takes them.
    seed
        Of the search and the bootstrap.

    Returns
    -------
    dict
        ``objective``; ``constants`` and ``by_hand``; ``training`` objective of both; ``held_out``: for each
        measure (and ``worth``) ``searched``, ``by_hand`` (mean, std) and ``difference`` with its interval
        over seeds; ``better``: whether the interval of the objective lies above 0.

    Raises
    ------
    ValueError
        When a seed is in both sets, or for an unknown objective.
    """
    if objective not in OBJECTIVES:
        raise ValueError(f"unknown objective {objective!r}; one of {', '.join(OBJECTIVES)}")
    if both := sorted(set(training) & set(held_out)):
        raise ValueError(f"seeds {both} are searched on and judged on; keep them apart")
    seen = [draw(name, s, pages) for name in worlds for s in training]
    tried = 0

    def losses(points: NDArray[np.float64]) -> NDArray[np.float64]:
        nonlocal tried
        found = np.array([-_mean(objective, Constants.at(p), seen) for p in points])
        tried += len(points)
        if progress is not None:
            progress(min(tried, evaluations), evaluations, "constants")
        return found

    by_hand = Constants()
    best = minimise(
        losses, by_hand.point(), STEP, rng=np.random.default_rng(seed), max_evaluations=evaluations
    )
    # The centre of the final distribution, not the luckiest point: training seeds are few.
    chosen = Constants.at(best.mean)
    fresh = {s: [draw(name, s, pages) for name in worlds] for s in held_out}
    ours, theirs = (_judge(c, fresh) for c in (chosen, by_hand))
    resampling = Resampling(len(held_out), np.random.default_rng(seed))
    judged: dict[str, dict[str, Any]] = {}
    for measure, column in ours.items():
        interval = resampling.bca(column - theirs[measure])
        judged[measure] = {
            "searched": spread(column),
            "by_hand": spread(theirs[measure]),
            "difference": float(interval.value[0]),
            "ci": [float(interval.low[0]), float(interval.high[0])],
        }
    return {
        "objective": objective,
        "constants": asdict(chosen),
        "by_hand": asdict(by_hand),
        "training": {"searched": _mean(objective, chosen, seen), "by_hand": _mean(objective, by_hand, seen)},
        "held_out": judged,
        "better": judged[objective]["ci"][0] > 0.0,
    }


def _replayed(constants: Constants, world: World) -> dict[str, float]:
    found = replay(world, constants.ranker(), formulas=constants.formulas()).measures()
    return found | {"worth": worth(found)}


def _mean(objective: str, constants: Constants, worlds: Sequence[World]) -> float:
    return float(np.mean([OBJECTIVES[objective](_replayed(constants, w)) for w in worlds]))


def _judge(constants: Constants, fresh: dict[int, list[World]]) -> dict[str, NDArray[np.float64]]:
    """Measure → float64[seeds], the mean over the worlds of each seed."""
    rows = [[_replayed(constants, w) for w in drawn] for drawn in fresh.values()]
    return {m: np.array([np.mean([r[m] for r in row]) for row in rows]) for m in (*MEASURES, "worth")}
