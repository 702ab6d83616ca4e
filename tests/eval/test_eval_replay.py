"""The replay: who answers what, and what is learnt from it."""

from __future__ import annotations

from dataclasses import replace as changed

import numpy as np
import pytest

from memvalue.data.worlds import CANDIDATES, Graders, World, business
from memvalue.eval.rankers import GATE, MAIN, RANKERS, Moment, Ranker, rankers
from memvalue.eval.replay import MONTH, Replayed, replay
from memvalue.serve.history import Formulas, States
from memvalue.serve.recall import recall
from memvalue.serve.signals import recent_need

BY_NAME = {r.name: r for r in RANKERS}
SURE = Graders(helpful=1.0, mistake=0.0, corrected=1.0)


def small(
    needs: list[tuple[float, int, list[int]]], *, pages: int, replaces: dict[int, int] | None = None
) -> World:
    """A world of a few pages: needs as (day, page, candidates in order)."""
    m = len(needs)
    candidates = np.full((m, CANDIDATES), -1)
    for i, (_, _, row) in enumerate(needs):
        candidates[i, : len(row)] = row
    successor = np.full(pages, -1)
    replaced = np.full(pages, np.inf)
    for new, old in (replaces or {}).items():
        successor[new], replaced[old] = old, 0.0
    return World(
        name="small", seed=0, hours=24.0 * 400, kind=np.zeros(pages, int), created=np.zeros(pages),
        replaced=replaced, replaces=successor, importance=np.full(pages, 0.5),
        embedding=np.eye(pages, 16, dtype=np.float32), edit_time=np.zeros(0), edit_page=np.zeros(0, int),
        need_time=np.array([24.0 * day for day, _, _ in needs]),
        need_page=np.array([page for _, page, _ in needs]), candidates=candidates,
        similarity=np.where(candidates >= 0, 0.5, np.nan).astype(np.float32), luck=np.full((m, 2), 0.5),
    )  # fmt: skip


@pytest.fixture(scope="module")
def world() -> World:
    return business(100, 5, rhythm="bursty", years=1.0)


def test_the_place_among_the_first_four_decides() -> None:
    rows = [[0, 1, 2, 3, 4, 5], [4, 1, 2, 3, 0, 5], [1, 2, 3, 0]]
    found = replay(small([(31.5, 0, row) for row in rows], pages=6), BY_NAME["relevance"])
    assert found.place.tolist() == [1, 0, 4]
    assert found.correct.tolist() == [True, False, True]
    assert not found.stale.any()


def test_a_stale_page_above_the_needed_one_spoils_the_answer_and_below_does_not() -> None:
    rows = [[0, 1, 2, 3], [1, 0, 2, 3], [0, 2, 3, 4, 1], [2, 3, 4, 5, 0, 1]]
    found = replay(
        small([(31.5, 1, row) for row in rows], pages=6, replaces={1: 0}), BY_NAME["relevance"], graders=SURE
    )
    assert found.stale.tolist() == [True, False, True, False]
    assert found.correct.tolist() == [False, True, False, False]
    assert found.place.tolist() == [2, 1, 0, 0]
    assert found.measures()["wrong_after_switch"] == 0.5


def test_corrections_teach_the_product_which_of_two_equals_is_out_of_date() -> None:
    needs = [(31.0 + day, 1, [0, 1, 2, 3, 4]) for day in range(6)]
    world = small(needs, pages=5, replaces={1: 0})
    assert replay(world, BY_NAME["relevance"], graders=SURE).stale.all()
    assert replay(world, BY_NAME[MAIN], graders=SURE).stale.tolist() == [True] + [False] * 5
    deaf = Graders(corrected=0.0)
    assert replay(world, BY_NAME[MAIN], graders=deaf).stale.all()


def test_feedback_counts_from_the_next_morning_on() -> None:
    needs = [(31.25, 1, [0, 1, 2, 3]), (31.75, 1, [0, 1, 2, 3]), (32.25, 1, [0, 1, 2, 3])]
    found = replay(small(needs, pages=4, replaces={1: 0}), BY_NAME[MAIN], graders=SURE)
    assert found.stale.tolist() == [True, True, False]


def test_being_shown_feeds_itself_where_it_counts_as_use() -> None:
    """Page 5 is needed, and opened twice; pages 1 to 3 are only ever shown beside it."""
    shown = [(31.0 + day, 5, [5, 1, 2, 3, 4]) for day in range(8)]
    asked = [(39.5, 4, [1, 2, 3, 6, 4, 5])]
    world = small(shown + asked, pages=7)
    kept = replay(world, BY_NAME["use"], graders=SURE)
    fed = replay(world, BY_NAME["retrieval_as_use"], graders=SURE)
    assert fed.place[-1] == 0
    assert kept.events < fed.events


def test_a_gate_drops_what_has_faded() -> None:
    needs = [(31.0, 0, [0, 1, 2, 3])]
    assert replay(small(needs, pages=4), BY_NAME["gate"]).place.tolist() == [0]
    assert replay(small([(20.0, 0, [0, 1, 2, 3])], pages=4), BY_NAME["gate"]).place.tolist() == [1]
    assert 0.995 ** (24 * 26) > GATE > 0.995 ** (24 * 27)


def test_nothing_is_judged_in_the_first_month(world: World) -> None:
    found = replay(world, BY_NAME[MAIN])
    np.testing.assert_array_equal(found.judged, world.need_time >= MONTH)
    assert found.measures()["correct"] == pytest.approx(found.correct[found.judged].mean())


