"""The embedded corpus: LongMemEval's shape, no easy marks, the same bytes every time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from memvalue.data.dataset import Dataset
from memvalue.data.errors import DataError
from memvalue.data.simulated import KINDS, simulate
from memvalue.data.simulator.decoys import BLOCKS, FRAMES, REMARKS
from memvalue.data.simulator.dice import Dice
from memvalue.data.simulator.facts import FACTS, PREFERENCES
from memvalue.data.simulator.grammar import Blanks, lower_first, render
from memvalue.data.simulator.replies import LISTINGS, WORKINGS
from memvalue.data.simulator.tasks import TASKS
from memvalue.data.simulator.topics import TOPICS

FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|myself)\b", re.IGNORECASE)
NUMBER = re.compile(r"\d+")
WORD = re.compile(r"[a-z']+|\d+|[^\w\s]")


@pytest.fixture(scope="module")
def corpus() -> Dataset:
    return simulate()


@pytest.fixture(scope="module")
def large() -> Dataset:
    """Three seeds' worth, for rates of rare things."""
    return Dataset(
        spec="", name="simulated", cases=[case for seed in (0, 1, 2) for case in simulate(60, seed)]
    )


def user_rows(dataset: Dataset) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Texts, positions and labels of the user turns."""
    texts: list[str] = []
    positions: list[int] = []
    needed: list[bool] = []
    for case in dataset:
        view, key = case.consolidation, case.sealed.open()
        for i in np.flatnonzero(view.person):
            texts.append(view.texts[i])
            positions.append(int(view.positions[i]))
            needed.append(bool(key.needed[i]))
    return texts, np.array(positions), np.array(needed)


def auc(scores: np.ndarray, labels: np.ndarray) -> float:
    """Chance that a labelled row outranks another one, ties counted half."""
    less = np.searchsorted(np.sort(scores[~labels]), scores[labels], side="left").mean()
    equal = np.searchsorted(np.sort(scores[~labels]), scores[labels], side="right").mean()
    return float((less + equal) / 2 / (~labels).sum())


def retention(dataset: Dataset, rule, budget: float) -> float:
    """Mean kept share of needed turns; ``rule`` gives a score to each turn of a case, ties in expectation."""
    figures = []
    for case in dataset:
        scores = np.asarray(rule(case.consolidation), dtype=np.float64)
        needed = case.sealed.open().needed
        k = max(1, int(np.floor(budget * len(scores) + 1e-9)))
        cut = np.sort(scores)[::-1][k - 1]
        room, tied = k - (scores > cut).sum(), (scores == cut).sum()
        figures.append(
            ((scores[needed] > cut).sum() + (scores[needed] == cut).sum() * room / tied) / needed.sum()
        )
    return float(np.mean(figures))


def words(view) -> np.ndarray:
    return np.array([len(t.split()) for t in view.texts])


def count(pattern: re.Pattern[str], view) -> np.ndarray:
    return np.array([len(pattern.findall(t)) for t in view.texts])


TRIVIAL = {
    "recency": lambda v: np.arange(len(v)),
    "oldest": lambda v: -np.arange(len(v)),
    "length": words,
    "role": lambda v: v.person,
    "opening": lambda v: v.person * 100 - v.positions,
    "user by length": lambda v: v.person * words(v),
    "user by first person": lambda v: v.person * count(FIRST_PERSON, v),
    "user by numbers": lambda v: v.person * (count(NUMBER, v) + 0.01),
    "user by capitals": lambda v: v.person * (count(re.compile(r"(?<=[a-z,] )[A-Z]"), v) + 0.01),
    "user by exclamation": lambda v: v.person * (count(re.compile("!"), v) + 0.01),
    "random": lambda v: np.random.default_rng(len(v)).random(len(v)),
}

POSSESSION = re.compile(r"\b(?:my|we|our)\b", re.IGNORECASE)
DONE = re.compile(
    r"\b(?:bought|got|had|made|paid|took|went|saw|gave|started|finished|signed|moved|planted|painted|met|came|"
    r"found|spent|own|live|\w+ed)\b",
    re.IGNORECASE,
)
WHEN = re.compile(r"\b(?:ago|last|on|since|week|month|day|in [A-Z]\w+)\b|\b(?:20|19)\d\d\b")
UNSURE = re.compile(
    r"\b(?:maybe|perhaps|might|would|could|if|suppose|imagine|pretend|guess|doubt|say|says|act as)\b",
    re.IGNORECASE,
)
PASTED = re.compile(r"[\"\n]")


def several_factors(view) -> np.ndarray:
    """A plain reading of four factors at once: whose, what exactly, when, and asserted without a frame."""
    whose = 1 - np.exp(-(1.5 * count(POSSESSION, view) + 0.4 * count(FIRST_PERSON, view)) / 2)
    what = 1 - np.exp(-(count(NUMBER, view) + 1.2 * count(DONE, view) + 0.7 * count(WHEN, view)) / 2)
    firm = np.exp(-count(UNSURE, view) / 1.5 - count(PASTED, view))
    return view.person * (0.45 * what + 0.3 * firm + 0.25 * whose)


def test_default_corpus_has_longmemevals_shape(corpus: Dataset) -> None:
    assert len(corpus) == 60 and 9_000 <= corpus.memories <= 12_000
    assert Counter(case.kind for case in corpus) == dict.fromkeys(KINDS, 10)
    for case in corpus:
        view = case.consolidation
        assert 14 <= len(set(view.sessions.tolist())) <= 22
        for s in set(view.sessions.tolist()):
            rows = np.flatnonzero(view.sessions == s)
            assert 6 <= len(rows) <= 12 and view.positions[rows].tolist() == list(range(len(rows)))
            assert [view.roles[i] for i in rows] == ["user", "assistant"] * (len(rows) // 2)
            assert len(set(view.times[rows].tolist())) == 1
        assert view.times[0] >= np.datetime64("2023-01-01") and view.now > view.times[-1]
        assert case.session_index.tolist() == view.sessions.tolist()
        assert case.turn_index.tolist() == view.positions.tolist()
        assert view.events == () and case.factors is None


def test_answer_keys_hold_the_evidence_of_each_question_type(corpus: Dataset) -> None:
    for case in corpus:
        key, view = case.sealed.open(), case.consolidation
        assert key.obsolete is not None and key.announces is not None and key.source is not None
        where = np.flatnonzero(key.needed)
        assert key.question and set(key.source) <= {"simulated", "tasks"}
        if case.kind == "single-session-assistant":
            assert [view.roles[i] for i in where] == ["assistant"]
        else:
            assert {view.roles[i] for i in where} == {"user"}
        if case.kind.startswith("single-session"):
            assert len(where) == 1
        else:
            assert 2 <= len(where) <= 4 and len(set(view.sessions[where].tolist())) == len(where)
        if case.kind == "knowledge-update":
            # All statements are evidence; every one but the last has become false.
            assert key.obsolete[where].tolist() == [True] * (len(where) - 1) + [False]
            assert key.announces[where].tolist() == [False] + [True] * (len(where) - 1)
            assert len({view.texts[i] for i in where}) == len(where)
        else:
            assert not key.obsolete.any() and not key.announces.any()
        assert not (key.obsolete & ~key.needed).any()


def test_sources_are_labelled_per_session_and_evidence_lies_in_both(large: Dataset) -> None:
    evidence: Counter[str] = Counter()
    turns: Counter[str] = Counter()
    for case in large:
        key = case.sealed.open()
        assert key.source is not None
        by_session: dict[int, set[str]] = {}
        for s, label, needed in zip(
            case.consolidation.sessions.tolist(), key.source, key.needed, strict=True
        ):
            by_session.setdefault(s, set()).add(label)
            turns[label] += 1
            evidence[label] += bool(needed)
        assert all(len(labels) == 1 for labels in by_session.values())
    share = turns["tasks"] / sum(turns.values())
    assert 0.25 < share < 0.45
    assert abs(evidence["tasks"] / sum(evidence.values()) - share) < 0.12


@pytest.mark.parametrize("seed", [0, 1])
def test_no_trivial_rule_solves_it_and_several_factors_do_better(corpus: Dataset, seed: int) -> None:
    dataset = corpus if seed == 0 else simulate(60, seed)
    # Measured over seeds 0 to 5: several factors .63-.77 and .78-.83 (.833 is all that user turns can give),
    # the best rules .34-.49 (numbers, at 10 %) and .71-.79 (first person, at 30 %).
    sensible = {b: retention(dataset, several_factors, b) for b in (0.1, 0.3)}
    assert sensible[0.1] > 0.62 and sensible[0.3] > 0.77
    for name, rule in TRIVIAL.items():
        tenth, third = retention(dataset, rule, 0.1), retention(dataset, rule, 0.3)
        assert tenth < min(0.5, sensible[0.1] - 0.15), (
            f"{name} keeps {tenth:.2f}, several {sensible[0.1]:.2f}"
        )
        assert third < min(0.79, sensible[0.3] - 0.03), (
            f"{name} keeps {third:.2f}, several {sensible[0.3]:.2f}"
        )


def test_random_keeps_its_budget(large: Dataset) -> None:
    assert retention(large, TRIVIAL["random"], 0.3) == pytest.approx(0.3, abs=0.08)
    assert retention(large, TRIVIAL["role"], 0.3) == pytest.approx(0.5, abs=0.04)


def test_evidence_does_not_show_by_place_length_or_a_single_word(large: Dataset) -> None:
    texts, positions, needed = user_rows(large)
    assert auc(positions.astype(float), needed) == pytest.approx(0.5, abs=0.06)
    length = np.array([len(t.split()) for t in texts], dtype=float)
    assert 0.25 < auc(length, needed) < 0.78
    # Some evidence is short, and much that is none is longer than most evidence.
    assert np.percentile(length[needed], 10) < 20 and np.percentile(length[~needed], 90) > np.median(
        length[needed]
    )
    with_word: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for text, label in zip(texts, needed, strict=True):
        with_word[int(label)].update(set(WORD.findall(text.lower())))
    others, evidence = int((~needed).sum()), int(needed.sum())
    for word in with_word[0] | with_word[1]:
        # The AUC of "holds the word" is half the difference of the two shares above or below one half.
        single = 0.5 + abs(with_word[1][word] / evidence - with_word[0][word] / others) / 2
        assert single < 0.85, f"{word!r} alone separates evidence at AUC {single:.2f}"


def test_by_the_way_is_no_mark_of_evidence(large: Dataset) -> None:
    texts, _, needed = user_rows(large)
    leads = np.array(["by the way" in t.lower() for t in texts])
    assert leads[needed].mean() < 0.06 and leads[needed].sum() < 0.1 * leads.sum()
    assert leads[~needed].mean() > 0.01


def test_evidence_and_decoys_share_their_vocabulary(large: Dataset) -> None:
    texts, _, needed = user_rows(large)
    evidence = Counter(w for t, y in zip(texts, needed, strict=True) if y for w in WORD.findall(t.lower()))
    rest = {w for t, y in zip(texts, needed, strict=True) if not y for w in WORD.findall(t.lower())}
    unknown = sum(n for w, n in evidence.items() if w not in rest)
    assert unknown < 0.01 * sum(evidence.values())


def test_text_reads_like_english(corpus: Dataset) -> None:
    texts = [t for case in corpus for t in case.consolidation.texts]
    joined = "\n".join(texts)
    assert not re.search(r"\{\w|\w\}(?!\")|\|| {2,}(?=\S)(?<!\n)", re.sub(r"\n +|x = \{.*?\}", "\n", joined))
    assert not re.search(r"\ban? [^\w\s]|\ba [aeio]\w|\ban [bcdfgjklmnpqrstvwxyz]\w| [,.?!](?:\s|$)", joined)
    assert all(t == t.strip() and t for t in texts)
    assert all(t[0].isupper() or not t[0].isalpha() or t.startswith(("def ", "x ")) for t in texts)
    assert len(set(texts)) > 0.8 * len(texts)
    lengths = [len(t.split()) for t in texts]
    assert max(lengths) < 200 and 15 < float(np.mean(lengths)) < 60


def test_every_template_can_be_filled() -> None:
    dice = Dice(np.random.default_rng(1))
    day = np.datetime64("2023-05-20").item()
    templates = [
        t
        for k in (*FACTS, *PREFERENCES)
        for t in (*k.says, *k.news, *k.asks, *k.more, k.echo, k.tally, k.event)
    ]
    templates += [t for lines in (*REMARKS.values(), *BLOCKS.values(), *WORKINGS.values()) for t in lines]
    templates += [t for topic in TOPICS for t in (*topic.requests, *topic.tips)]
    templates += [t for task in TASKS for t in (*task.openers, *task.follow_ups, *task.replies)]
    templates += [t for x in LISTINGS for t in (*x.requests, *x.intro, *x.line, *x.asks)]
    templates += [frame for frame, _ in FRAMES]
    given = {"thing": "yarn", "fact": "I own a van."}
    for template in filter(None, templates):
        for _ in range(3):
            assert render(template, Blanks(dice, day, dict(given)))
    assert all(len(task.openers) == len(task.replies) for task in TASKS)
    assert all(any(f"{{{k.changes}}}" in s for s in k.says) and k.news for k in FACTS if k.changes)
    assert {answer for _, answer in FRAMES} | set(BLOCKS) <= set(WORKINGS)


def test_a_slot_keeps_its_value_within_a_story() -> None:
    blanks = Blanks(Dice(np.random.default_rng(0)), np.datetime64("2023-05-20").item())
    first = render("{item} and {item2}", blanks)
    assert render("{item} and {item2}", blanks) == first
    assert len(set(first.split(" and "))) == 2


def test_template_language() -> None:
    blanks = Blanks(
        Dice(np.random.default_rng(0)), np.datetime64("2023-05-20").item(), {"x": "owl", "y": "cat"}
    )
    assert render("{a x} and {a y}[|][, really|, really].", blanks) == "an owl and a cat, really."
    assert {render("[a|[b|c]|]", blanks) for _ in range(60)} == {"a", "b", "c", ""}
    assert (
        lower_first("My cat") == "my cat"
        and lower_first("I am") == "I am"
        and lower_first("It is") == "it is"
    )
    for wrong in ("[a|b", "a]"):
        with pytest.raises(ValueError, match="template"):
            render(wrong, blanks)


def test_same_seed_same_bytes_whatever_the_hash_seed() -> None:
    assert simulate(12, 5).digest == simulate(12, 5).digest
    code = "from memvalue.data.simulated import simulate; print(simulate(12, 5).digest)"
    for hash_seed in ("0", "4242"):
        out = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": hash_seed},
        )  # fmt: skip
        assert out.stdout.strip() == simulate(12, 5).digest


def test_another_seed_is_another_text_and_more_cases_only_add(corpus: Dataset) -> None:
    other = simulate(6, 1)
    mine = {t for case in corpus.cases[:6] for t in case.consolidation.texts if len(t.split()) > 12}
    theirs = {t for case in other for t in case.consolidation.texts if len(t.split()) > 12}
    assert len(mine & theirs) < 0.1 * len(mine)
    for a, b in zip(simulate(3, 0), corpus, strict=False):
        assert a.consolidation.digest() == b.consolidation.digest() and a.id == b.id


@pytest.mark.parametrize(("cases", "seed", "word"), [(0, 0, "cases"), (-1, 0, "cases"), (1, -1, "seed")])
def test_impossible_sizes_and_seeds_are_refused(cases: int, seed: int, word: str) -> None:
    with pytest.raises(DataError, match=f"{word} must be"):
        simulate(cases, seed)
