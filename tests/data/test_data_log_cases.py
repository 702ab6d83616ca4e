"""Cases of a business's log: what was there, what was needed after, and nothing of the future."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logged_business import START, business_rows, event, iso, log_of, written

from memvalue.data import Case, DataError
from memvalue.data.event import EVENT_KINDS
from memvalue.data.logs import LogCases, cases_from_log

DAY = 24.0


def cases(*rows: dict[str, Any], memories: Any = (), **more: Any) -> LogCases:
    return cases_from_log(log_of(rows, memories), **({"every_days": 1} | more))


def needed(made: LogCases) -> dict[str, set[str]]:
    """Time of each case (days since the start) → ids of what was needed."""
    return {case.id[:13]: _named(made, i, "needed") for i, case in enumerate(made.dataset)}


def _named(made: LogCases, i: int, label: str) -> set[str]:
    flags = getattr(made.dataset.cases[i].sealed.open(), label)
    return {name for name, flag in zip(made.ids[i], flags, strict=True) if flag}


def one(*rows: dict[str, Any], **more: Any) -> tuple[set[str], set[str]]:
    """Needed and obsolete memories of the case of day 1, in a log that goes on to day 3.

    Memory z is opened in the horizon, so that there is a case whatever else happens.
    """
    frame = [written(0, "z"), event("opened", 1.5 * DAY, "z"), event("shown", 3 * DAY, "z")]
    made = cases(*frame, *rows, **more)
    assert made.dataset.cases[0].id == "2023-01-03T08:00:00Z"
    return _named(made, 0, "needed") - {"z"}, _named(made, 0, "obsolete")


def test_needed_is_what_is_deliberately_used_in_the_horizon_after() -> None:
    rows = [
        *(written(0, name) for name in "abcdefg"),
        event("opened", 1.5 * DAY, "a"),
        event("confirmed", 2.0 * DAY, "b", signal=0.5),  # its last moment is inside
        event("written", 1.2 * DAY, "c"),
        event("shown", 1.5 * DAY, "d", weight=1000),  # shown is not used
        event("opened", 1.0 * DAY, "e"),  # at the consolidation itself: before the horizon
        event("confirmed", 1.5 * DAY, "f", signal=0.4),  # no help
        event("opened", 2.1 * DAY, "g"),  # after the horizon
        event("rescored", 1.5 * DAY, "g"),
        event("imported", 1.5 * DAY, "g"),
    ]
    assert one(*rows) == ({"a", "b", "c"}, set())


def test_a_use_that_counts_for_nothing_is_none() -> None:
    assert one(written(0, "a"), event("opened", 1.5 * DAY, "a", weight=0)) == (set(), set())


def test_the_first_writing_is_no_use_even_where_the_memory_is_older() -> None:
    dump = [{"id": "a", "text": "Old.", "role": "user", "time": iso(-DAY)}]
    assert one(event("written", 1.5 * DAY, "a"), memories=dump) == (set(), set())


def test_what_is_corrected_in_the_horizon_was_not_needed_unless_confirmations_outvote_it() -> None:
    used = [written(0, "a"), event("opened", 1.2 * DAY, "a")]
    wrong = event("corrected", 1.3 * DAY, "a")
    right = event("confirmed", 1.4 * DAY, "a")
    assert one(*used, wrong) == (set(), {"a"})
    assert one(*used, event("contradicted", 1.3 * DAY, "a")) == (set(), {"a"})
    assert one(*used, wrong, right) == (set(), {"a"})
    assert one(*used, wrong, right, right | {"time": iso(1.5 * DAY)}) == ({"a"}, set())
    assert one(*used, event("corrected", 2.5 * DAY, "a")) == ({"a"}, set())  # after the horizon


def test_what_is_superseded_is_obsolete_and_its_uses_after_that_are_mistakes() -> None:
    gone = event("superseded", 1.2 * DAY, "a")
    assert one(written(0, "a"), gone, event("opened", 1.5 * DAY, "a")) == (set(), {"a"})
    assert one(written(0, "a"), event("opened", 1.1 * DAY, "a"), gone) == ({"a"}, {"a"})
    before = event("superseded", 0.5 * DAY, "a")
    assert one(written(0, "a"), before, event("opened", 1.5 * DAY, "a")) == (set(), {"a"})
    mended = [before, event("written", 0.6 * DAY, "a"), event("opened", 1.5 * DAY, "a")]
    assert one(written(0, "a"), *mended) == ({"a"}, set())


def test_a_memory_is_there_from_its_writing_until_it_is_forgotten() -> None:
    rows = [
        written(0, "z"), written(0, "a"), written(1.5 * DAY, "b"), event("forgotten", 2.5 * DAY, "a"),
        written(3.5 * DAY, "a", text="Again."),
    ]  # fmt: skip
    made = cases(*rows, *(event("opened", d * DAY, "z") for d in (1.6, 2.6, 3.6, 4.6, 5.2)))
    assert [set(names) for names in made.ids] == [{"z", "a"}, {"z", "a", "b"}, {"z", "b"}, {"z", "a", "b"}]
    texts = [dict(zip(made.ids[i], c.consolidation.texts, strict=True)) for i, c in enumerate(made.dataset)]
    assert [t.get("a") for t in texts] == ["My order is 4471.", "My order is 4471.", None, "Again."]


def test_a_case_shows_the_text_of_its_time() -> None:
    dump = [{"id": "a", "text": "Dumped.", "role": "assistant", "time": iso(-DAY), "session": 1}]
    rows = [event("opened", 0, "a"), written(1.5 * DAY, "a", text="Second.", role="user", trust=0.1)]
    made = cases(*rows, *(event("opened", d * DAY, "a") for d in (1.2, 2.5, 4)), memories=dump)
    views = [case.consolidation for case in made.dataset]
    assert [v.texts for v in views] == [("Dumped.",), ("Second.",), ("Second.",)]
    assert {v.roles for v in views} == {("assistant",)}
    assert all(v.trust is None for v in views)


def test_rows_are_in_the_order_of_a_store_and_events_name_them() -> None:
    rows = [
        written(5, "late", session="one"),
        written(3, "mid", session="two"),
        written(1, "first", session="one"),
        event("opened", 6, "late"),
        event("opened", 1.5 * DAY, "mid"),
        event("opened", 3 * DAY, "mid"),
    ]
    made = cases(*rows)
    view = made.dataset.cases[0].consolidation
    assert made.ids[0] == ("first", "late", "mid")
    assert view.sessions.tolist() == [0, 0, 1] and view.positions.tolist() == [0, 1, 0]
    assert [(e.kind, e.memory) for e in view.events] == [
        ("written", 0), ("written", 2), ("written", 1), ("opened", 1)
    ]  # fmt: skip
    assert view.now == np.datetime64("2023-01-03T09:00:00")
    assert (view.times <= view.now).all()


def test_cases_without_a_need_or_a_whole_horizon_are_left_out_and_counted() -> None:
    rows = [written(0, "a"), event("opened", 1.5 * DAY, "a"), event("opened", 4.5 * DAY, "a")]
    made = cases(*rows)
    assert list(needed(made)) == ["2023-01-03T08"]
    assert made.dataset.skipped == {"nothing needed in the horizon": 2, "horizon not over": 1}
    assert made.ends.tolist() == [datetime(2023, 1, 4, 8)]
    longer = cases(*rows, horizon_days=2.5)
    assert list(needed(longer)) == ["2023-01-03T08", "2023-01-04T08"]
    assert cases(*rows, start=START + timedelta(days=3.5), horizon_days=1).dataset.cases[0].id == (
        "2023-01-05T20:00:00Z"
    )


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"every_days": 0}, "every_days must lie between one second"),
        ({"every_days": float("nan")}, "every_days must lie"),
        ({"horizon_days": 0}, "horizon_days must lie"),
        ({"min_needed": 0}, "min_needed must be 1 or more"),
        ({"start": datetime(2023, 1, 1)}, "start has no time zone"),
        ({"start": datetime(2030, 1, 1, tzinfo=UTC)}, "makes no case .no consolidation in its time"),
        ({"min_needed": 2}, "makes no case .4 × nothing needed in the horizon, 1 × horizon not over"),
        ({"every_days": 2e-5}, "raise every_days"),
    ],
)
def test_settings_that_make_no_sense_are_told(more: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=says):
        cases(written(0), event("opened", 1.5 * DAY), event("opened", 5.5 * DAY), **more)


def test_a_log_without_texts_says_where_to_give_them() -> None:
    with pytest.raises(DataError, match="no text of any memory; give memories=FILE"):
        cases(event("opened", 0), event("opened", 10 * DAY))


def test_memories_without_a_text_are_in_no_case() -> None:
    rows = [written(0, "a"), event("written", 0, "b")]
    made = cases(*rows, *(event("opened", d * DAY, m) for d in (1.5, 3) for m in "ab"))
    assert all(names == ("a",) for names in made.ids)
    assert all(e.memory == 0 for case in made.dataset for e in case.consolidation.events)


def test_shown_events_are_left_out_unless_asked_for() -> None:
    rows = [event("shown", -1, "a"), written(0, "a"), event("shown", 1, "a"), event("opened", 1.5 * DAY, "a")]
    rows.append(event("opened", 3 * DAY, "a"))
    kinds = [[e.kind for e in c.consolidation.events] for c in cases(*rows).dataset]
    assert kinds[0] == ["shown", "written"]  # the first says that there was a log
    assert [e.kind for e in cases(*rows, shown=True).dataset.cases[0].consolidation.events] == [
        "shown", "written", "shown"
    ]  # fmt: skip


def test_a_simulated_business_makes_a_case_a_week_and_agrees_with_a_plain_reading() -> None:
    rows = business_rows(0)
    log = log_of(rows)
    made = cases_from_log(log, shown=True)
    assert len(made) == 103
    for i, case in list(enumerate(made.dataset))[::17]:
        assert (_named(made, i, "needed"), _named(made, i, "obsolete")) == plain(rows, case, made.ends[i])


def plain(rows: Any, case: Case, end: np.datetime64) -> tuple[set[str], set[str]]:
    """The definitions, event by event."""
    now, until = (t.item().replace(tzinfo=UTC) for t in (case.consolidation.now, end))
    there: set[str] = set()
    used: set[str] = set()
    wrong: dict[str, int] = {}
    right: dict[str, int] = {}
    since: dict[str, list[int]] = {}
    for row in rows:
        moment, name, kind = datetime.fromisoformat(row["time"]), row["memory"], row["kind"]
        if moment > until:
            break
        if kind == "written":
            since[name] = [0, 0]
            if moment <= now:
                there.add(name)
        if kind == "corrected":
            since[name][0] += 1
        if kind == "confirmed":
            since[name][1] += 1
        if moment > now:
            wrong[name] = wrong.get(name, 0) + (kind == "corrected")
            right[name] = right.get(name, 0) + (kind == "confirmed")
            if kind in ("opened", "confirmed", "written"):
                used.add(name)
    kept = {n for n in used & there if not wrong[n] or wrong[n] < right[n]}
    return kept, {n for n in there if since[n][0] and since[n][0] >= since[n][1]}


later = st.lists(
    st.tuples(
        st.sampled_from(sorted(EVENT_KINDS)),
        st.integers(0, 100),
        st.sampled_from(["page-0", "page-1", "page-30", "new"]),
        st.booleans(),
    ),
    max_size=8,
)


@given(later)
def test_nothing_after_a_case_changes_what_it_shows(future: list[tuple[str, int, str, bool]]) -> None:
    rows = list(business_rows(1, pages=40, years=0.6))
    cut = datetime.fromisoformat(rows[len(rows) // 2]["time"])
    before = [row for row in rows if datetime.fromisoformat(row["time"]) <= cut]
    hours = (cut - START) / timedelta(hours=1)
    # Whatever comes: other texts, roles, trust; and a use at the end that makes the cases.
    told = {
        "text": "Else.",
        "role": "assistant",
        "trust": 0.0,
        "pinned": True,
        "session": "other",
        "position": 0,
    }
    after = [
        event(kind, hours + h + 0.5, memory, **(told if described else {}))
        for kind, h, memory, described in future
    ]
    end = [event("opened", hours + h, f"page-{i}") for h in (1, 400) for i in range(40)]
    one = cases_from_log(log_of([*before, *end]))
    other = cases_from_log(log_of([*before, *after, *end]))
    theirs = {case.id: case for case in other.dataset}
    seen = 0
    for case in one.dataset:
        if case.consolidation.now <= np.datetime64(cut.replace(tzinfo=None)) and case.id in theirs:
            assert case.consolidation.digest() == theirs[case.id].consolidation.digest()
            seen += 1
    assert seen > 5


def test_equal_logs_make_equal_cases_and_settings_count() -> None:
    rows = business_rows(1, pages=40, years=0.6)
    one, other = (cases_from_log(log_of(rows)) for _ in range(2))
    assert one.dataset.digest == other.dataset.digest
    assert [c.consolidation.digest() for c in one.dataset] == [
        c.consolidation.digest() for c in other.dataset
    ]
    assert cases_from_log(log_of(rows), every_days=8).dataset.digest != one.dataset.digest


@pytest.mark.slow
def test_two_years_of_a_thousand_memories_take_seconds() -> None:
    rng = np.random.default_rng(0)
    born = np.sort(rng.uniform(0, 17_000, 1000))
    rows = [written(float(h), f"m{i}", f"Memory {i}.") for i, h in enumerate(born)]
    memory = rng.integers(0, 1000, 100_000)
    hours = born[memory] + rng.random(100_000) * (17_520 - born[memory])
    kinds = rng.choice(["shown", "opened", "confirmed", "corrected"], 100_000, p=[0.6, 0.3, 0.08, 0.02])
    rows += [event(str(k), float(h), f"m{m}") for m, h, k in zip(memory, hours, kinds, strict=True)]
    log = log_of(rows)
    start = time.perf_counter()
    assert len(cases_from_log(log)) == 103
    assert time.perf_counter() - start < 20  # 2.3 s alone on one core; the machine may be shared