def test_the_named_list_covers_what_it_names() -> None:
    """Page 0 is opened every day of the first month; the list of one page holds it, and half the needs."""
    month = [(1.0 + day, 0, [0, 1, 2, 3]) for day in range(28)]
    later = [(31.0, 0, [0, 1, 2, 3]), (32.0, 3, [0, 1, 2, 3])]
    world = small(month + later, pages=5)
    found = replay(world, BY_NAME[MAIN], in_view=0.2)
    assert {view: column.tolist() for view, column in found.coverage.items() if view != "edit"} == {
        "long": [0.5], "short": [0.5], "count": [0.5]
    }  # fmt: skip
    assert found.measures()["named_list_coverage"] == 0.5


def test_a_month_without_needs_is_left_out() -> None:
    needs = [(31.0, 0, [0, 1]), (95.0, 0, [0, 1])]
    found = replay(small(needs, pages=5), BY_NAME[MAIN])
    assert np.isnan(found.coverage["long"]).tolist() == [False, True, False]
    assert found.covered()["long"] == 1.0


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda r: r.name)
def test_every_policy_replays_a_world_and_does_so_again(world: World, ranker: Ranker) -> None:
    first, second = replay(world, ranker), replay(world, ranker)
    np.testing.assert_array_equal(first.place, second.place)
    np.testing.assert_array_equal(first.stale, second.stale)
    for view in first.coverage:
        np.testing.assert_array_equal(first.coverage[view], second.coverage[view])
    assert all(0.0 <= x <= 1.0 for x in first.measures().values())


def test_widths_of_zero_are_relevance_to_the_last_answer(world: World) -> None:
    plain = replay(world, BY_NAME["relevance"])
    still = replay(world, changed(BY_NAME[MAIN], width=0.0, harm_width=0.0))
    np.testing.assert_array_equal(plain.place, still.place)


def test_the_replay_ranks_as_the_runtime_recalls(world: World) -> None:
    """For the questions of a morning, recall() by name gives the pages that the replay answers from."""
    seen: list[tuple[Moment, np.ndarray]] = []

    class Watched(Ranker):
        def order(self, moment: Moment, top: int):
            found = super().order(moment, top)
            seen.append((changed(moment, states=moment.states.copy()), found))
            return found

    main = BY_NAME["dual_value"]
    replay(world, Watched(main.name, main.says, main.signals))
    assert len(seen) > 100
    for moment, order in seen[:: len(seen) // 40]:
        names = moment.states.names
        for rows, relevance, mine in zip(moment.rows, moment.relevance, order, strict=True):
            nominated = [names[row] for row in rows[~np.isnan(relevance)]]
            expected = recall([nominated], moment.states, moment.now, top=4).memories
            assert tuple(nominated[i] for i in mine if i >= 0) == expected


def test_a_policy_never_sees_the_answer(world: World) -> None:
    """Other needs of the same day, asked by the same candidates, are ranked alike."""
    day = world.need_time // 24.0
    swapped = changed(world, need_page=world.candidates[:, 0].copy())
    first = int(np.flatnonzero(day > day[0])[0])
    orders: list[list[np.ndarray]] = [[], []]
    for i, w in enumerate((world, swapped)):

        class Watched(Ranker):
            def order(self, moment: Moment, top: int, into=orders[i]):
                into.append(super().order(moment, top))
                return into[-1]

        replay(w, Watched("w", "", BY_NAME[MAIN].signals))
    np.testing.assert_array_equal(orders[0][0], orders[1][0])
    assert len(orders[0][0]) == first


def test_other_constants_make_other_states(world: World) -> None:
    usual = replay(world, BY_NAME[MAIN])
    quick = replay(world, BY_NAME[MAIN], formulas=Formulas(use_per_hour=0.9))
    assert (usual.place != quick.place).any()


def test_activation_and_short_clock_are_squashed_alike() -> None:
    """A single use 5.8 days ago: half of it is left on the short clock, and on the long one by its scale."""
    states = States()
    states.apply_at("a", "written", 0.0, 0.5)
    now = 138.3
    rows = np.zeros((1, 1), int)
    moment = Moment(states, now, rows, np.ones((1, 1)), np.ones((1, 1), np.float32))
    short = BY_NAME["use"].signals(moment)["use_strength"][0, 0]
    long = BY_NAME["use_long"].signals(moment)["use_strength"][0, 0]
    assert recent_need(states, now)[0] == pytest.approx(0.5, abs=0.001)
    assert short == pytest.approx(long, abs=0.002)


def test_policies_are_chosen_by_name_and_the_products_is_always_there() -> None:
    assert rankers("all") == rankers(("all",)) == RANKERS
    assert [r.name for r in rankers(("gate", "relevance"))] == ["relevance", "dual", "gate"]
    with pytest.raises(ValueError, match="unknown policy best; choose from all, relevance"):
        rankers(("best",))


def test_numbers_out_of_range_are_refused(world: World) -> None:
    with pytest.raises(ValueError, match="top must be"):
        replay(world, BY_NAME[MAIN], top=0)
    with pytest.raises(ValueError, match="in_view in"):
        replay(world, BY_NAME[MAIN], in_view=0.0)


@pytest.mark.slow
def test_ten_thousand_pages_are_replayed_in_a_minute() -> None:
    import time

    world = business(10_000, 0)
    began = time.process_time()
    found = replay(world, BY_NAME[MAIN])
    assert time.process_time() - began < 60
    assert isinstance(found, Replayed)
