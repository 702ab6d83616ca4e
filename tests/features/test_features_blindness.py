"""Blind by construction: questions, ids and labels change no bit of any factor (design.md, rule 1)."""

from __future__ import annotations

import ast
import copy
import dataclasses
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import numpy as np
import pytest

from memvalue.data.case import AnswerKey, Case, SealedKey
from memvalue.data.consolidation import Consolidation
from memvalue.data.dataset import Dataset
from memvalue.data.event import Event
from memvalue.data.load import load
from memvalue.data.memory import Memory
from memvalue.eval.bench import Bench
from memvalue.features import DEFINITIONS, combine, extract, observe

if TYPE_CHECKING:
    from conftest import SharedData

REGIMES = ("batch", "online")
Questions = list[dict[str, Any]]


def bits(consolidations: Sequence[Consolidation]) -> list[bytes]:
    """Every bit that any factor of any definition has, in either regime, and all evidence."""
    out = []
    for regime in REGIMES:
        for e in observe(consolidations, regime=regime):  # type: ignore[arg-type]
            out.append(e.values.tobytes())
            out += [combine(e, d).tobytes() for d in DEFINITIONS.values()]
    return out


# What the extractor can see at all.


def test_what_the_extractor_takes_has_no_question_no_answer_and_no_id() -> None:
    assert get_type_hints(observe)["consolidations"] == Sequence[Consolidation]
    assert get_type_hints(extract)["consolidation"] is Consolidation
    columns = {"texts", "roles", "sessions", "positions", "times", "now", "events", "trust", "pinned"}
    assert {f.name for f in dataclasses.fields(Consolidation)} == columns | {"_person"}
    assert {f.name for f in dataclasses.fields(Event)} == {
        "kind", "memory", "time", "actor", "signal", "weight"
    }  # fmt: skip
    assert {f.name for f in dataclasses.fields(Memory)} == {
        "text", "role", "time", "session", "position", "trust", "stratum", "scope", "expires", "pinned"
    }  # fmt: skip


def test_no_module_of_the_factors_knows_of_cases_or_keys() -> None:
    allowed = {f"memvalue.data.{name}" for name in ("consolidation", "event", "memory")}
    for path in (Path(__file__).resolve().parents[2] / "features").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names.append(node.module)
            assert {n for n in names if n.startswith("memvalue.data")} <= allowed, path.name


def test_extraction_opens_no_key() -> None:
    cases = load("simulated:seed=3,cases=6").cases
    bits([c.consolidation for c in cases])
    extract(cases[0].consolidation)
    assert all(c.sealed.looks == 0 for c in cases)


# Real data: the file is changed before it is loaded.


def _swap_questions(questions: Questions, rng: random.Random) -> None:
    for key in ("question", "answer", "question_type"):
        values = [q.get(key) for q in questions]
        for q, value in zip(questions, values[1:] + values[:1], strict=True):
            q[key] = value


def _permute_ids(questions: Questions, rng: random.Random) -> None:
    every = [i for q in questions for i in q["haystack_session_ids"]]
    rng.shuffle(every)
    ids = [q["question_id"] for q in questions]
    rng.shuffle(ids)
    for q, name in zip(questions, ids, strict=True):
        q["question_id"] = name
        q["haystack_session_ids"] = [every.pop() for _ in q["haystack_session_ids"]]
        q["answer_session_ids"] = rng.sample(q["haystack_session_ids"], 1)


def _strip_labels(questions: Questions, rng: random.Random) -> None:
    for q in questions:
        for session in q["haystack_sessions"]:
            for turn in session:
                turn.pop("has_answer", None)
        # The gold is kept elsewhere; the loader refuses a file without any, so one turn plays its part.
        rng.choice(q["haystack_sessions"])[0]["has_answer"] = True


def _flip_labels(questions: Questions, rng: random.Random) -> None:
    for q in questions:
        for session in q["haystack_sessions"]:
            for turn in session:
                turn["has_answer"] = not turn.get("has_answer", False)


def _label_everything(questions: Questions, rng: random.Random) -> None:
    _swap_questions(questions, rng)
    _permute_ids(questions, rng)
    _flip_labels(questions, rng)


CHANGES = (_swap_questions, _permute_ids, _strip_labels, _flip_labels, _label_everything)


@pytest.fixture(scope="module")
def official(shared_data: SharedData) -> tuple[Questions, list[bytes]]:
    """Questions of the official file, and the bits of their factors."""
    path = shared_data.longmemeval(6)
    cases = load(f"longmemeval:{path}").cases
    questions = json.loads(path.read_text("utf-8"))
    usable = {c.id for c in cases}
    return [q for q in questions if q["question_id"] in usable], bits([c.consolidation for c in cases])


@pytest.mark.parametrize("change", CHANGES)
def test_no_change_of_questions_ids_or_labels_changes_a_bit(
    change: Callable[[Questions, random.Random], None],
    official: tuple[Questions, list[bytes]],
    tmp_path: Path,
) -> None:
    questions, want = official
    changed = copy.deepcopy(questions)
    change(changed, random.Random(5))
    assert changed != questions
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(changed), "utf-8")
    cases = load(f"longmemeval:{path}").cases
    assert len(cases) == len(questions)
    assert bits([c.consolidation for c in cases]) == want


def test_a_word_of_a_memory_does_change_bits(official: tuple[Questions, list[bytes]], tmp_path: Path) -> None:
    # The comparison above can fail: otherwise it would prove nothing.
    questions, want = official
    changed = copy.deepcopy(questions[:1])
    changed[0]["haystack_sessions"][0][0]["content"] += " I bought 3 violins!"
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(changed), "utf-8")
    [case] = load(f"longmemeval:{path}").cases
    assert bits([case.consolidation])[0] != want[0]


# Simulated data: through to what is judged.


def _other_key(case: Case, other: Case) -> Case:
    key = case.sealed.open()
    n = len(case)
    flipped = AnswerKey(
        needed=~key.needed,
        obsolete=None if key.obsolete is None else ~key.obsolete,
        announces=None,
        source=("sharegpt",) * n,
        question=other.sealed.open().question,
    )
    return dataclasses.replace(case, id=f"answer_{other.id}", sealed=SealedKey(flipped), kind=other.kind)


@pytest.mark.parametrize("regime", REGIMES)
def test_other_keys_ids_and_kinds_change_no_factor_of_the_bench(regime: Any) -> None:
    data = load("simulated:seed=4,cases=6")
    changed = [_other_key(c, o) for c, o in zip(data.cases, data.cases[1:] + data.cases[:1], strict=True)]
    a = Bench.build(data, regime=regime)
    b = Bench.build(Dataset(data.spec, data.name, changed), regime=regime)
    assert a.needed.tobytes() != b.needed.tobytes() and a.case_ids != b.case_ids
    np.testing.assert_array_equal(a.factors, b.factors)
    np.testing.assert_array_equal(a.evidence, b.evidence)
    np.testing.assert_array_equal(a.informed, b.informed)


def test_the_order_of_the_cases_changes_nothing() -> None:
    views = [c.consolidation for c in load("simulated:seed=5,cases=4").cases]
    assert [bits([c]) for c in reversed(views)] == [bits([c]) for c in views][::-1]
