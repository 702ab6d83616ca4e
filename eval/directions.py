"""The findings of the dual-signal article, each with what our worlds say to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memvalue.eval.statistics import Resampling

Table = dict[str, dict[str, NDArray[np.float64]]]


@dataclass(frozen=True)
class Direction:
    """One finding: a − share · b lies on one side of a limit.

    Parameters
    ----------
    finding
        In words, with the article's figures where it gives them.
    a, b
        Figures, as (table, row, measure); b may be None for 0.
    side
        ``above`` or ``below`` the limit.
    limit, share
        See above.
    strict
        The interval has to lie on that side too, not only the mean. Without it the finding is about a size,
        or that there is no difference worth the name.
    otherwise
        Why, where ours differs.
    """

    finding: str
    a: tuple[str, str, str]
    b: tuple[str, str, str] | None
    side: Literal["above", "below"]
    otherwise: str
    limit: float = 0.0
    share: float = 1.0
    strict: bool = True


def _policy(name: str, measure: str = "correct") -> tuple[str, str, str]:
    return ("policies", name, measure)


def _careless(name: str, measure: str = "correct") -> tuple[str, str, str]:
    return ("careless", name, measure)


_SWITCH = "wrong_after_switch"

#: In the order of the table. ``{a}`` and ``{b}`` are figures of this run.
DIRECTIONS: tuple[Direction, ...] = (
    Direction(
        "retrieval counted as use costs rarely needed pages (ten points)",
        _policy("retrieval_as_use", "rare_correct"), _policy("relevance", "rare_correct"), "below",
        "Rare pages compete with fewer pages that are shown often here.",
    ),
    Direction(
        "and gains nothing overall (no more than a point)",
        _policy("retrieval_as_use"), _policy("relevance"), "below",
        "What is shown again and again is also what is needed again soon, and more so in bursts: the shown "
        "page is the needed one more often than in the article's world. Deliberate use gains several times "
        "as much.",
        limit=0.01, strict=False,
    ),
    Direction(
        "deliberate use on the short clock gains (75.9 % → 88.4 %)",
        _policy("use"), _policy("relevance"), "above",
        "Needs come too seldom for the short clock.",
    ),
    Direction(
        "and is worth more than counting what was shown",
        _policy("use"), _policy("retrieval_as_use"), "above",
        "Nearly all that is shown is needed.",
    ),
    Direction(
        "use and correctness apart beat one folded number after a switch",
        _policy("dual", _SWITCH), _policy("folded", _SWITCH), "below",
        "Within half a point here: what a much-used page keeps after a correction fades within a week. In "
        "answers overall the folded number is even ahead where it bears a *: the next use makes up for a "
        "grader's mistake.",
    ),
    Direction(
        "beat the mean of all outcomes of a life after a switch",
        _policy("dual", _SWITCH), _policy("lifetime_folded", _SWITCH), "below",
        "Pages have short lives.",
    ),
    Direction(
        "beat the count of all uses after a switch",
        _policy("dual", _SWITCH), _policy("lifetime_use", _SWITCH), "below",
        "Pages have short lives.",
    ),
    Direction(
        "beat both signals over a life after a switch",
        _policy("dual", _SWITCH), _policy("lifetime_dual", _SWITCH), "below",
        "Pages have short lives.",
    ),
    Direction(
        "and cut relevance's wrong answers after a switch to a third or less",
        _policy("dual", _SWITCH), _policy("relevance", _SWITCH), "below",
        "The first answer after a switch can only be wrong by chance, three corrections in ten are never "
        "made, and a page of ours is needed some twenty times after it changed: a few wrong answers weigh "
        "more than in a busier business.",
        share=1 / 3, strict=False,
    ),
    Direction(
        "at 10 % grading mistakes, wrong answers fall from use alone to both (13.5 % → 4.0 %)",
        _careless("dual", _SWITCH), _careless("use", _SWITCH), "below",
        "Use alone learns from the correction too here, since the right page is then opened.",
    ),
    Direction(
        "at 10 % grading mistakes, both beat relevance (87.5 % against 75.9 %)",
        _careless("dual"), _careless("relevance"), "above",
        "Mistakes demote what is needed most.",
    ),
    Direction(
        "at 10 % grading mistakes, use alone answers a little more than both (88.4 % against 87.5 %)",
        _careless("use"), _careless("dual"), "above",
        "Answers saved after a switch make up for what the mistakes demote.",
    ),
    Direction(
        "±15 % answers a little more than ±5 % (90.7 % against 89.8 %)",
        _policy("dual_15"), _policy("dual"), "above",
        "±15 % parts equals by more than the spread of twelve candidates (18 %): what was used lately wins "
        "less than what was not used for weeks loses.",
    ),
    Direction(
        "a nudge beyond the spread costs rare pages (±50 %)",
        _policy("dual_50", "rare_correct"), _policy("dual", "rare_correct"), "below",
        "The nudges are bounded.",
    ),
    Direction(
        "so does ±15 % already, whose range of 30 % exceeds the spread of 18 %",
        _policy("dual_15", "rare_correct"), _policy("dual", "rare_correct"), "below",
        "The nudges are bounded.",
    ),
    Direction(
        "a gate loses most rare pages (finds 4 %)",
        _policy("gate", "rare_correct"), None, "below",
        "Few pages fade.", limit=0.1, strict=False,
    ),
    Direction(
        "and answers far less of everything (27 %)",
        _policy("gate"), _policy("relevance"), "below",
        "Few pages fade.", share=2 / 3, strict=False,
    ),
    Direction(
        "for recall the short clock beats the long one",
        _policy("use"), _policy("use_long"), "above",
        "Needs are steadier here.",
    ),
    Direction(
        "for the named list the long clock beats the last edit (76.5 % against 71.0 %)",
        ("clocks", "long", ""), ("clocks", "edit", ""), "above",
        "Pages are edited when they are needed.",
    ),
    Direction(
        "for the named list the long clock beats the short one",
        ("clocks", "long", ""), ("clocks", "short", ""), "above",
        "It depends on how long a page's time is. With the default's six-week seasons the two are within "
        "a point; without them the long clock is ahead by four to five, and with a fifth of two-month "
        "projects the short one by two (240 pages, 16 needs a year, six seeds).",
    ),
)  # fmt: skip


def directions(
    policies: Table, clocks: dict[Any, NDArray[np.float64]], careless: Table, resampling: Resampling
) -> list[dict[str, Any]]:
    """Each finding whose policies were replayed: ``finding, a, b, difference, ci, holds, mean_agrees,
    note``.

    ``difference`` is a − share · b over seeds with its interval. A finding ``holds`` when its mean lies on
    the right side of the limit and, unless it is one about sizes, its interval too; ``mean_agrees`` asks
    the mean alone.
    """
    tables: dict[str, dict[str, dict[str, NDArray[np.float64]]]] = {
        "policies": policies,
        "careless": careless,
        "clocks": {str(view): {"": column} for view, column in clocks.items()},
    }

    def column(at: tuple[str, str, str]) -> NDArray[np.float64] | None:
        return tables[at[0]].get(at[1], {}).get(at[2])

    found = []
    for d in DIRECTIONS:
        a, b = column(d.a), None if d.b is None else column(d.b)
        if a is None or (d.b is not None and b is None):
            continue
        against = np.zeros_like(a) if b is None else b
        difference = a - d.share * against
        if np.isnan(difference).any():
            continue
        interval = resampling.bca(difference)
        value, low, high = (float(x[0]) for x in (interval.value, interval.low, interval.high))
        edge = value if not d.strict or np.isnan(low) else low if d.side == "above" else high
        holds, agrees = ((x > d.limit) if d.side == "above" else (x < d.limit) for x in (edge, value))
        found.append(
            {
                "finding": d.finding,
                "a": float(a.mean()),
                "b": None if b is None else float(b.mean()),
                "difference": value,
                "ci": [low, high],
                "holds": holds,
                "mean_agrees": agrees,
                "note": "" if holds else d.otherwise,
            }
        )
    return found
