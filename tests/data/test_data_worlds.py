"""The simulated businesses: what they promise to whoever replays them."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memvalue.data.errors import DataError
from memvalue.data.worlds import (
    CANDIDATES,
    PAGE_KINDS,
    RHYTHMS,
    SCENARIOS,
    Business,
    Graders,
    World,
    business,
    scenario,
)
from memvalue.data.worlds.rhythms import bursty, scheduled
from memvalue.data.worlds.world import DAY, YEAR


@pytest.fixture(scope="module", params=sorted(RHYTHMS))
def world(request: pytest.FixtureRequest) -> World:
    return business(seed=3, rhythm=request.param, project=0.1)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_another_world(world: World) -> None:
    again = business(seed=3, rhythm=world.name, project=0.1)
    assert again.digest() == world.digest()
    for f in fields(World):
        np.testing.assert_array_equal(getattr(again, f.name), getattr(world, f.name))
    assert business(seed=4, rhythm=world.name, project=0.1).digest() != world.digest()
    assert business(seed=3, rhythm="scheduled").digest() != business(seed=3, rhythm="bursty").digest()


def test_nothing_is_needed_or_nominated_before_it_was_written(world: World) -> None:
    assert (world.created[world.need_page] <= world.need_time).all()
    there = world.candidates >= 0
    late = world.created[world.candidates] > world.need_time[:, None]
    assert not (late & there).any()
    np.testing.assert_array_equal(np.isnan(world.similarity), ~there)


def test_candidates_are_different_pages_most_similar_first(world: World) -> None:
    assert world.candidates.shape == (len(world.need_time), CANDIDATES)
    for row, similarity in zip(world.candidates[:500], world.similarity[:500], strict=True):
        pages = row[row >= 0]
        assert len(set(pages.tolist())) == len(pages)
        assert (np.diff(similarity[: len(pages)]) <= 0).all()
        assert (row[len(pages) :] == -1).all()


def test_after_a_switch_the_new_page_is_needed_and_the_old_one_never(world: World) -> None:
    new = np.flatnonzero(world.replaces >= 0)
    assert len(new) == round(0.15 * world.pages)
    old = world.replaces[new]
    assert len(set(old.tolist())) == len(old)
    np.testing.assert_array_equal(world.replaced[old], world.created[new])
    assert (world.created[new] > world.created[old]).all()
    assert (world.need_time < world.replaced[world.need_page]).all()
    assert np.isin(world.need_page, new).any()
    assert (world.edit_time < world.replaced[world.edit_page]).all()


def test_the_old_and_the_new_page_are_equally_relevant(world: World) -> None:
    new = np.flatnonzero(world.replaces >= 0)
    old = world.replaces[new]
    np.testing.assert_array_equal(world.embedding[new], world.embedding[old])
    asked = world.replaces[world.need_page] >= 0
    candidates, page = world.candidates[asked], world.need_page[asked]
    first = (candidates == page[:, None]).argmax(1) < (candidates == world.replaces[page][:, None]).argmax(1)
    assert first.mean() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(len(first)))


def test_rare_pages_are_needed_once_a_year_about_their_date(world: World) -> None:
    for page in np.flatnonzero(world.of_kind("rare")):
        times = world.need_time[world.need_page == page]
        assert len(times) <= world.hours / YEAR
        if len(times) == 2:
            assert abs(times[1] - times[0] - YEAR) <= 10 * DAY


def test_seasons_and_projects_keep_their_time(world: World) -> None:
    for page in np.flatnonzero(world.of_kind("project") & (world.replaces < 0)):
        times = world.need_time[world.need_page == page]
        assert len(times) == 0 or times.max() - world.created[page] <= 60 * DAY
    for page in np.flatnonzero(world.of_kind("seasonal")):
        phase = np.sort(world.need_time[world.need_page == page] % YEAR)
        if len(phase) > 1:  # all needs fit in six weeks of the year, which may run over its end
            gaps = np.append(np.diff(phase), phase[0] + YEAR - phase[-1])
            assert YEAR - gaps.max() <= 42 * DAY + 1e-6


def test_everything_is_written_at_midnight(world: World) -> None:
    assert (world.created % DAY == 0).all()
    assert (world.edit_time % DAY == 0).all()
    assert (world.importance >= 0).all() and (world.importance <= 1).all()


def test_relevance_alone_answers_about_three_questions_in_four() -> None:
    share = []
    for seed in range(3):
        world = business(seed=seed, rhythm="scheduled")
        first = world.candidates[:, :4]
        place = np.where(first == world.need_page[:, None], np.arange(4), 9).min(1)
        stale = np.where(first == world.replaces[world.need_page][:, None], np.arange(4), 9).min(1)
        stale[world.replaces[world.need_page] < 0] = 9
        share.append(((place < 9) & (stale > place)).mean())
    assert 0.68 < np.mean(share) < 0.82


def gaps_spread(draw, rng: np.random.Generator) -> float:
    """Coefficient of variation of the gaps between the needs of 200 pages over ten years."""
    k = 200
    time, window = draw(np.full(k, 100.0), np.zeros(k), np.full(k, 10 * YEAR), rng)
    found = []
    for i in range(k):
        gaps = np.diff(np.sort(time[window == i]))
        if len(gaps) > 5:
            found.append(gaps.std() / gaps.mean())
    return float(np.mean(found))


def test_needs_come_steadily_in_one_world_and_in_bursts_in_the_other() -> None:
    rng = np.random.default_rng(0)
    assert gaps_spread(scheduled, rng) == pytest.approx(1.0, abs=0.05)  # a Poisson process's
    assert gaps_spread(bursty, rng) > 1.5


def test_both_worlds_have_the_same_number_of_needs_on_average() -> None:
    rng = np.random.default_rng(1)
    expected, start, stop = np.full(400, 20.0), np.zeros(400), np.full(400, 10 * YEAR)
    for draw in (scheduled, bursty):
        time, window = draw(expected, start, stop, rng)
        assert len(time) == pytest.approx(8000, rel=0.08)
        assert window.min() >= 0 and window.max() < 400
        assert (time >= 0).all() and (time < 10 * YEAR).all()


def test_the_bursty_odds_fall_by_a_power_law_of_the_time_since() -> None:
    """P(delay > t) = (1 + t/12)^−.65: at 12 hours .637, at 1,188 hours .05."""
    from memvalue.data.worlds import rhythms

    class Once:
        """One cause with many children, and none of theirs."""

        def __init__(self) -> None:
            self.rng, self.calls = np.random.default_rng(2), 0

        def poisson(self, mean, size=None):
            self.calls += 1
            return np.array([1]) if self.calls == 1 else np.full(size, 20_000 if self.calls == 2 else 0)

        def random(self, n):
            return self.rng.random(n) if self.calls > 1 else np.zeros(n)

    time, _ = rhythms.bursty(np.ones(1), np.zeros(1), np.full(1, 1e12), Once())
    delay = time[1:]
    assert (delay > 12.0).mean() == pytest.approx(2**-0.65, abs=0.015)
    assert (delay > 1188.0).mean() == pytest.approx(100**-0.65, abs=0.01)


@settings(max_examples=15)
@given(
    pages=st.integers(100, 400),
    seed=st.integers(0, 1000),
    rhythm=st.sampled_from(sorted(RHYTHMS)),
    replaced=st.floats(0, 0.2),
    years=st.floats(1.0, 3.0),
)
def test_any_sound_settings_make_a_sound_world(pages, seed, rhythm, replaced, years) -> None:
    world = business(pages, seed, rhythm=rhythm, replaced=replaced, years=years)  # World checks itself
    assert world.pages == pages
    assert world.hours == years * YEAR
    assert set(np.unique(world.kind)) <= set(range(len(PAGE_KINDS)))


def test_a_large_world_is_drawn_in_seconds() -> None:
    world = business(5_000, 1)
    assert len(world.need_time) > 50_000
    assert (world.candidates[-1] >= 0).all()


@pytest.mark.slow
def test_a_hundred_thousand_pages_can_be_drawn() -> None:
    world = business(100_000, 0)
    assert world.pages == 100_000
    assert len(world.need_time) > 1_000_000


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_each_scenario_is_a_world_of_its_own(name: str) -> None:
    world = scenario(name, 2)
    assert world.name == name
    assert world.pages == 120
    assert scenario(name, 2).digest() == world.digest()


def test_scenarios_are_what_they_say() -> None:
    needs = scenario("silence").need_time / scenario("silence").hours
    assert not ((needs >= 0.5) & (needs < 0.75)).any()
    assert (needs >= 0.75).any()
    assert scenario("projects").of_kind("project").mean() > 0.5
    assert scenario("principles").of_kind("permanent").mean() > 0.25
    assert (scenario("drift").replaces >= 0).mean() == pytest.approx(0.35)


def test_a_grade_is_drawn_by_one_number() -> None:
    graders = Graders()
    grades = [graders.of_correct(x) for x in (0.0, 0.499, 0.5, 0.529, 0.531, 0.999)]
    assert grades == ["helpful", "helpful", "harmful", "harmful", None, None]
    assert graders.corrects(0.69) and not graders.corrects(0.7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: business(10), "at least 24 pages"),
        (lambda: business(seed=-1), "seed must be 0 or more"),
        (lambda: business(rhythm="weekly"), "unknown rhythm 'weekly'; one of scheduled, bursty"),
        (lambda: business(replaced=0.41), "two pages in five"),
        (lambda: business(replaced=-0.1), "share in \\[0, 1\\]"),
        (lambda: business(years=0.2), "years must lie between"),
        (lambda: business(needs=0.0), "needs must be above 0"),
        (lambda: business(regular=-1.0), "weights of the kinds"),
        (lambda: business(silence=(0.9, 0.1)), "in order"),
        (lambda: business(replaced=0.3, regular=0, permanent=0, seasonal=1.0), "last long enough"),
        (lambda: scenario("chaos"), "unknown scenario 'chaos'"),
        (lambda: Graders(corrected=1.2), "chance in"),
        (lambda: Graders(helpful=0.9, mistake=0.2), "one grade at most"),
        (lambda: Business(at_start=2.0), "at_start is a share"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_the_reason(call, message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()


def test_a_world_that_contradicts_itself_is_refused() -> None:
    world = business(100)
    with pytest.raises(DataError, match="in order"):
        replace(world, need_time=world.need_time[::-1].copy())
    with pytest.raises(DataError, match="before it was written"):
        replace(world, created=np.full(world.pages, world.hours))
    with pytest.raises(DataError, match="shape"):
        replace(world, luck=world.luck[:, :1])
    with pytest.raises(DataError, match="not among the 100"):
        replace(world, need_page=np.full(len(world.need_page), 100))
