"""Text becomes decisions with the very code that training used, in any order, alone or in a store."""

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from serve_models import content as bare
from serve_stores import START, content, model, store

from memvalue.data import Consolidation, DataError, Event, Memory
from memvalue.features import Definition, extract
from memvalue.features.names import FACTORS
from memvalue.serve import ValueModel
from memvalue.serve.memories import StoredMemory
from memvalue.serve.text import decide_texts, lay_out


def as_memories(stored):
    numbers = {s: i for i, s in enumerate(dict.fromkeys(m.session for m in stored))}
    return [Memory(m.text, m.role, m.time, numbers[m.session], i % 6) for i, m in enumerate(stored)]


@pytest.mark.parametrize("regime", ["batch", "online"])
def test_the_factors_are_those_of_training(regime):
    stored = store()
    decided = decide_texts(model(regime=regime), stored)
    view = Consolidation.from_memories(as_memories(stored))
    want = extract(view, definition=Definition.named("default"), regime=regime).values
    np.testing.assert_array_equal(decided.factors, want)
    np.testing.assert_array_equal(decided.decision.value, model().value(want))
    assert decided.ids == tuple(m.id for m in stored)
    # A day and 5 minutes is the age of the one before last of a conversation a day earlier.
    assert decided.age_days[11] == pytest.approx(1.0)
    assert decided.person.tolist() == [True, False] * 9


def test_the_layout_is_the_training_types_own():
    stored = store()
    view, order = lay_out(stored)
    assert view.digest() == replace(Consolidation.from_memories(as_memories(stored)), trust=None).digest()
    assert order.tolist() == list(range(18))


@settings(max_examples=20)
@given(st.permutations(range(18)))
def test_the_order_of_the_file_does_not_matter(order):
    stored = store()
    whole = decide_texts(model(), stored)
    mixed = decide_texts(model(), [stored[i] for i in order])
    np.testing.assert_array_equal(mixed.factors, whole.factors[list(order)])
    np.testing.assert_array_equal(mixed.decision.forget_score, whole.decision.forget_score[list(order)])


def test_memories_objects_and_json_are_decided_alike():
    stored = store()
    want = decide_texts(model(), stored).decision.value
    np.testing.assert_array_equal(decide_texts(model(), [m.as_dict() for m in stored]).decision.value, want)
    plain = decide_texts(model(), as_memories(stored))
    np.testing.assert_array_equal(plain.decision.value, want)
    assert plain.ids[:2] == ("0", "1")


def test_what_is_worth_keeping_is_valued_above_small_talk():
    value = decide_texts(model(), store()).decision.value
    assert value[2] > value[0] and value[4] > value[1]


def test_rows_are_plain_and_complete():
    rows = list(decide_texts(model(), store()).rows())
    assert set(rows[0]) == {"id", "value", "depth", "forget_risk", "forget_score", "rank_score", "factors"}
    assert list(rows[0]["factors"]) == list(FACTORS)
    assert np.float32(rows[3]["value"]) == decide_texts(model(), store()).decision.value[3]
    assert rows[0]["depth"] in ("shallow", "semantic", "schematic", "meta")


def test_counted_uses_raise_usage_history_and_lower_the_forget_score():
    stored = store()
    used = [replace(m, uses=5.0, last_used=m.time) if i == 3 else m for i, m in enumerate(stored)]
    before, after = decide_texts(model(), stored), decide_texts(model(), used)
    usage = FACTORS.index("usage_history")
    assert after.factors[3, usage] > before.factors[3, usage]
    assert after.decision.forget_score[3] < before.decision.forget_score[3] / 5


def test_without_sessions_a_day_is_a_conversation():
    stored = store()
    bare_ = [replace(m, session=None) for m in stored]
    np.testing.assert_array_equal(decide_texts(model(), bare_).factors, decide_texts(model(), stored).factors)


def test_later_moments_only_age_the_memories():
    now = decide_texts(model(), store())
    later = decide_texts(model(), store(), now=START.astimezone(UTC) + timedelta(days=30))
    np.testing.assert_array_equal(later.factors, now.factors)
    assert (later.decision.forget_score > now.decision.forget_score).all()


