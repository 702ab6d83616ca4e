"""What is spoiled in a log is found, named and taken out; a sound log is left alone."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logged_business import START, business_rows, event, iso, log_of, written

from memvalue.data.logs import Log, LogWarning, cases_from_log, clean_log
from memvalue.data.logs.clock_jumps import _longest_rise
from memvalue.data.logs.grading import grading_error
from memvalue.data.logs.log import KINDS

PAGES = 80
END = START + timedelta(days=730)


def clean(rows: Any, **more: Any) -> tuple[Log, dict[str, LogWarning]]:
    log, warnings = clean_log(log_of(rows), **more)
    return log, {w.code: w for w in warnings}


def sound(seed: int = 0) -> list[dict[str, Any]]:
    return list(business_rows(seed, PAGES))


def without_text(log: Log) -> list[tuple[Any, ...]]:
    """What happened, without the numbers of actors, which depend on who else there was."""
    return [
        (log.ids[m], KINDS[k], str(t), s, w)
        for m, k, t, s, w in zip(log.memory, log.kind, log.time, log.signal, log.weight, strict=True)
    ]


# --- a sound log ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rhythm", ["bursty", "scheduled"])
@pytest.mark.parametrize("pages", [40, 80, 200])
@pytest.mark.parametrize("seed", range(4))
def test_a_simulated_business_is_sound(rhythm: str, pages: int, seed: int) -> None:
    log = log_of(business_rows(seed, pages, rhythm))
    cleaned, warnings = clean_log(log)
    assert warnings == []
    assert len(log) - len(cleaned) <= 1  # a page edited twice in one second


@pytest.mark.parametrize(
    "actor",
    [
        lambda row, i: "the only one",
        lambda row, i: f"person {i % 8}",
        lambda row, i: "main" if i % 10 else "second",
        lambda row, i: "agent" if row["kind"] == "opened" else "user",
        lambda row, i: "support" if int(row["memory"][5:]) % 5 == 0 else "sales",
        lambda row, i: "support" if int(row["memory"][5:]) % 2 else "sales",
    ],
)
@pytest.mark.parametrize("opened", [True, False])
def test_however_a_business_divides_its_work_nobody_is_suspected(actor: Any, opened: bool) -> None:
    rows = [
        row | {"actor": actor(row, i)} for i, row in enumerate(sound(2)) if opened or row["kind"] != "opened"
    ]
    assert clean(rows)[1] == {}


@pytest.mark.parametrize(
    "arranged",
    [
        lambda rows: rows[::-1],
        lambda rows: sorted(rows, key=lambda r: r["memory"]),
        lambda rows: sorted(rows, key=lambda r: r["kind"] != "written"),
        lambda rows: rows[1500:] + rows[:1500],
        lambda rows: [r | {"time": r["time"][:10] + "T00:00:00Z"} for r in rows],  # exact to the day
    ],
)
def test_however_a_file_is_arranged_its_clocks_are_not_suspected(arranged: Any) -> None:
    log, found = clean(arranged(sound()))
    assert found == {}
    assert len(log) == len(sound())


def test_regular_work_of_a_single_user_is_not_a_bot() -> None:
    rows = [written(0, f"m{i}") for i in range(5)]
    rows += [event("opened", 24.0 * day, f"m{day % 5}") for day in range(1, 300)]
    assert clean(rows)[1] == {}


# --- time -------------------------------------------------------------------------------------------------


def test_events_that_are_there_twice_count_once() -> None:
    rows = sound()
    log, found = clean(rows + rows[500:900])
    assert without_text(log) == without_text(log_of(rows))
    opened = sum(row["kind"] != "written" for row in rows[500:900])
    assert found["duplicates"].count == opened
    assert f"{opened} events are there more than once" in found["duplicates"].message
    changed = rows[700] | {"signal": 0.123}
    assert clean([*rows, changed])[1] == {}


def test_events_of_the_future_are_left_out_and_writings_are_dated_by_their_place() -> None:
    rows = [*sound(), written(30 * 365 * 24, "new"), event("opened", 30 * 365 * 24, "page-1")]
    log, found = clean(rows)
    assert set(found) == {"future"} and found["future"].count == 2
    assert len(log) == len(sound()) + 1
    assert log.there()[log.ids.index("new")] == log.time.max()
    assert log.time.max() == log_of(sound()).time.max()


def test_the_future_begins_a_day_after_now() -> None:
    rows = [written(0), *(event("opened", h) for h in range(1, 50)), event("opened", 80)]
    now = datetime.fromisoformat(iso(57))
    assert "future" not in clean(rows, now=now)[1]
    assert clean(rows, now=now - timedelta(hours=2))[1]["future"].count == 1


def test_a_log_that_runs_ahead_of_this_machine_as_a_whole_is_taken_at_its_word() -> None:
    shift = timedelta(days=365 * 100)
    rows = [r | {"time": (datetime.fromisoformat(r["time"]) + shift).isoformat()} for r in sound()]
    assert clean(rows)[1] == {}
    assert clean(rows, now=END)[1]["future"].count == len(rows)


def jumped(rows: list[dict[str, Any]], share: float, days: float, numbered: bool) -> list[dict[str, Any]]:
    rng = np.random.default_rng(3)
    out = []
    for i, row in enumerate(rows):
        made = row | ({"id": i} if numbered else {})
        if rng.random() < share:
            moved = datetime.fromisoformat(row["time"]) + timedelta(days=float(rng.uniform(-days, days)))
            made["time"] = moved.isoformat()
        out.append(made)
    return out


@pytest.mark.parametrize("numbered", [True, False])
def test_clocks_that_jump_are_found_by_the_order_of_logging(numbered: bool) -> None:
    rows = sound()
    spoiled = jumped(rows, 0.05, 400.0, numbered)
    log, found = clean(spoiled)
    moved = sum(
        abs(datetime.fromisoformat(a["time"]) - datetime.fromisoformat(b["time"])) > timedelta(days=7)
        for a, b in zip(rows, spoiled, strict=True)
    )
    assert "clock" in found and moved * 0.85 <= sum(w.count for w in found.values()) <= moved * 1.15
    truth = set(without_text(log_of(rows)))
    wrong = [e for e in without_text(log) if e not in truth and e[1] != "written"]
    assert len(wrong) <= 0.15 * moved
    assert set(log.ids) == set(log_of(rows).ids)
    original = log_of(rows)
    shift = np.abs(
        log.there().astype(np.int64)
        - original.there()[[original.ids.index(i) for i in log.ids]].astype(np.int64)
    )
    assert np.quantile(shift, 0.9) <= 7 * 86_400e6


def test_what_clients_send_a_day_late_is_no_jump() -> None:
    rows = [written(0), *(event("opened", h) for h in range(100, 200)), event("opened", 180)]
    assert clean([r | {"id": i} for i, r in enumerate(rows)])[1].keys() <= {"duplicates", "one-memory"}


def test_events_before_their_memory_are_left_out() -> None:
    rows = [*sound(), written(9000, "new"), event("opened", 100, "new"), event("opened", 8990, "new")]
    log, found = clean(rows)
    assert found["early"].count == 1 and len(log) == len(rows) - 1


# --- actors -----------------------------------------------------------------------------------------------


def flood(kind: str, pages: int, span: tuple[float, float], actor: str = "mallory", n: int = 10_000) -> Any:
    rng = np.random.default_rng(5)
    page, hour = rng.integers(0, pages, n), rng.uniform(*span, n)
    return [event(kind, float(h), f"page-{p}", actor=actor) for p, h in zip(page, hour, strict=True)]


@pytest.mark.parametrize("kind", ["confirmed", "corrected"])
@pytest.mark.parametrize("pages", [5, PAGES])
@pytest.mark.parametrize("span", [(4000, 17000), (9000, 9001), (9000, 9024), (9000, 9168)])
def test_a_flood_by_one_actor_is_left_out_altogether(
    kind: str, pages: int, span: tuple[float, float]
) -> None:
    log, found = clean(sound() + flood(kind, pages, span))
    assert without_text(log) == without_text(log_of(sound()))
    told = found.get("flood") or found["bot"]
    assert "'mallory'" in told.message and told.count > 7000


@pytest.mark.parametrize("pages", [5, PAGES])
def test_a_flood_is_found_where_nothing_was_ever_opened_or_shown(pages: int) -> None:
    rows = [r for r in sound() if r["kind"] != "opened"]
    log, found = clean(rows + flood("confirmed", pages, (4000, 17000)))
    assert without_text(log) == without_text(log_of(rows))
    assert "chance alone" in found["flood"].message


def test_a_flood_on_memories_that_nobody_else_uses_is_found() -> None:
    rows = [r for r in sound() if r["kind"] != "opened"]
    rows += [written(0, f"ad-{i}") for i in range(5)]
    spam = [r | {"memory": f"ad-{i % 5}"} for i, r in enumerate(flood("confirmed", 5, (4000, 17000)))]
    log, found = clean(rows + spam)
    assert "flood" in found and without_text(log) == without_text(log_of(rows))


def test_a_flood_of_openings_is_found() -> None:
    log, found = clean(sound() + flood("opened", PAGES, (4000, 17000)))
    assert "flood" in found and without_text(log) == without_text(log_of(sound()))


def test_a_flood_under_the_name_of_everybody_loses_what_nobody_had_seen() -> None:
    log, found = clean(sound() + flood("confirmed", PAGES, (4000, 17000), actor="user"))
    assert found["flood"].count > 8000
    assert len(log) < 1.15 * len(sound())
    kept = set(without_text(log))
    assert sum(e in kept for e in without_text(log_of(sound()))) >= 0.99 * len(sound())


def test_a_flood_leaves_the_cases_as_they_were() -> None:
    clean_cases = cases_from_log(clean(sound())[0])
    flooded = cases_from_log(clean(sound() + flood("confirmed", PAGES, (4000, 17000)))[0])
    assert [c.id for c in flooded.dataset] == [c.id for c in clean_cases.dataset]
    for one, other in zip(flooded.dataset, clean_cases.dataset, strict=True):
        assert one.consolidation.digest() == other.consolidation.digest()
        assert np.array_equal(one.sealed.open().needed, other.sealed.open().needed)


def test_a_clockwork_among_users_is_a_bot_but_what_it_wrote_stays() -> None:
    cron = [event("opened", float(h), f"page-{h % PAGES}", actor="cron") for h in range(6000, 17000, 6)]
    cron += [
        written(float(h) + 0.5, f"page-{h % PAGES}", f"Text of {h}.", actor="cron") for h in (7000, 9000)
    ]
    log, found = clean(sound() + cron)
    assert set(found) <= {"bot", "early"} and "'cron' acted every 21600 seconds" in found["bot"].message
    assert log.text[log.actor == log.actors.index("cron")].tolist() == ["Text of 7000.", "Text of 9000."]
    assert log.weight[log.actor == log.actors.index("cron")].tolist() == [0, 0]


def test_grades_in_bulk_are_left_out_but_the_rest_of_the_actor_stays() -> None:
    bulk = [event("confirmed", 9000 + i / 7200, f"page-{i % 40}", actor="user") for i in range(100)]
    log, found = clean(sound() + bulk)
    assert found["rush"].count + found["early"].count == 100 and set(found) == {"rush", "early"}
    assert without_text(log) == without_text(log_of(sound()))


def test_uses_repeated_within_a_day_are_capped() -> None:
    page = sound()[0]["memory"]
    hours = np.random.default_rng(0).uniform(9000, 9002, 1000).tolist()
    many = [event("opened", hour, page, actor="eve") for hour in hours]
    log, found = clean(sound() + many)
    eve = log.actor == log.actors.index("eve")
    assert 50 <= log.weight[eve].sum() <= 80 and set(found) == {"repeats"}
    assert found["repeats"].count == 1000 - log.weight[eve].sum()
    heavy = [event("opened", 9000, page, actor="eve", weight=1e6)]
    assert clean(sound() + heavy)[0].weight.max() == log.weight[eve].sum()


# --- what cannot be mended --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_graders_who_are_wrong_one_time_in_three_are_noticed(seed: int) -> None:
    rows = []
    rng = np.random.default_rng(seed)
    for row in sound(seed):
        if row["kind"] in ("confirmed", "corrected") and rng.random() < 1 / 3:
            row = row | {"kind": "corrected" if row["kind"] == "confirmed" else "confirmed"}
        rows.append(row)
    log, found = clean(rows)
    assert set(found) == {"graders"}
    assert 0.25 < grading_error(log).share < 0.4
    assert "of the grades look wrong" in found["graders"].message
    assert grading_error(log_of(sound(seed))).share < 0.1


def test_the_grading_error_is_that_of_its_formula() -> None:
    kinds = ["confirmed", "corrected"] * 3 + ["confirmed"] * 6
    rows = [written(0), *(event(kind, 1.0 + i) for i, kind in enumerate(kinds))]
    found = grading_error(log_of(rows))
    assert found.pairs == 11
    assert found.share == pytest.approx((1 - (1 - 2 * 6 / 11 + 1e-300) ** 0.5) / 2 if 6 / 11 < 0.5 else 0.5)
    assert 0 < found.at_least < found.share
    apart = [r | {"time": iso(24.0 * 31 * i)} for i, r in enumerate(rows)]
    assert grading_error(log_of(apart)).pairs == 0
    mended = [rows[0], rows[1], event("written", 1.5), rows[2]]
    assert grading_error(log_of(mended)).pairs == 0


def test_a_business_of_one_memory_and_one_with_few_uses_are_told() -> None:
    one = [written(0), *(event("opened", 30.0 * i) for i in range(1, 60))]
    assert set(clean(one)[1]) == {"one-memory"}
    mostly = [written(0, f"m{i}") for i in range(9)]
    mostly += [event("opened", 30.1 * i, "m0" if i % 20 else "m1") for i in range(1, 60)]
    assert clean(mostly)[1]["one-memory"].count == 57
    few = [written(0, f"m{i}") for i in range(9)] + [event("opened", 5.0 + i, f"m{i}") for i in range(5)]
    assert clean(few)[1]["few-uses"].count == 5
    assert set(clean([event("shown", 0)])[1]) == {"few-uses", "one-memory"}


def test_events_about_memories_without_a_text_are_told() -> None:
    rows = [*sound(), *(event("opened", 9000 + i, "lost") for i in range(3))]
    log, found = clean(rows)
    assert set(found) == {"no-text"} and found["no-text"].count == 3
    assert len(log) == len(rows)


def test_a_warning_names_what_was_done() -> None:
    assert LogWarning("a", "b", 1) == LogWarning("a", "b", 1)
    with pytest.raises(AttributeError):
        LogWarning("a", "b", 1).count = 2  # type: ignore[misc]


@given(st.lists(st.integers(0, 8), max_size=12))
def test_the_longest_rise_is_the_longest(values: list[int]) -> None:
    found = _longest_rise(values)
    assert found == sorted(set(found))
    chosen = [values[i] for i in found]
    assert chosen == sorted(chosen)
    best = [0] * len(values)
    for i, value in enumerate(values):
        best[i] = 1 + max((best[j] for j in range(i) if values[j] <= value), default=0)
    assert len(found) == max(best, default=0)


rows_of_any_kind = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.floats(-1e5, 1e5),
        st.sampled_from("abc"),
        st.sampled_from(["x", "y"]),
        st.sampled_from([0.0, 1.0, 1e9]),
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=30)
@given(rows_of_any_kind)
def test_cleaning_never_fails_and_cleaning_again_changes_nothing_dated(rows: Any) -> None:
    log = log_of(event(k, h, m, actor=a, weight=w) for k, h, m, a, w in rows)
    once, _ = clean_log(log, now=END)
    twice, again = clean_log(once, now=END)
    assert set(twice.ids) == set(log.ids)
    assert not {w.code for w in again} & {"future", "rush"}
    assert len(twice) <= len(once) <= len(log)
