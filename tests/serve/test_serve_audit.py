"""Copies and junk of a store, found without holding its texts a second time."""

import re
import tracemalloc

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from memvalue.serve.audit import BOILERPLATE_COPIES, GREETING_WORDS, GREETINGS, JUNK, _copies_and_junk

pieces = st.sampled_from(
    (
        "Hi",
        "hi",
        "thanks",
        "zebra",
        "Zebra!",
        "a_b",
        "a-b",
        " ",
        "  ",
        "\n",
        "\x1c",
        "…",
        "é",
        "É",
        "ß",
        "3",
        "",
    )
)
texts = st.lists(st.one_of(pieces, st.characters(codec=None)), max_size=5).map("".join)


def slow(given_texts):
    """The three columns by their definitions."""
    plain = [" ".join(t.split()) for t in given_texts]
    words = [re.findall(r"\w+", p.lower()) for p in plain]
    sets = [frozenset(w) for w in words]
    exact = [plain.index(p) if plain.index(p) < i else -1 for i, p in enumerate(plain)]
    near = [sets.index(s) if sets.index(s) < i else -1 for i, s in enumerate(sets)]
    junk = []
    for i, (said, group) in enumerate(zip(words, sets, strict=True)):
        if exact[i] >= 0:
            said, group = words[exact[i]], sets[exact[i]]
        kind = ""
        if not group:
            kind = "empty"
        elif len(said) <= GREETING_WORDS and group <= GREETINGS:
            kind = "greeting"
        elif sets.count(group) >= BOILERPLATE_COPIES:
            kind = "boilerplate"
        junk.append(kind)
    # A copy of a text that is itself a near copy points at the first of its kind.
    near = [sets.index(s) if exact[i] >= 0 else near[i] for i, s in enumerate(sets)]
    return exact, near, junk


@given(st.lists(texts, max_size=14))
@example(["Hi", "hi!", "Hi", "HI", "hi  ", "é", "É!", "", " ", "…"])
def test_copies_and_junk_are_what_their_definitions_say(given_texts):
    exact, near, junk = _copies_and_junk(given_texts)
    want = slow(given_texts)
    assert exact.tolist() == want[0]
    assert near.tolist() == want[1]
    assert [JUNK[code] for code in junk] == want[2]


def test_texts_are_not_held_a_second_time():
    rng = np.random.default_rng(0)
    made = [" ".join(f"w{k}" for k in rng.integers(0, 9999, 400)) for _ in range(2_000)]
    size = sum(map(len, made))
    tracemalloc.start()
    try:
        exact, near, _ = _copies_and_junk(made)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < size / 4
    assert (exact < 0).all() and (near < 0).all()
