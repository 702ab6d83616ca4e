"""Reliability: provenance and commitment."""

from __future__ import annotations

from datetime import timedelta
from math import exp

import numpy as np
import pytest
from feature_cases import DAY, column, factor, store

from memvalue.data.consolidation import Consolidation
from memvalue.data.event import Event
from memvalue.data.memory import Memory

REPORT = "Yesterday I walked home and visited my aunt."
#: walked, visited: .5 + .25·sat(2, 2) + .1 + .15.
REPORTED = 0.75 + 0.25 * (1 - exp(-1))


def relied(text: str, role: str = "user") -> float:
    return factor("reliability", text, role)


def with_trust(*trust: float | None) -> list[float]:
    memories = [Memory(REPORT, "user", DAY, trust=t) for t in trust]
    return column("reliability", Consolidation.from_memories(memories))


def test_worked_by_hand() -> None:
    assert relied(REPORT) == pytest.approx(REPORTED, rel=1e-5)
    # Hedged once, a question, walked: .5 + .25·sat(1, 2) + .1·e^-.5 + 0.
    want = 0.5 + 0.25 * (1 - exp(-0.5)) + 0.1 * exp(-0.5)
    assert relied("Maybe I walked home?") == pytest.approx(want, rel=1e-5)
    # An assistant's two words of refusal: .35·e^(-2/1.5).
    assert relied("Sorry, I cannot help.", "assistant") == pytest.approx(0.35 * exp(-2 / 1.5), rel=1e-5)
    # Three lines, that is one beyond the first break, and three signs of code: e^(-1/2 - 3/3).
    assert relied("one\ntwo\nx = {}") == pytest.approx(0.75 * exp(-1.5), rel=1e-5)


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("I walked home.", "I walk home."),
        ("I was at home.", "I am at home."),
        ("I walked home.", "Maybe I walked home."),
        ("I walked home.", "I walked home?"),
        ("I walked home.", "I walked home.\n\nInvoice\n12"),
        ("I walked home.", "x = {}; I walked home."),
    ],
)
def test_it_rises_with_commitment_and_plain_report(more: str, less: str) -> None:
    assert relied(more) > relied(less)


def test_a_persons_report_counts_more_than_an_assistants_statement() -> None:
    assert relied(REPORT) > relied(REPORT, "assistant") == pytest.approx(0.35, rel=1e-6)
    assert relied(REPORT, "Ann") == relied(REPORT)


def test_it_is_not_feeling_or_self_or_detail() -> None:
    assert relied("The car is red.") == relied("My Fiat is wonderful!!!") == relied("There are 12 of them.")


@pytest.mark.parametrize("text", ["", " ", "🎉"])
def test_nothing_said_has_the_neutral_value(text: str) -> None:
    assert relied(text, "assistant") == pytest.approx(0.35, rel=1e-6)
    assert relied(text) == pytest.approx(0.75, rel=1e-6)


def test_declared_trust_is_half_of_it_where_it_is_known() -> None:
    found = with_trust(1.0, None, 0.0)
    assert found == pytest.approx([0.5 * REPORTED + 0.5, REPORTED, 0.5 * REPORTED], rel=1e-5)


def test_corrections_only_demote_and_fade() -> None:
    def corrected(hours: float, kind: str) -> float:
        event = Event(kind, 0, DAY, weight=1.0)  # type: ignore[arg-type]
        c = store([REPORT], events=[event], now=DAY + timedelta(hours=hours))
        return column("reliability", c)[0]

    for kind in ("corrected", "contradicted", "superseded"):
        assert corrected(0, kind) == pytest.approx(REPORTED * exp(-1), rel=1e-5)
        month = corrected(720, kind)
        assert month == pytest.approx(REPORTED * exp(-(0.999**720)), rel=1e-5)
    for kind in ("confirmed", "opened", "shown", "written"):
        assert corrected(0, kind) == pytest.approx(REPORTED, rel=1e-6)


def test_it_stays_in_range_whatever_was_declared() -> None:
    events = [Event("corrected", 0, DAY, weight=1e300)] * 3
    assert column("reliability", store([REPORT, REPORT], events=events)) == pytest.approx([0, REPORTED])
    assert np.isfinite(with_trust(1.0, 0.0)).all()
