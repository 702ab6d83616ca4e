"""A business over two years: its pages, their edits and replacements, and what is asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memvalue.data.errors import DataError
from memvalue.data.worlds.relevance import QUESTION_NOISE, TOPIC_PAGES, draw_embeddings, nominate
from memvalue.data.worlds.rhythms import RHYTHMS
from memvalue.data.worlds.world import DAY, PAGE_KINDS, YEAR, World

#: Pages of the default world: some 4,000 needs in two years, five or six a day.
DEFAULT_PAGES = 200

_REGULAR, _PROJECT, _SEASONAL, _PERMANENT, _RARE = range(len(PAGE_KINDS))

#: A project's pages are needed for two months, a season lasts six weeks of every year.
PROJECT_DAYS, SEASON_DAYS = 60.0, 42.0

#: Days between a page's writing and its replacement, and between that and the end, at least.
SETTLED_DAYS = 60.0

#: How much the importance told at writing knows of a page's rate (a correlation): little, as the value model
#: does before anything was used.
IMPORTANCE_KNOWS = 0.3


@dataclass(frozen=True)
class Business:
    """What kind of business it is; systems.md names its parts, the sizes are ours.

    Parameters
    ----------
    rhythm
        ``scheduled`` or ``bursty``.
    years
        Length; more than a quarter of one.
    regular, project, seasonal, permanent, rare
        Weights of the kinds of pages. Rare pages are needed once a year, about the same date. The default has
        no projects: they are what makes the short clock the better one for the named list too (scenario
        ``projects``).
    replaced
        Share of all pages that replace another one (a new vendor, a new price).
    at_start
        Share of the pages that exist from the first day; others come over the first three quarters.
    needs
        Needs a year of a regular page, on average; over pages they are log-normal with deviation 1.1.
    noise
        Deviation of a question from its page; see :mod:`memvalue.data.worlds.relevance`.
    silence
        (first, last) share of the time in which nothing is asked; () for none.

    Raises
    ------
    DataError
        For an unknown rhythm or a number out of range.
    """

    rhythm: str = "bursty"
    years: float = 2.0
    regular: float = 0.5
    project: float = 0.0
    seasonal: float = 0.15
    permanent: float = 0.2
    rare: float = 0.15
    replaced: float = 0.15
    at_start: float = 0.6
    needs: float = 20.0
    noise: float = QUESTION_NOISE
    silence: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.rhythm not in RHYTHMS:
            raise DataError(f"unknown rhythm {self.rhythm!r}; one of {', '.join(RHYTHMS)}")
        if not 0.25 < self.years <= 100:
            raise DataError(f"Business.years must lie between .25 and 100, got {self.years}")
        if min(self.shares) < 0 or sum(self.shares) <= 0:
            raise DataError(f"the weights of the kinds must be 0 or more, and not all 0; got {self.shares}")
        for name in ("replaced", "at_start"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise DataError(f"Business.{name} is a share in [0, 1], got {getattr(self, name)}")
        if self.replaced > 0.4:
            raise DataError("at most two pages in five can replace another one; lower Business.replaced")
        if not (self.needs > 0 and self.noise >= 0):
            raise DataError("Business.needs must be above 0 and Business.noise 0 or more")
        if len(self.silence) not in (0, 2) or tuple(sorted(self.silence)) != self.silence:
            raise DataError(f"Business.silence is (first, last) in order, or (); got {self.silence}")

    @property
    def shares(self) -> tuple[float, ...]:
        """Weights in the order of ``PAGE_KINDS``."""
        return (self.regular, self.project, self.seasonal, self.permanent, self.rare)


def business(
    pages: int = DEFAULT_PAGES, seed: int = 0, settings: Business | None = None, **changes: Any
) -> World:
    """Draw a world.

    Parameters
    ----------
    pages
        100 to 100,000 are meant; 24 at least.
    seed
        The same seed gives the same bytes.
    settings, changes
        The business, and fields of it to be set otherwise, e.g. ``rhythm="scheduled"``.

    Raises
    ------
    DataError
        For too few pages, a negative seed, or settings out of range.
    """
    chosen = replace(settings or Business(), **changes)
    if pages < TOPIC_PAGES:
        raise DataError(f"a world needs at least {TOPIC_PAGES} pages, got {pages}")
    if seed < 0:
        raise DataError(f"seed must be 0 or more, got {seed}")
    rng = np.random.default_rng([seed, list(RHYTHMS).index(chosen.rhythm)])
    hours = chosen.years * YEAR
    base = pages - round(chosen.replaced * pages)
    kind = rng.choice(len(PAGE_KINDS), base, p=np.array(chosen.shares) / sum(chosen.shares))
    created = _first_days(kind, chosen.at_start, hours, rng)
    rate = _rates(kind, chosen.needs, rng)
    old, switch = _switches(kind, created, rate, pages - base, hours, rng)

    start, stop, expected, page = _windows(kind, created, rate, hours, rng)
    time, window = RHYTHMS[chosen.rhythm](expected, start, stop, rng)
    need_time, need_page = _with_rare(time, page[window], kind, created, hours, rng)
    if chosen.silence:
        first, last = (s * hours for s in chosen.silence)
        asked = (need_time < first) | (need_time >= last)
        need_time, need_page = need_time[asked], need_page[asked]

    kind, created = np.append(kind, kind[old]), np.append(created, switch)
    replaced, successor = np.full(len(kind), np.inf), np.full(base, -1)
    replaced[old], successor[old] = switch, np.arange(base, base + len(old))
    replaces = np.append(np.full(base, -1), old)
    later = (successor[need_page] >= 0) & (need_time >= replaced[need_page])
    need_page = np.where(later, successor[need_page], need_page)
    order = np.argsort(need_time, kind="stable")
    need_time, need_page = need_time[order], need_page[order]

    topic = rng.integers(0, max(1, pages // TOPIC_PAGES), base)
    embedding = draw_embeddings(topic, rng)
    topic, embedding = np.append(topic, topic[old]), np.concatenate([embedding, embedding[old]])
    candidates, similarity = nominate(embedding, topic, created, need_time, need_page, rng, chosen.noise)
    rate = np.append(rate, rate[old])
    edit_time, edit_page = _edits(created, np.minimum(replaced, hours), rate, rng)
    return World(
        name=chosen.rhythm, seed=seed, hours=hours, kind=kind.astype(np.int64), created=created,
        replaced=replaced, replaces=replaces.astype(np.int64), importance=_importance(rate, rng),
        embedding=embedding, edit_time=edit_time, edit_page=edit_page, need_time=need_time,
        need_page=need_page.astype(np.int64), candidates=candidates, similarity=similarity,
        luck=rng.random((len(need_time), 2)),
    )  # fmt: skip


def _first_days(
    kind: NDArray[np.int64], at_start: float, hours: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """float64[n]; rare and permanent pages come early, projects whenever they begin."""
    n = len(kind)
    later = rng.random(n) >= at_start
    day = np.floor(rng.random(n) * 0.75 * hours / DAY)
    early = np.floor(rng.random(n) * 0.25 * hours / DAY)
    day = np.where(np.isin(kind, (_PERMANENT, _RARE)), early, day)
    project = np.floor(rng.random(n) * (hours / DAY - PROJECT_DAYS / 2))
    return np.where(kind == _PROJECT, project, np.where(later, day, 0.0)) * DAY


def _rates(kind: NDArray[np.int64], needs: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """float64[n]; needs a year while the page's time lasts."""
    sigma = 1.1
    drawn = needs * np.exp(sigma * rng.standard_normal(len(kind)) - sigma * sigma / 2.0)
    # A project's page has as many needs in its two months as another in a year, a seasonal one as in its six
    # weeks; the principles of a business are steady, none of them very common.
    drawn = np.where(kind == _PROJECT, drawn * 365.0 / PROJECT_DAYS, drawn)
    drawn = np.where(kind == _SEASONAL, drawn * 365.0 / SEASON_DAYS, drawn)
    drawn = np.where(kind == _PERMANENT, np.sqrt(drawn * needs), drawn)
    return np.where(kind == _RARE, 1.0, drawn)


