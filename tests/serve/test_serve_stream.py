"""A stream decides at each writing as the extractor does in the online regime, to the last bit."""

import sys
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serve_models import content
from stream_stores import DAY, Vectors, memories_of, store_of, talks

from memvalue.data.event import Event
from memvalue.data.load import load
from memvalue.data.memory import Memory
from memvalue.features import Definition, extract
from memvalue.features.observe import observe_next
from memvalue.features.past import Past
from memvalue.serve import ValueModel
from memvalue.serve.stream import MemoryStream

MODEL = ValueModel.from_bytes(content("offset"))
POSITIONED = Definition.named("longmemeval")  # uses every kind of evidence that a stream keeps
GOALS = ["move to the harbour in Rome", "the"]

past_module = sys.modules["memvalue.features.recurrence_past"]
recurrence_module = sys.modules["memvalue.features.recurrence"]


def stream(**options):
    return MemoryStream(MODEL, **{"definition": POSITIONED, **options})


def wanted(store, **options):
    return extract(store, regime="online", **{"definition": POSITIONED, **options}).values


def one_by_one(memories, embeddings=None, **options):
    s = stream(**options)
    rows = [None] * len(memories) if embeddings is None else embeddings
    return np.array([s.add(m, row).factors for m, row in zip(memories, rows, strict=True)])


def cut(memories, embeddings=None, *, size, **options):
    s, rows = stream(**options), []
    for k in range(0, len(memories), size):
        some = None if embeddings is None else embeddings[k : k + size]
        rows += [d.factors for d in s.extend(memories[k : k + size], some)]
    return np.array(rows)


def same_bits(found, want):
    assert found.dtype == want.dtype == np.float32
    assert found.tobytes() == want.tobytes()


def real_cases(shared_data, name):
    spec = {
        "longmemeval": lambda: f"longmemeval:{shared_data.longmemeval(3)}",
        "locomo": lambda: f"locomo:{shared_data.locomo()}",
        "memora": lambda: f"memora:{shared_data.memora()}",
    }[name]()
    return [case.consolidation for case in load(spec, limit=2).cases]


@pytest.mark.parametrize("name", ["longmemeval", "locomo", "memora"])
def test_on_real_conversations_every_factor_has_the_extractors_bits(shared_data, name):
    for store in real_cases(shared_data, name):
        memories = list(store.memories)[:400]
        part = store_of(memories)
        same_bits(one_by_one(memories), wanted(part))
        same_bits(cut(memories, size=53), wanted(part))


def test_on_simulated_conversations_too_with_goals_and_a_profile():
    for case in load("simulated:seed=5,cases=2").cases:
        memories = list(case.consolidation.memories)
        for goals, profile in ((["plan a trip", "learn to cook"], None), (None, ["honesty and family"])):
            found = one_by_one(memories, goals=goals, profile=profile)
            same_bits(found, wanted(case.consolidation, goals=goals, profile=profile))


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(talk=talks, size=st.integers(1, 20))
def test_any_talk_cut_anyhow_has_the_same_bits(talk, size):
    memories = memories_of(talk)
    store = store_of(memories)
    same_bits(cut(memories, size=size), wanted(store))
    default = Definition.named("default")
    same_bits(cut(memories, size=size, definition=default), wanted(store, definition=default))


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(talk=talks, size=st.integers(1, 9), goals=st.sampled_from([None, GOALS]))
def test_vectors_change_nothing_about_that(talk, size, goals):
    memories, encoder = memories_of(talk), Vectors()
    store = store_of(memories)
    want = wanted(store, goals=goals, profile=["meadow violin"], encoder=encoder)
    same_bits(cut(memories, size=size, goals=goals, profile=["meadow violin"], encoder=encoder), want)
    own = encoder.encode([m.text for m in memories])
    target = encoder.encode(["lantern"])
    same_bits(cut(memories, own, size=size, goals=target), wanted(store, goals=target, embeddings=own))
    # The caller's vectors without an encoder: sentences are matched by their words, as in the extractor.
    same_bits(cut(memories, own, size=size, goals=goals), wanted(store, goals=goals, embeddings=own))


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(talk=talks, words=st.integers(3, 12), mates=st.integers(3, 12), size=st.integers(1, 9))
def test_where_the_history_is_full_stream_and_extractor_forget_alike(talk, words, mates, size):
    memories = memories_of(talk)
    with pytest.MonkeyPatch.context() as patch:
        for module in (past_module, recurrence_module):
            patch.setattr(module, "MAX_WORDS", words)
            patch.setattr(module, "MAX_MATES", mates)
        want = wanted(store_of(memories))
        same_bits(cut(memories, size=size), want)
        same_bits(one_by_one(memories), want)


