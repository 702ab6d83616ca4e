"""One call from a store to its seven factors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from feature_cases import DAY, Vectors, store
from hypothesis import given
from hypothesis import strategies as st

from memvalue.data.event import Event
from memvalue.features import DEFINITIONS, FACTORS, combine, extract, informed, observe

C = store(
    ["I bought my sister 3 violins!", ("assistant", "Do you like Rome?"), "I want to move there"],
    ["My sister no longer lives in Rome"],
    events=[Event("opened", 0, DAY)],
)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"regime": "online"},
        {"goals": ["move to Rome"], "profile": ["family"]},
        {"encoder": Vectors(), "goals": ["move to Rome"]},
        {"language": "de"},
    ],
)
@pytest.mark.parametrize("definition", [None, *DEFINITIONS.values()])
def test_it_is_observing_and_combining(options: dict[str, Any], definition: Any) -> None:
    found = extract(C, definition=definition, **options)
    [e] = observe([C], **options)
    meant = definition or DEFINITIONS["default"]
    assert found.values.tobytes() == combine(e, meant).tobytes()
    assert found.informed.tolist() == informed(e, meant).tolist()


def test_own_embeddings_are_taken() -> None:
    vectors = Vectors()
    goal = vectors.encode(["I want to move there"])
    found = extract(C, embeddings=vectors.encode(C.texts), goals=goal)
    assert found.values[2, FACTORS.index("goal_relevance")] == pytest.approx(1, abs=1e-6)
    np.testing.assert_array_equal(found.values, extract(C, encoder=vectors, goals=goal).values)


def test_an_empty_store_has_no_rows() -> None:
    found = extract(store())
    assert found.values.shape == (0, 7) and not found.informed.any()


@given(st.text(st.characters(codec=None), max_size=200))
def test_any_text_has_seven_factors(text: str) -> None:
    found = extract(store([text, ("assistant", text)]))
    assert found.values.shape == (2, 7)
    assert ((found.values >= 0) & (found.values <= 1)).all()


def test_the_same_store_gives_the_same_bytes() -> None:
    assert extract(C).values.tobytes() == extract(C).values.tobytes()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="regime must be"):
        extract(C, regime="later")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="3 rows of embeddings do not fit 4 memories"):
        extract(C, embeddings=np.ones((3, 2), np.float32))
