"""Published policies stand in one table with ours, blind; where no use is logged it can be replayed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from memvalue.data import AnswerKey, Case, Consolidation, Dataset, Event, SealedKey
from memvalue.eval import Bench, Inapplicable, run_protocol
from memvalue.eval.published import REPLAY_ROWS, ROWS, View, replayed_events
from memvalue.eval.published.policies import OTHERS
from memvalue.eval.roster import roster

START = datetime(2026, 1, 1, tzinfo=UTC)

#: Four conversations, a day apart. The third takes up "Zanzibar", "ferry" and "kiosk" of the first.
TURNS = (
    (0, "user", "My ferry to Zanzibar leaves from the kiosk at noon."),
    (0, "assistant", "Noted: ferry, Zanzibar, kiosk."),
    (1, "user", "What is a good recipe for lentils?"),
    (2, "user", "Was the Zanzibar ferry sold at that kiosk?"),
    (2, "assistant", "Yes, the ferry."),
    (3, "user", "Thanks, good night."),
)


def store(turns=TURNS, events=(), now_days=4.0):
    sessions = np.array([s for s, _, _ in turns])
    seconds = [START.replace(tzinfo=None) + timedelta(days=int(s)) for s in sessions]
    return Consolidation(
        texts=tuple(text for _, _, text in turns),
        roles=tuple(role for _, role, _ in turns),
        sessions=sessions,
        positions=np.arange(len(turns)),
        times=np.array(seconds, dtype="datetime64[s]"),
        now=np.datetime64(START.replace(tzinfo=None) + timedelta(days=now_days), "s"),
        events=tuple(events),
    )


def bench(cases=6, events=()):
    rng = np.random.default_rng(0)
    made = []
    for c in range(cases):
        needed = np.zeros(len(TURNS), dtype=bool)
        needed[c % 4] = True
        factors = rng.random((len(TURNS), 7)).astype(np.float32)
        made.append(Case(f"c{c}", store(events=events), SealedKey(AnswerKey(needed)), "", factors))
    return Bench.build(Dataset("made:here", "made", made))


def test_the_groups_hold_every_row_of_the_table_and_what_stands_beside_it():
    assert [p.name for p in roster("published")] == [*OTHERS, *ROWS]
    assert [p.name for p in roster("published_replay")] == [*OTHERS, *REPLAY_ROWS]


def test_they_are_judged_beside_ours_and_the_notes_say_what_the_data_leaves_of_them():
    rows = [n for n in (*ROWS, *REPLAY_ROWS) if "half_life" not in n]
    report = run_protocol(bench(), roster(["random", *rows]), splits=2, main="random", resamples=99)
    found = report.to_dict()
    left_out = {"knowledge_tracing", "lfu"}
    assert set(found["policies"]) == {"random", *rows} - left_out
    assert all(p["regime"] == "blind" for p in found["policies"].values())
    notes = "\n".join(found["notes"])
    for name in left_out:
        assert f"{name} left out: {name} counts what is logged, and this data has no event log" in notes
    assert "act_r, fsrs, " in notes
    assert "creation time alone" in notes
    assert "generative_agents_replay" in notes
    assert "6 times a later turn shares rare words with an earlier one" in notes


def test_half_life_regression_is_fitted_on_the_training_half():
    seen = bench(12)
    for name in ("half_life_regression", "half_life_regression_factors_replay"):
        (policy,) = roster(name)
        assert policy.learns
        with pytest.raises(ValueError, match="is not fitted"):
            policy.score(seen.blind())
        fitted = policy.fit(seen.take(range(6)))
        assert np.isfinite(fitted.score(seen.take(range(6, 12)).blind())).all()
        assert policy.theta is None


def test_a_log_of_its_own_is_read_and_needs_no_remark():
    used = Event("opened", 2, START + timedelta(days=3))
    seen = bench(events=[used])
    lfu, act_r = roster("lfu,act_r")
    assert lfu.score(seen.blind())[:6].tolist() == [0, 0, 1, 0, 0, 0]
    assert act_r.score(seen.blind())[2] > act_r.score(seen.blind())[1]
    assert act_r.remark(seen.blind()) is None


def test_importance_stands_in_for_a_rating():
    seen = bench(1)
    plain, valued = roster("generative_agents,generative_agents_value")
    rated = seen.factors.astype(float).mean(axis=1)
    gap = valued.score(seen.blind()) - plain.score(seen.blind())
    np.testing.assert_allclose(gap, (rated - rated.min()) / np.ptp(rated), rtol=1e-6)


def test_numbers_without_times_are_refused():
    seen = bench().blind()

    with pytest.raises(Inapplicable, match="read times and events"):
        roster("act_r")[0].score(replace(seen, consolidations=()))


# Replay


def test_a_persons_later_turn_recalls_what_it_shares_rare_words_with():
    (event,) = replayed_events(store())
    assert (event.kind, event.memory, event.actor) == ("opened", 0, "replay")
    assert event.time == START + timedelta(days=2)


def test_assistants_neither_recall_nor_are_recalled():
    silent = [(s, "assistant", text) for s, _, text in TURNS]
    assert replayed_events(store(silent)) == ()


def test_a_conversation_does_not_recall_itself():
    turns = [(0, "user", "The Zanzibar ferry kiosk."), (0, "user", "Yes, the Zanzibar ferry kiosk.")]
    assert replayed_events(store(turns)) == ()


def test_one_conversation_recalls_a_memory_once():
    twice = [*TURNS[:4], (2, "user", "The Zanzibar ferry kiosk, I mean."), *TURNS[5:]]
    assert len(replayed_events(store(twice))) == 1


def test_a_replay_looks_back_only():
    whole = replayed_events(store())
    for turns in (2, 3, 5, 6):  # whole conversations
        part = store(TURNS[:turns])
        until = part.times[-1].item().replace(tzinfo=UTC)
        assert list(replayed_events(part)) == [e for e in whole if e.time <= until]


def test_no_label_moves_a_score():
    seen = bench()
    turned = replace(seen, needed=~seen.needed)
    for policy in roster([n for n in REPLAY_ROWS if "half_life" not in n]):
        np.testing.assert_array_equal(policy.score(seen.blind()), policy.score(turned.blind()))


def test_an_empty_store_recalls_nothing():
    assert replayed_events(store([])) == ()
    assert replayed_events(store(TURNS[:1])) == ()


def test_views_leave_out_what_is_yet_to_come():
    late = Event("opened", 0, START + timedelta(days=9))
    early = Event("opened", 0, START + timedelta(days=3))
    seen = View.of(store(events=[early, late], now_days=4.0))
    assert len(seen.memory) == 1
    assert seen.now - seen.time[0] == 24.0
    # A turn that is dated after the moment counts as written just then.
    assert View.of(store(now_days=1.0)).age.min() == 0.0
    assert seen.words[0] == 10


@pytest.mark.realdata
def test_replays_of_longmemeval_find_recalls(shared_data):
    from memvalue.data import load

    dataset = load(f"longmemeval:{shared_data.longmemeval(3)}")
    for case in dataset:
        events = replayed_events(case.consolidation)
        assert events
        assert all(case.consolidation.person[e.memory] for e in events)
        written = case.consolidation.times.astype("datetime64[s]")
        assert all(written[e.memory] <= np.datetime64(e.time.replace(tzinfo=None), "s") for e in events)