def test_a_first_conversation_may_be_too_long_already(monkeypatch):
    for module in (past_module, recurrence_module):
        monkeypatch.setattr(module, "MAX_WORDS", 6)
    talk = [[("user", "zebra quartz violin", None), ("user", "harbour lantern copper meadow", None)] * 2]
    memories = memories_of([*talk, [("user", "meadow copper lantern", None)]])
    want = wanted(store_of(memories))
    same_bits(one_by_one(memories), want)
    same_bits(cut(memories, size=5), want)
    assert want[-1, -1] > 0


@pytest.mark.parametrize(("words_limit", "mates_limit"), [(400, 10_000), (10_000, 400)])
def test_a_full_history_is_cut_to_its_bounds(monkeypatch, words_limit, mates_limit):
    for module in (past_module, recurrence_module):
        monkeypatch.setattr(module, "MAX_WORDS", words_limit)
        monkeypatch.setattr(module, "MAX_MATES", mates_limit)
    letters = "abcdefghijklmnopqrst"
    rng = np.random.default_rng(2)
    # The first three words are in every conversation, the nine others hardly recur.
    talk = [
        [("user", " ".join(["zebra quartz violin", *("".join(word) for word in row)]), None)]
        for row in rng.choice(list(letters), (300, 9, 5))
    ]
    s, sizes = stream(), []
    for memory in memories_of(talk):
        s.add(memory)
        past = s._past.rehearsal
        sizes.append((len(past._words), len(past._mates) + len(past._pending_mate)))
    words, mates = np.array(sizes).T
    assert words.max() <= words_limit and mates.max() <= mates_limit
    # What is forgotten at a time: a quarter of the words, or the mates down to half; a memory's go together.
    fallen = np.flatnonzero(np.diff(words) < 0) + 1
    assert len(fallen) > 2
    if words_limit < mates_limit:
        assert (np.abs(words[fallen] - 3 * words_limit // 4) <= 12).all()
    else:
        assert (np.abs(mates[fallen] - mates_limit // 2) <= 12).all()
    # Words in use are not forgotten: they are known to be common after all that time.
    assert (np.sort(past.meet(past._words.keys).df)[-3:] == 299).all()


@settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(talk=talks)
def test_few_mates_a_conversation_are_kept_alike(talk):
    memories = memories_of(talk)
    with pytest.MonkeyPatch.context() as patch:
        for module in (past_module, recurrence_module):
            patch.setattr(module, "MATES", 1)
        same_bits(one_by_one(memories), wanted(store_of(memories)))


@given(talk=talks, begun=st.integers(0, 20), data=st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_with_an_event_log_too(talk, begun, data):
    memories = memories_of(talk)
    begun = min(begun, len(memories) - 1)
    kinds = st.lists(st.sampled_from(["written", "opened", "corrected", "shown"]), max_size=3)
    logs = {i: data.draw(kinds) for i in range(begun, len(memories))}
    logs[begun] = ["written"]
    events = [Event(kind, i, memories[i].time) for i, found in logs.items() for kind in found]
    store = replace(store_of(memories), events=tuple(sorted(events, key=lambda e: e.time)))
    s = stream()
    found = []
    for i, memory in enumerate(memories):
        log = [Event(kind, 0, memory.time) for kind in logs[i]] if i in logs else None
        found.append(s.add(memory, log=log).factors)
    same_bits(np.array(found), wanted(store))


def test_the_evidence_is_the_same_but_for_the_similarity():
    memories = memories_of([[("user", "quartz violin?", None), ("Ann", "zebra quartz", 0.5)]] * 4)
    store = store_of(memories)
    observe = sys.modules["memvalue.features.observe"].observe
    [whole] = observe([store], encoder=Vectors(), regime="online")
    piece = observe_next(store, Past(), encoder=Vectors())
    for name in whole.names:
        if name == "similarity":
            assert np.isnan(piece[name]).all()
        else:
            np.testing.assert_array_equal(piece[name], whole[name])


def test_a_decision_is_the_models_on_these_factors():
    memories = memories_of([[("user", "I love my zebra", None), ("assistant", "Great!", None)]] * 3)
    want = MODEL.decide(wanted(store_of(memories)), machine=[m.role == "assistant" for m in memories])
    s = stream()
    for i, memory in enumerate(memories):
        found = s.add(memory)
        for name in ("value", "depth", "forget_risk", "forget_score", "rank_score"):
            assert getattr(found, name) == getattr(want, name)[i]
        assert found.depth_name == want.depth_names[i]
    assert len(s) == 6
    assert repr(s).startswith("MemoryStream(6 memories, 3 conversations, ")
    assert s.extend([]) == []


def test_what_recurs_raises_the_later_memory_only():
    s = stream(definition=Definition.named("default"))
    first = s.add(Memory("The quartz violin from Cremona", "user", DAY, session=1))
    again = s.add(Memory("My quartz violin from Cremona broke", "user", DAY + timedelta(1), session=2))
    usage = -1
    assert first.factors[usage] == 0 < again.factors[usage]


def test_numbers_of_conversations_may_be_any():
    talk = [[("user", "zebra quartz", None), ("user", "violin", None)], [("user", "zebra", None)]] * 2
    want = wanted(store_of(memories_of(talk)))
    for numbers in ([7, -3, 2**63, 0], [2**70, 5, 4, 3]):
        same_bits(one_by_one(memories_of(talk, numbers)), want)


def test_what_comes_out_of_order_is_refused_and_leaves_the_stream_as_it_was():
    talk = [[("user", "zebra quartz", None)], [("user", "zebra violin", None)], [("user", "violin", None)]]
    memories = memories_of(talk)
    s = stream(goals=Vectors().encode(["zebra"]))
    row = Vectors().encode(["x"])[0]
    s.extend(memories[:2], np.stack([row, row]))
    late = replace(memories[2], time=memories[0].time)
    back = replace(memories[2], session=0)
    refused = [
        ((late, row), "before the last one"),
        ((back, row), "conversation 0 ended"),
        ((memories[2].text, row), "not a Memory"),
        ((memories[2], None), "need the memories' embeddings"),
        ((memories[2], row[:5]), "5"),
        ((memories[2], row * np.nan), "NaN"),
        ((memories[2], row[None]), "row"),
    ]
    for arguments, message in refused:
        with pytest.raises(ValueError, match=message):
            s.add(*arguments)
    for many in ([memories[2], back], [memories[2], replace(memories[2], session=1)]):
        with pytest.raises(ValueError, match="cannot resume"):
            s.extend(many, np.stack([row, row]))
    assert len(s) == 2
    fresh = stream(goals=Vectors().encode(["zebra"]))
    whole = fresh.extend(memories, np.stack([row] * 3))
    same_bits(s.add(memories[2], row).factors, whole[2].factors)


def test_ended_conversations_are_remembered_up_to_a_bound(monkeypatch):
    monkeypatch.setattr(sys.modules["memvalue.serve.stream"], "MAX_ENDED", 4)
    memories = memories_of([[("user", "zebra", None)]] * 8)
    s = stream()
    s.extend(memories)
    with pytest.raises(ValueError, match="conversation 6 ended"):
        s.add(replace(memories[6], time=memories[7].time))
    s.add(replace(memories[0], time=memories[7].time))


def test_an_interrupted_stream_says_so_instead_of_going_on(monkeypatch, tmp_path):
    memories = memories_of([[("user", "zebra", None), ("user", "quartz", None)]])
    s = stream()
    s.add(memories[0])

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["memvalue.features.observe"], "recurrence", interrupt)
        with pytest.raises(KeyboardInterrupt):
            s.add(memories[1])
    for call in (lambda: s.add(memories[1]), lambda: s.save(tmp_path / "state")):
        with pytest.raises(ValueError, match="interrupted"):
            call()


def test_declarations_and_definitions_are_checked_at_once():
    for options, message in (
        ({"goals": []}, "goals is empty"),
        ({"profile": "honesty"}, "lists of sentences"),
        ({"language": "xx"}, "xx"),
        ({"definition": None}, "does not say on which definition"),
    ):
        with pytest.raises(ValueError, match=message):
            stream(**options)


def test_an_endless_conversation_takes_bounded_memory_and_time():
    # Everybody says the same: without a bound each memory would be a mate of every later one.
    s = stream()
    for session in range(3):
        talk = [
            Memory("zebra quartz violin harbour", "user", DAY + timedelta(days=session), session=session)
        ] * 4000
        s.extend(talk)
    assert len(s._past.rehearsal._mates) == 2 * 4 * past_module.MATES
    assert s._past.rehearsal.nbytes < 100_000
