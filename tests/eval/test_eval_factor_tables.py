"""From cases to numbers: the table says what the bench says, in order of time, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memvalue.data import DataError, load
from memvalue.data.factor_file import salted_ids
from memvalue.data.logs import LogCases, cases_from_log
from memvalue.data.logs.log_rows import LogRows
from memvalue.eval.factor_tables import factor_table
from memvalue.eval.prepare_job import Setting
from memvalue.features.log_evidence import log_evidence
from memvalue.features.names import DEFINITION_VERSION, FACTORS

START = datetime(2024, 3, 4, 9, tzinfo=UTC)
SALT = b"0123456789abcdef"


@pytest.fixture(scope="module")
def setting() -> Setting:
    return Setting.named("default", "none", "batch")


def rows(weeks: int = 6) -> list[dict[str, Any]]:
    """A small business: a memory a day, an old one opened every two days."""
    out = []
    for day in range(7 * weeks):
        moment = START + timedelta(days=day)
        text = f"I prefer the train no. {day} to Berlin, my seat is {day % 9}." if day % 3 else "Thanks!"
        out.append(
            {"memory": f"m{day}", "kind": "written", "time": moment, "text": text,
             "role": "assistant" if day % 5 == 0 else "user"}
        )  # fmt: skip
        if day % 2:
            out.append({"memory": f"m{day // 2}", "kind": "opened", "time": moment + timedelta(hours=3)})
        if day % 10 == 9:
            out.append({"memory": f"m{day // 3}", "kind": "corrected", "time": moment + timedelta(hours=4)})
    return out


def cases(some: list[dict[str, Any]] | None = None) -> LogCases:
    made = LogRows()
    for i, row in enumerate(rows() if some is None else some):
        made.event(row, f"row {i}")
    return cases_from_log(made.log("test"))


def test_the_table_of_a_log_says_what_its_cases_say(setting: Setting) -> None:
    made = cases()
    table = factor_table(made.dataset, setting, ends=made.ends, ids=made.ids, salt=SALT, source="log")
    bench = setting.bench(made.dataset)
    assert (table.names, table.definition_version, table.source) == (FACTORS, DEFINITION_VERSION, "log")
    assert table.definition == setting.described
    assert len(table) == len(made) == 4
    assert np.array_equal(table.factors, bench.factors) and np.array_equal(table.informed, bench.informed)
    assert table.informed[FACTORS.index("usage_history")]
    assert np.array_equal(table.ends, made.ends)
    assert (table.ends - table.times == np.timedelta64(7, "D")).all()
    for c, case in enumerate(made.dataset):
        mine = slice(table.offsets[c], table.offsets[c + 1])
        key, view = case.sealed.open(), case.consolidation
        assert np.array_equal(table.needed[mine], key.needed) and np.array_equal(
            table.obsolete[mine], key.obsolete
        )
        assert np.array_equal(table.machine[mine], [role == "assistant" for role in view.roles])
        assert table.tokens[mine].tolist() == [len(text.split()) for text in view.texts]
        assert np.allclose(table.age_days[mine], (view.now - view.times) / np.timedelta64(86_400, "s"))
        assert np.allclose(table.uses[mine], log_evidence(view)[0])
        assert np.array_equal(table.ids[mine], salted_ids(made.ids[c], SALT))  # type: ignore[index]
    assert table.obsolete.any() and table.needed.any()


def test_cases_go_in_order_of_time_and_bring_their_ends_and_ids_along(setting: Setting) -> None:
    made = cases()
    turned = replace(made.dataset, cases=made.dataset.cases[::-1], digest="")
    one = factor_table(made.dataset, setting, ends=made.ends, ids=made.ids, salt=SALT)
    other = factor_table(turned, setting, ends=made.ends[::-1], ids=made.ids[::-1], salt=SALT)
    assert one.digest() == other.digest()


def test_labelled_cases_have_no_ids_and_end_where_they_are(setting: Setting) -> None:
    table = factor_table(load("simulated:cases=4"), setting)
    assert table.ids is None and table.source == "cases"
    assert np.array_equal(table.ends, table.times)
    assert np.isnan(table.uses).all()
    ready = factor_table(load("confound:cases=3"), setting)
    assert np.isnan(ready.uses).all() and ready.rows == 60


def test_nothing_of_the_future_is_in_the_numbers(setting: Setting) -> None:
    some = rows(7)
    cut = START + timedelta(days=7 * 4)
    changed = [
        row if row["time"] <= cut or row["kind"] == "written" else row | {"memory": "m1", "kind": "confirmed"}
        for row in some
    ]
    one, other = cases(some), cases(changed)
    tables = [factor_table(c.dataset, setting, ends=c.ends) for c in (one, other)]
    shared = int(np.searchsorted(tables[0].times, np.datetime64(cut.replace(tzinfo=None)), "right"))
    assert shared >= 3
    first, second = (table.take(np.arange(shared)) for table in tables)
    for name in ("factors", "uses", "tokens", "age_days", "machine"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes(), name
    assert not np.array_equal(first.needed, second.needed)


def test_what_does_not_fit_is_told(setting: Setting) -> None:
    made = cases()
    with pytest.raises(DataError, match="salted; give a salt"):
        factor_table(made.dataset, setting, ids=made.ids)
    with pytest.raises(DataError, match="ends has 1 entries for 4 cases"):
        factor_table(made.dataset, setting, ends=made.ends[:1])
    with pytest.raises(DataError, match="one name for each memory of each case"):
        factor_table(made.dataset, setting, ids=[("x",)] * 4, salt=SALT)


def test_the_cache_gives_the_same_numbers(tmp_path: Path, setting: Setting) -> None:
    cached = Setting.named("default", "none", "batch", tmp_path)
    made = cases()
    tables = [factor_table(made.dataset, s, ends=made.ends) for s in (setting, cached, cached)]
    assert len({table.digest() for table in tables}) == 1