def _switches(
    kind: NDArray[np.int64], created: NDArray[np.float64], rate: NDArray[np.float64],
    count: int, hours: float, rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:  # fmt: skip
    """Which pages are replaced, and when: vendors, prices, whatever is asked for often and has time left."""
    room = hours - created - 2.0 * SETTLED_DAYS * DAY
    fit = np.flatnonzero((room >= DAY) & np.isin(kind, (_REGULAR, _PERMANENT)))
    if len(fit) < count:
        raise DataError(
            f"{count} pages are to be replaced, but only {len(fit)} last long enough; lower Business.replaced"
        )
    old = np.sort(rng.choice(fit, count, replace=False, p=rate[fit] / rate[fit].sum()))
    days = np.floor((SETTLED_DAYS * DAY + rng.random(count) * room[old]) / DAY)
    return old, created[old] + days * DAY


def _windows(
    kind: NDArray[np.int64], created: NDArray[np.float64], rate: NDArray[np.float64],
    hours: float, rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:  # fmt: skip
    """Start, stop, expected needs and page of every stretch of time in which a page is needed."""
    parts = []
    steady = np.flatnonzero(np.isin(kind, (_REGULAR, _PERMANENT)))
    parts.append((created[steady], np.full(len(steady), hours), steady))
    project = np.flatnonzero(kind == _PROJECT)
    parts.append((created[project], np.minimum(created[project] + PROJECT_DAYS * DAY, hours), project))
    seasonal = np.flatnonzero(kind == _SEASONAL)
    opens = rng.random(len(seasonal)) * YEAR
    for year in range(-1, int(np.ceil(hours / YEAR))):
        begin = np.maximum(opens + year * YEAR, created[seasonal])
        end = np.minimum(opens + year * YEAR + SEASON_DAYS * DAY, hours)
        some = end > begin
        parts.append((begin[some], end[some], seasonal[some]))
    start, stop, page = (np.concatenate(column) for column in zip(*parts, strict=True))
    return start, stop, rate[page] * (stop - start) / YEAR, page


def _with_rare(
    time: NDArray[np.float64], page: NDArray[np.int64], kind: NDArray[np.int64],
    created: NDArray[np.float64], hours: float, rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:  # fmt: skip
    """The needs, with one a year for every rare page, within five days of its date."""
    rare = np.flatnonzero(kind == _RARE)
    date = rng.random(len(rare)) * YEAR
    for year in range(int(np.ceil(hours / YEAR))):
        when = date + year * YEAR + rng.uniform(-5.0, 5.0, len(rare)) * DAY
        asked = (when >= created[rare]) & (when >= 0.0) & (when < hours)
        time, page = np.append(time, when[asked]), np.append(page, rare[asked])
    return time, page


def _edits(
    created: NDArray[np.float64], until: NDArray[np.float64], rate: NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:  # fmt: skip
    """Later writings: every page now and then, a page that is needed more a little more often."""
    years = (until - created) / YEAR
    count = rng.poisson((0.3 + 0.05 * np.minimum(rate, 20.0)) * np.maximum(years, 0.0))
    page = np.repeat(np.arange(len(created)), count)
    day = np.ceil((created[page] + rng.random(len(page)) * (until - created)[page]) / DAY)
    inside = day * DAY < until[page]
    time, page = (day * DAY)[inside], page[inside]
    order = np.argsort(time, kind="stable")
    return time[order], page[order]


def _importance(rate: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """float64[n] in [0, 1]; mean .5, deviation about .15."""
    log = np.log(rate)
    known = (log - log.mean()) / max(float(log.std()), 1e-9)
    mixed = IMPORTANCE_KNOWS * known + np.sqrt(1 - IMPORTANCE_KNOWS**2) * rng.standard_normal(len(rate))
    return np.asarray(np.clip(0.5 + 0.15 * mixed, 0.0, 1.0))
