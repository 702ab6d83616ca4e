"""Seven factors together: order, range, and which of them this store can inform."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from feature_cases import Vectors, column, store, stores
from hypothesis import given
from hypothesis import strategies as st

from memvalue.data.consolidation import Consolidation
from memvalue.features import DEFINITIONS, FACTORS, Definition, Evidence, combine, informed, observe

module = importlib.import_module("memvalue.features.combine")
EVIDENCE = importlib.import_module("memvalue.features.observe").EVIDENCE

definitions = st.sampled_from(sorted(DEFINITIONS)).map(DEFINITIONS.__getitem__)


def table(n: int, draw: Any) -> Evidence:
    return Evidence(EVIDENCE, draw(n).astype(np.float32))


def test_the_columns_are_in_the_order_of_the_names() -> None:
    assert tuple(formula.__name__ for formula in module._FORMULAS) == FACTORS
    c = store(["I bought my dog 3 bones!"], [("assistant", "My dog")])
    [e] = observe([c])
    factors = combine(e, DEFINITIONS["default"])
    for j, name in enumerate(FACTORS):
        assert factors[:, j].tolist() == column(name, c)


@given(stores(log=True), definitions, st.booleans(), st.booleans())
def test_factors_of_any_store_lie_between_0_and_1(
    c: Consolidation, definition: Definition, declared: bool, encoded: bool
) -> None:
    options: dict[str, Any] = {"goals": ["a violin"], "profile": ["my sister"]} if declared else {}
    [e] = observe([c], encoder=Vectors() if encoded else None, **options)
    factors = combine(e, definition)
    assert factors.shape == (len(c), 7) and factors.dtype == np.float32
    assert ((factors >= 0) & (factors <= 1)).all()


@given(st.integers(0, 2**32 - 1), definitions)
def test_factors_of_any_evidence_lie_between_0_and_1(seed: int, definition: Definition) -> None:
    rng = np.random.default_rng(seed)
    e = table(20, lambda n: np.floor(rng.pareto(0.5, (n, len(EVIDENCE)))).clip(0, 1e9))
    e.values[:, EVIDENCE.index("person")] = rng.random(20) < 0.5
    factors = combine(e, definition)
    assert ((factors >= 0) & (factors <= 1)).all()


@given(stores(log=True), definitions)
def test_a_row_depends_on_its_own_evidence_alone(c: Consolidation, definition: Definition) -> None:
    [e] = observe([c])
    whole = combine(e, definition)
    for i in range(len(c)):
        alone = combine(Evidence(EVIDENCE, e.values[i : i + 1].copy()), definition)
        assert alone.tobytes() == whole[i].tobytes()


def test_what_does_not_vary_is_not_informed() -> None:
    [e] = observe([store(["It is red", "My sister moved to Rome"])])
    found = dict(zip(FACTORS, informed(e, DEFINITIONS["default"]), strict=True))
    assert found == {
        "emotional_intensity": False,
        "goal_relevance": False,
        "value_alignment": False,
        "self_relevance": True,
        "task_utility": True,
        "reliability": True,
        "usage_history": False,
    }


@pytest.mark.parametrize("turns", [[], ["My sister moved to Rome"], ["Again", "Again"][:1] * 2])
def test_no_memory_one_memory_or_equal_ones_inform_nothing_of_themselves(turns: list[str]) -> None:
    [e] = observe([store(turns)])
    found = informed(e, DEFINITIONS["artefact-free"])
    assert found.dtype == bool and found.shape == (7,)
    # The second time nothing is new, which only utility can tell.
    assert found.tolist() == [False] * 4 + [len(turns) == 2] + [False] * 2


def test_declared_goals_can_be_informed_where_talk_is_not() -> None:
    [plain] = observe([store(["It is red", "It is blue"])])
    [declared] = observe([store(["It is red", "It is blue"])], goals=["paint it red"])
    goal = FACTORS.index("goal_relevance")
    assert not informed(plain, DEFINITIONS["default"])[goal]
    assert informed(declared, DEFINITIONS["default"])[goal]


def test_an_unknown_definition_is_answered_with_the_names() -> None:
    with pytest.raises(
        ValueError, match="no factor definition 'x'; choose one of default, longmemeval, artef"
    ):
        Definition.named("x")
    assert Definition.named("longmemeval").as_dict() == {
        "name": "longmemeval", "position": True, "rehearsal": True, "novelty": True
    }  # fmt: skip
