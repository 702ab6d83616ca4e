"""The flat layout loses nothing, and what a policy sees holds no label."""

from dataclasses import fields, replace

import numpy as np
import pytest
from eval_cases import bench_of, case, random_bench

from memvalue.data import Dataset
from memvalue.eval import Bench, BlindBench

LABELS = {
    "case_ids", "kinds", "session_index", "turn_index", "needed", "obsolete", "announces", "source",
    "questions",
}  # fmt: skip


class TestLayout:
    def test_cases_lie_one_after_the_other(self):
        bench = bench_of(case("a", [0], n=3, kind="x"), case("b", [1], n=2, kind="y"))
        assert bench.offsets.tolist() == [0, 3, 5]
        assert bench.case_of.tolist() == [0, 0, 0, 1, 1]
        assert np.flatnonzero(bench.needed).tolist() == [0, 4]
        assert (bench.cases, len(bench), bench.kinds) == (2, 5, ("x", "y"))

    def test_ages_are_days_and_tokens_are_words(self):
        bench = bench_of(case("a", [0], texts=["three words here", "", "one"]))
        assert bench.age_days[0] == 2.0
        assert bench.tokens.tolist() == [3, 1, 1]

    def test_ready_made_factors_are_taken_as_they_are(self):
        factors = np.random.default_rng(0).random((4, 7)).astype(np.float32)
        factors[:, 2] = 0.5
        bench = bench_of(case("a", [0], factors=factors))
        assert (bench.factors == factors).all()
        assert bench.evidence.shape == (4, 0)
        assert bench.informed.tolist() == [True, True, False, True, True, True, True]

    def test_a_label_that_only_some_cases_have_is_false_elsewhere(self):
        bench = bench_of(case("a", [0], n=2, obsolete=np.array([False, True])), case("b", [0], n=2))
        assert bench.obsolete.tolist() == [False, True, False, False]
        assert bench.announces is None

    def test_unknown_sources_are_empty(self):
        bench = bench_of(case("a", [0], n=2, source=("simulated", "sharegpt")), case("b", [0], n=2))
        assert bench.source.tolist() == ["simulated", "sharegpt", "", ""]

    def test_an_empty_data_set_says_why(self):
        with pytest.raises(ValueError, match=r"no usable case.*21 without evidence"):
            Bench.build(Dataset("made:none", "made", [], skipped={"without evidence": 21}))

    def test_factors_of_the_wrong_shape_name_the_case(self):
        wrong = replace(case("odd", [0], n=3), factors=np.zeros((3, 6), np.float32))
        with pytest.raises(ValueError, match="case odd: factors have shape"):
            bench_of(wrong)

    def test_factors_that_are_not_numbers_name_the_factor(self):
        factors = np.zeros((2, 7), np.float32)
        factors[1, 5] = np.nan
        with pytest.raises(ValueError, match="reliability of memory 1"):
            bench_of(case("a", [0], factors=factors))


class TestTake:
    def test_rows_of_the_chosen_cases_in_the_given_order(self):
        bench = random_bench(4, n=5)
        part = bench.take([3, 1])
        assert part.case_ids == ("c3", "c1")
        for name in ("factors", "needed", "age_days", "source", "tokens"):
            whole = getattr(bench, name)
            assert (getattr(part, name) == np.concatenate([whole[15:20], whole[5:10]])).all()
        assert part.texts == [*bench.texts[15:20], *bench.texts[5:10]]
        assert part.consolidations[1] is bench.consolidations[1]

    def test_all_cases_give_the_bench_back(self):
        bench = random_bench(3)
        same = bench.take(range(3))
        assert (same.factors == bench.factors).all()
        assert (same.offsets == bench.offsets).all()

    def test_no_case_gives_an_empty_bench(self):
        empty = random_bench(3).take([])
        assert (empty.cases, len(empty)) == (0, 0)

    def test_a_case_that_is_not_there_is_refused(self):
        with pytest.raises(IndexError, match=r"0\.\.2"):
            random_bench(3).take([3])


class TestBlindness:
    def test_the_view_has_no_column_that_tells(self):
        assert LABELS.isdisjoint(f.name for f in fields(BlindBench))
        view = random_bench(2).blind()
        assert type(view) is BlindBench
        assert not any(hasattr(view, name) for name in LABELS)

    def test_the_question_reaches_nobody_who_did_not_ask_for_it(self):
        bench = bench_of(case("a", [0], n=2, question="Where did I park?"))
        assert bench.blind().similarity is None
        assert "Where did I park?" not in bench.blind().texts


class UnitEncoder:
    """Counts of a, b and c, scaled to unit length."""

    name, dim = "abc", 3

    def encode(self, texts):
        rows = np.array([[t.count(c) for c in "abc"] for t in texts], np.float32)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


class TestOracle:
    def test_with_an_encoder_it_is_the_papers_shifted_cosine(self):
        bench = bench_of(case("a", [0], texts=["a", "b", "ab"], question="a"))
        assert bench.question_similarity(UnitEncoder()).tolist() == pytest.approx([1.0, 0.5, 0.5 + 0.5**1.5])

    def test_the_question_becomes_the_goal_and_only_that(self):
        factors = np.random.default_rng(0).random((3, 7)).astype(np.float32)
        bench = bench_of(case("a", [0], texts=["a", "b", "ab"], factors=factors, question="a"))
        opened = bench.open_to_oracle(UnitEncoder())
        assert opened.factors[:, 1].tolist() == pytest.approx([1.0, 0.5, 0.5 + 0.5**1.5])
        assert (np.delete(opened.factors, 1, 1) == np.delete(factors, 1, 1)).all()
        assert (bench.factors == factors).all()
        assert opened.blind().similarity is not None

    def test_without_an_encoder_shared_rare_words_count(self):
        pytest.importorskip("memvalue.features.scan")
        texts = ["the weather is fine", "I parked the car in Oslo", "the car and the weather", "nothing"]
        near = bench_of(
            case("a", [1], texts=texts, question="Where is the car parked?")
        ).question_similarity()
        assert near.argmax() == 1
        assert near[3] == 0.0
        assert ((near >= 0) & (near <= 1)).all()

    def test_data_without_questions_has_no_oracle(self):
        with pytest.raises(ValueError, match="has none"):
            bench_of(case("a", [0], n=2)).open_to_oracle()