def test_own_embeddings_and_goals_are_used():
    stored = store()
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(18, 8)).astype(np.float32)
    goal = decide_texts(model(), stored, embeddings=rows, goals=rows[2])
    column = goal.factors[:, FACTORS.index("goal_relevance")]
    assert column.argmax() == 2
    own = [replace(m, embedding=row) for m, row in zip(stored, rows, strict=True)]
    np.testing.assert_array_equal(decide_texts(model(), own, goals=rows[2]).factors, goal.factors)
    words = decide_texts(model(), stored, goals=["visit my sister in Lisbon"])
    assert words.factors[:, FACTORS.index("goal_relevance")].argmax() in (2, 8, 14)


def test_no_memory_is_no_decision():
    assert len(decide_texts(model(), [])) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: decide_texts(ValueModel.from_bytes(bare()), store()), "does not say how its factors"),
        (lambda: decide_texts(model(), store(), now=START), "now is 2025-03-01T09:00:00Z, but memory 's2-5'"),
        (lambda: decide_texts(model(), [3]), "memory 0 is a int"),
        (lambda: decide_texts(model(), [{"id": "a"}]), "memory 0 lacks text"),
        (lambda: decide_texts(model(), store(), embeddings=np.ones((2, 3))), "one row a memory"),
        (
            lambda: decide_texts(
                model(), [replace(m, embedding=np.ones(2 + i % 2)) for i, m in enumerate(store())]
            ),
            "2 different lengths",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_naive_times_are_refused():
    memory = StoredMemory("a", "x", "user", START.replace(tzinfo=None))
    with pytest.raises(ValueError, match="time zone"):
        decide_texts(model(), [memory])
    assert issubclass(DataError, ValueError)


def test_it_loads_numpy_and_onnxruntime_alone():
    code = (
        "import memvalue.serve.text, memvalue.serve.audit, memvalue.serve.rank, memvalue.serve.explain, sys\n"
    )
    code += "print(' '.join(sorted({m.split('.')[0] for m in sys.modules})))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=sys.prefix, check=True
    )
    heavy = {
        "torch",
        "sklearn",
        "scipy",
        "pandas",
        "datasets",
        "pydantic",
        "typer",
        "tokenizers",
        "onnx",
        "rich",
    }
    assert not heavy & set(run.stdout.split())


@pytest.mark.parametrize("row", range(6))
@pytest.mark.parametrize("regime", ["batch", "online"])
def test_a_memory_alone_is_laid_out_and_decided_as_a_store_of_one(row, regime):
    stored = replace(store()[row], uses=(None, 3.0)[row % 2], trust=(None, 0.25)[row % 2], pinned=row == 2)
    for now in (None, stored.time + timedelta(days=5)):
        view, order = lay_out([stored], now=now)
        assert order.tolist() == [0] and order.dtype == np.int64
        memory = Memory(stored.text, stored.role, stored.time, trust=stored.trust, pinned=stored.pinned)
        events = [Event("opened", 0, stored.time, weight=3.0)] if stored.uses else []
        want = Consolidation.from_memories([memory], now=now, events=events)
        assert view.digest() == (want if stored.uses else replace(want, trust=None)).digest()
        assert [c.dtype for c in (view.sessions, view.positions, view.times)] == [
            c.dtype for c in (want.sessions, want.positions, want.times)
        ]
        decided = decide_texts(model(regime=regime), [stored], now=now)
        factors = extract(view, definition=Definition.named("default"), regime=regime).values
        # In a batch of two the graph is asked otherwise; the bits must not tell.
        two = model().decide(
            np.repeat(factors, 2, axis=0),
            age_days=np.repeat(decided.age_days, 2),
            uses=None if not stored.uses else np.repeat(stored.uses, 2),
            machine=np.repeat(~decided.person, 2),
        )
        assert decided.factors.tobytes() == factors.tobytes()
        for name in ("value", "depth", "forget_risk", "forget_score", "rank_score"):
            assert getattr(decided.decision, name).tobytes() == getattr(two, name)[:1].tobytes(), name


def test_a_lone_memory_after_now_is_refused():
    with pytest.raises(ValueError, match="now is 2025-03-01T08:00:00Z, but memory 's0-0'"):
        decide_texts(model(), store()[:1], now=START - timedelta(hours=1))


def test_a_model_file_cannot_have_an_encoder_fetched():
    served = ValueModel.from_bytes(content())
    served._metadata["definition"]["encoder"] = "st:somebody/model"
    with pytest.raises(ValueError, match="pass encoder=load_encoder"):
        decide_texts(served, store())
    rows = np.random.default_rng(0).normal(size=(len(store()), 4))
    assert len(decide_texts(served, store(), embeddings=rows)) == len(store())
