"""Goal relevance: closeness to what the agent and its owner are trying to do."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
from feature_cases import Vectors, column, factor, store

PLAN = "I want to learn the guitar and plan a trip."


def test_plans_and_answers_worked_by_hand() -> None:
    # want and plan: .3·sat(2, 2) = .3·(1 - 1/e); .7 more where it answers a question.
    plans = 0.3 * (1 - exp(-1))
    assert factor("goal_relevance", PLAN) == pytest.approx(plans, rel=1e-5)
    found = column("goal_relevance", store([("assistant", "What are you up to?"), PLAN]))
    assert found == pytest.approx([0, 0.7 + plans], rel=1e-5)


def test_the_opening_worked_by_hand() -> None:
    c = store(["Hello", ("assistant", "Hello"), "Fine", ("tool", "12")], ["Again"])
    found = column("goal_relevance", c, "longmemeval")
    assert found == pytest.approx([1, 0.2 / 1.5, 1 / 2, 0.2 / 2.5, 1], rel=1e-6)


def test_it_rises_with_stated_plans() -> None:
    assert factor("goal_relevance", PLAN) > factor("goal_relevance", "I want a guitar") > 0
    assert factor("goal_relevance", "The guitar is old") == 0


def test_position_counts_only_where_the_definition_allows_it() -> None:
    c = store(["The guitar is old"] * 3)
    assert column("goal_relevance", c) == column("goal_relevance", c, "artefact-free") == [0, 0, 0]


def test_a_declared_goal_comes_before_all_guesses() -> None:
    c = store(["Guitar lessons cost 50 dollars", "I want, I plan, I need", ("assistant", "Learn guitar!")])
    for definition in ("default", "longmemeval", "artefact-free"):
        found = column("goal_relevance", c, definition, goals=["learn the guitar"])
        assert found == pytest.approx([0.5, 0, 1])


def test_a_goal_declared_as_a_vector_matches_by_cosine() -> None:
    vectors = Vectors()
    c = store(["one", "two", ""])
    a, b = vectors.encode(["one", "two"])
    found = column("goal_relevance", c, encoder=vectors, goals=a[None])
    assert found == pytest.approx([1, max(float(a @ b), 0), 0], abs=1e-6)
    assert column("goal_relevance", c, encoder=vectors, goals=np.stack([a, b]))[:2] == pytest.approx([1, 1])


def test_a_goal_without_content_is_no_goal() -> None:
    c = store([("assistant", "What now?"), PLAN])
    assert column("goal_relevance", c, goals=["to the"]) == column("goal_relevance", c)


@pytest.mark.parametrize("text", ["", " ", "🎉"])
def test_nothing_is_zero(text: str) -> None:
    assert factor("goal_relevance", text) == 0
    assert factor("goal_relevance", text, goals=["learn the guitar"]) == 0


def test_it_is_not_likeness_to_a_question_of_the_future() -> None:
    asked = store([PLAN], ["What do I want to learn?"])
    other = store([PLAN], ["How tall is the tower?"])
    assert column("goal_relevance", asked)[0] == column("goal_relevance", other)[0]


def test_an_assistants_plans_are_not_the_owners() -> None:
    assert factor("goal_relevance", PLAN, "assistant") == 0
