"""A simulated business that recalibrates: its pages, what it logs, and when it consolidates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memvalue.data.errors import DataError
from memvalue.data.worlds.business import Business, business
from memvalue.data.worlds.graders import Graders
from memvalue.data.worlds.world import DAY, PAGE_KINDS, YEAR, World

#: What is fixed when a page is written: five factors, and the trust behind the sixth. The rest comes of the
#: log.
PAGE_FACTORS = (
    "emotional_intensity", "goal_relevance", "value_alignment", "self_relevance", "task_utility", "trust",
)  # fmt: skip

#: Mean and deviation of each over pages: about those of persons' turns in LongMemEval and Memora under the
#: default definition. ``trust`` is how far the source is trusted; it makes half of reliability.
MEAN = np.array([0.13, 0.11, 0.08, 0.16, 0.14, 0.5])
DEVIATION = np.array([0.15, 0.13, 0.12, 0.17, 0.15, 0.3])

#: How much of a page factor's deviation is its factor's.
REACHES = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.5])

#: What the population of businesses wants of a page: weights of the default model, its usage history left
#: to the log. A small share is added, or no business could come to want what the default hardly counts.
POPULATION = np.array([0.011, 0.005, 0.005, 0.124, 0.316, 0.184])
FLOOR = 0.03

#: Deviation of the logarithm of a business's weights around the population's.
DIFFERENT = 1.0

#: How well a business's own best weighting of page factors tells the logarithm of a page's need (a
#: correlation), from where to where; some of it only time tells.
KNOWN = (0.3, 0.8)

#: Share of what users do that reaches the log, from where to where.
LOGGED = (0.3, 1.0)

#: Pages that an answer is read from (Bizer), as in a replay.
_TOP = 4

#: First day of every world.
START = np.datetime64("2024-01-01T00:00:00", "s")


@dataclass(frozen=True, eq=False)
class Tenant:
    """A business with C consolidations.

    Parameters
    ----------
    world
        Its pages and needs.
    weights
        float64[6] with sum 1: what it wants of a page, in the order of :data:`PAGE_FACTORS`.
    pages
        float32[n, 6] in [0, 1]: those of :data:`PAGE_FACTORS`.
    now
        float64[C]: hours of the consolidations, ascending.
    horizon
        Hours after each in which it is watched what is asked.
    event_time, event_page, event_kind
        float64[e] ascending, int64[e], and e names: the log.
    """

    world: World
    weights: NDArray[np.float64]
    pages: NDArray[np.float32]
    now: NDArray[np.float64]
    horizon: float
    event_time: NDArray[np.float64]
    event_page: NDArray[np.int64]
    event_kind: tuple[str, ...]

    def needed(self, case: int) -> NDArray[np.bool_]:
        """bool[n]: which pages are asked for in the horizon of a consolidation."""
        needs = self.world.need_time
        first, last = np.searchsorted(needs, [self.now[case], self.now[case] + self.horizon])
        found = np.zeros(self.world.pages, dtype=bool)
        found[self.world.need_page[first:last]] = True
        return found


def tenant(
    seed: int,
    cases: int = 50,
    *,
    pages: int = 80,
    every_days: float = 7.0,
    horizon_days: float | None = None,
    different: float = DIFFERENT,
    known: float | None = None,
    logged: float | None = None,
    graders: Graders | None = None,
    settings: Business | None = None,
) -> Tenant:
    """Draw a business.

    The needs are those of :func:`~memvalue.data.worlds.business`. The page factors are then drawn so that the
    business's own weights are about the best fixed ones for them: with g the standardised logarithm of how
    often a page is asked for while it lasts, factor j is m + σ(ρg + √(1 − ρ²)ε), ρ/(1 − ρ²) being
    proportional to wσ (the least-squares weights of independent signs of g) and scaled for a multiple
    correlation of ``known``. How often a page is asked for is counted over the whole world, so a factor knows
    the page, and nothing of when.

    What users do is logged as a replay would: of each question, relevance's first four pages are read; the
    needed page is opened where it is among them and perhaps graded, a page out of date is opened, and
    often corrected, where it comes first.

    Parameters
    ----------
    seed
        The same seed gives the same business.
    cases
        Consolidations.
    pages
        Pages over the whole time, 24 at least.
    every_days, horizon_days
        Between two consolidations, and watched after one (the same when None). The first comes when a
        sixth of the time, at least eight weeks, has filled the log.
    different
        Deviation of log weights between businesses; 0 for businesses that are all alike.
    known
        In [0, 1); drawn from :data:`KNOWN` when None.
    logged
        Share in (0, 1] of the answers whose use is logged; drawn from :data:`LOGGED` when None.
    graders
        How answers are graded.
    settings
        The kind of business, whose length is set by the consolidations; drawn as well when None: its
        rhythm, its mix of pages, how often it asks.

    Raises
    ------
    DataError
        For a number out of range, or as :func:`~memvalue.data.worlds.business`.
    """
    if cases < 1:
        raise DataError(f"a tenant needs a case or more, got {cases}")
    horizon = every_days if horizon_days is None else horizon_days
    if not (every_days > 0 and horizon > 0):
        raise DataError("every_days and horizon_days must be above 0")
    if not (different >= 0 and (known is None or 0 <= known < 1)):
        raise DataError("different must be 0 or more and known in [0, 1)")
    if logged is not None and not 0 < logged <= 1:
        raise DataError(f"logged is a share in (0, 1], got {logged}")
    warm_up = max(56.0, cases * every_days / 6.0)
    span = (warm_up + (cases - 1) * every_days + horizon) * DAY
    rng = np.random.default_rng([seed, 6])
    drawn_kind = _kind(rng)
    known = float(rng.uniform(*KNOWN)) if known is None else known
    logged = float(rng.uniform(*LOGGED)) if logged is None else logged
    kind = replace(settings or drawn_kind, years=max(span / YEAR, 0.75))
    world = business(pages, seed, kind)
    weights = (POPULATION + FLOOR) * np.exp(different * rng.standard_normal(len(POPULATION)))
    weights /= weights.sum()
    alive = np.minimum(world.replaced, world.hours) - world.created
    asked = np.bincount(world.need_page, minlength=world.pages)
    log = np.log((asked + 0.5) / (np.maximum(alive, DAY) / YEAR + 0.1))
    g = (log - log.mean()) / max(float(log.std()), 1e-9)
    rho = _loadings(weights * DEVIATION * REACHES, known)
    noise = rng.standard_normal((world.pages, len(rho)))
    drawn = MEAN + DEVIATION * (g[:, None] * rho + noise * np.sqrt(1.0 - rho**2))
    seen = rng.random(len(world.need_time)) < logged
    time, page, names = _log(world, graders or Graders(), seen)
    return Tenant(
        world=world,
        weights=weights,
        pages=np.clip(drawn, 0.0, 1.0).astype(np.float32),
        now=(warm_up + np.arange(cases, dtype=np.float64) * every_days) * DAY,
        horizon=horizon * DAY,
        event_time=time,
        event_page=page,
        event_kind=names,
    )


def _kind(rng: np.random.Generator) -> Business:
    """A kind of business: steady or bursty, any mix of pages around the default one, quiet or busy."""
    ours = Business()
    mix = rng.dirichlet(8.0 * (np.array(ours.shares) + 0.05))
    return replace(
        ours,
        rhythm=("scheduled", "bursty")[int(rng.integers(2))],
        **dict(zip(PAGE_KINDS, mix.tolist(), strict=True)),
        replaced=float(rng.uniform(0.0, 0.2)),
        needs=float(12.0 * np.exp(0.4 * rng.standard_normal())),
    )


def _loadings(wanted: NDArray[np.float64], known: float) -> NDArray[np.float64]:
    """float64[F]: correlations ρ with ρ/(1 − ρ²) ∝ wanted whose signs together correlate ``known`` with g."""
    target = known**2 / (1.0 - known**2)  # Σ ρ²/(1 − ρ²) of independent signs

    def of(scale: float) -> NDArray[np.float64]:
        b = scale * wanted
        return np.asarray(2.0 * b / (1.0 + np.sqrt(1.0 + 4.0 * b * b)))

    low, high = 0.0, 1.0
    while (of(high) ** 2 / (1.0 - of(high) ** 2)).sum() < target:
        high *= 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        below = (of(middle) ** 2 / (1.0 - of(middle) ** 2)).sum() < target
        low, high = (middle, high) if below else (low, middle)
    return of(low)


def _log(
    world: World, graders: Graders, seen: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.int64], tuple[str, ...]]:
    """The events in order of time: writings and edits, and what users do with the answers that are seen."""
    found: list[tuple[float, int, str]] = []
    found += [(t, p, "written") for p, t in enumerate(world.created.tolist())]
    found += [
        (t, p, "written") for t, p in zip(world.edit_time.tolist(), world.edit_page.tolist(), strict=True)
    ]
    top = world.candidates[:, :_TOP].tolist()
    columns = (world.need_time.tolist(), world.need_page.tolist(), top, world.luck.tolist(), seen.tolist())
    for time, page, shown, (grade, corrected), logged in zip(*columns, strict=True):
        if not logged:
            continue
        old = int(world.replaces[page])
        place = shown.index(page) if page in shown else len(shown)
        if old >= 0 and old in shown[:place]:
            found.append((time, old, "opened"))
            if graders.corrects(corrected):
                found += [(time, old, "corrected"), (time, page, "opened")]
        elif place < len(shown):
            found.append((time, page, "opened"))
            verdict = graders.of_correct(grade)
            if verdict is not None:
                found.append((time, page, "confirmed" if verdict == "helpful" else "corrected"))
    found.sort(key=lambda event: event[0])
    times, pages, kinds = zip(*found, strict=True)
    return np.array(times, dtype=np.float64), np.array(pages, dtype=np.int64), kinds
