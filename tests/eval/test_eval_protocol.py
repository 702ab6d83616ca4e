"""Only held-out cases count, fits see the training half alone, and odd data gives an answer or a reason."""

import copy
import json
import random

import numpy as np
import pytest
from eval_cases import bench_of, case, random_bench

from memvalue.eval import BlindBench, FixedScores, Inapplicable, Rule, evaluate_fixed, run_protocol
from memvalue.features.names import FACTORS

FAST = {"splits": 4, "resamples": 99}


class Learner:
    """Weighs the factors by how much higher they are on needed memories; remembers what it was shown."""

    regime = "blind"
    learns = True

    def __init__(self, name="learner"):
        self.name = name
        self.weights = None
        self.seen = []

    def fit(self, train):
        fitted = copy.copy(self)
        gap = train.factors[train.needed].mean(0) - train.factors[~train.needed].mean(0)
        fitted.weights = np.maximum(gap, 1e-6).astype(np.float64)
        fitted.weights /= fitted.weights.sum()
        self.seen.append(set(train.case_ids))
        return fitted

    def score(self, bench):
        assert type(bench) is BlindBench
        return bench.factors @ self.weights


class Cheat(Learner):
    """Knows every memory of a training case by heart and nothing else."""

    def fit(self, train):
        fitted = copy.copy(self)
        fitted.known = {f.tobytes() for f in train.factors[train.needed]}
        fitted.weights = None
        return fitted

    def score(self, bench):
        return np.array([float(f.tobytes() in self.known) for f in bench.factors])


class Broken(Rule):
    def __init__(self, name, value):
        self.name, self.value = name, value

    def score(self, bench):
        if isinstance(self.value, Exception):
            raise self.value
        return np.full(len(bench), self.value)


class Asks(Rule):
    name, regime = "ceiling", "oracle"

    def score(self, bench):
        return bench.factors[:, 1].astype(float)


def constant(bench, name="constant"):
    return FixedScores(name, np.zeros(len(bench)))


class TestSplits:
    def test_the_papers_halves(self):
        bench, learner = random_bench(7), Learner()
        run_protocol(bench, [learner], main="learner", splits=3, resamples=9)
        for rep, seen in enumerate(learner.seen):
            order = list(range(7))
            random.Random(100 + rep).shuffle(order)
            assert seen == {f"c{i}" for i in order[:3]}

    def test_a_figure_is_the_mean_over_splits_of_the_mean_over_test_cases(self):
        bench = random_bench(5, n=10)
        report = run_protocol(
            bench, [FixedScores("x", bench.factors[:, 4])], main="x", splits=3, budgets=[0.3], resamples=9
        )
        kept = []
        for c in range(5):
            rows = slice(10 * c, 10 * c + 10)
            best = np.argsort(-bench.factors[rows, 4])[:3]
            kept.append(bench.needed[rows][best].sum() / 2)
        halves = []
        for rep in range(3):
            order = list(range(5))
            random.Random(100 + rep).shuffle(order)
            halves.append(np.mean([kept[i] for i in order[2:]]))
        cell = report.to_dict()["policies"]["x"]["turns"]["0.3"]
        assert cell["mean"] == pytest.approx(np.mean(halves), abs=1e-6)
        assert cell["std"] == pytest.approx(np.std(halves), abs=1e-6)

    def test_cases_that_were_fitted_on_never_count(self):
        bench = random_bench(12)
        report = run_protocol(bench, [Cheat("cheat"), constant(bench)], main="cheat", **FAST)
        for section in ("turns", "micro", "tokens"):
            assert report.policies["cheat"][section]["0.3"]["mean"] == pytest.approx(
                report.policies["constant"][section]["0.3"]["mean"]
            )
        gap = next(c for c in report.comparisons if c["budget"] == "0.3")
        assert gap["difference"] == pytest.approx(0.0)
        assert not gap["significant"]

    def test_given_splits_are_used_as_they_are(self):
        bench, learner = random_bench(4), Learner()
        report = run_protocol(
            bench, [learner], main="learner", splits=[([0], [3])], kind="grouped", resamples=9
        )
        assert learner.seen == [{"c0"}]
        assert report.protocol["kind"] == "grouped"
        assert report.protocol["splits"] == 1

    @pytest.mark.parametrize(
        ("splits", "says"),
        [
            (0, "1 or more"),
            ([], "no split"),
            ([([0], [9])], "names case 9"),
            ([([0, 1], [1])], "both in training and in test"),
        ],
    )
    def test_unusable_splits_are_refused(self, splits, says):
        bench = random_bench(4)
        with pytest.raises(ValueError, match=says):
            run_protocol(bench, [constant(bench)], main="constant", splits=splits)


class TestTable:
    def test_a_constant_keeps_its_budget_in_expectation(self):
        bench = random_bench(6, n=20)
        cells = evaluate_fixed(bench, {"x": np.zeros(120)}, **FAST).policies["x"]["turns"]
        for budget in ("0.1", "0.3", "0.5"):
            assert cells[budget]["mean"] == pytest.approx(float(budget))

    def test_micro_pools_memories_and_macro_averages_cases(self):
        # Case a keeps 1 of 1 needed, case b 1 of 3.
        a = case("a", [0], n=10)
        b = case("b", [0, 8, 9], n=10)
        scores = np.tile(-np.arange(10.0), 2)
        report = evaluate_fixed(
            bench_of(a, b), {"x": scores}, splits=[([], [0, 1])], budgets=[0.1], resamples=99
        )
        found = report.policies["x"]
        assert found["turns"]["0.1"]["mean"] == pytest.approx((1 + 1 / 3) / 2)
        assert found["micro"]["0.1"]["mean"] == pytest.approx(2 / 4)

    def test_question_types_are_told_apart(self):
        cases = [case("a", [0], n=4, kind="easy"), case("b", [3], n=4, kind="hard")]
        report = evaluate_fixed(
            bench_of(*cases), {"x": [4, 3, 2, 1] * 2}, splits=[([], [0, 1])], budgets=[0.5], resamples=9
        )
        by_type = report.policies["x"]["by_type"]
        assert by_type["easy"]["0.5"]["mean"] == 1.0
        assert by_type["hard"]["0.5"]["mean"] == 0.0
        assert report.data["types"] == {"easy": 1, "hard": 1}

    def test_learned_weights_come_with_their_spread(self):
        report = run_protocol(random_bench(20), [Learner("linear")], **FAST)
        weights = report.to_dict()["weights"]
        assert sum(w["mean"] for w in weights.values()) == pytest.approx(1.0, abs=1e-5)
        assert (
            weights["task_utility"]["ci"][0]
            <= weights["task_utility"]["mean"]
            <= weights["task_utility"]["ci"][1]
        )
        assert max(weights, key=lambda f: weights[f]["mean"]) == "task_utility"
        assert all(w["informed"] for w in weights.values())

    def test_a_learner_without_weights_shows_the_linear_ones_and_a_ready_model_none(self):
        bench = random_bench(8)
        stood_in = run_protocol(bench, [Cheat("mlp"), Learner("linear")], main="mlp", **FAST)
        assert set(stood_in.weights) == set(FACTORS)
        assert "mlp has no weights; those shown are of linear" in stood_in.notes
        assert evaluate_fixed(bench, {"x": np.zeros(len(bench))}, [Learner("linear")], **FAST).weights == {}

    def test_a_factor_that_the_data_cannot_inform_is_flagged(self):
        rng = np.random.default_rng(0)
        made = []
        for c in range(6):
            factors = rng.random((8, 7))
            factors[:, 2] = 0.5
            made.append(case(f"c{c}", [c], factors=factors))
        report = run_protocol(bench_of(*made), [Learner("linear")], **FAST)
        assert report.weights["value_alignment"]["informed"] is False
        assert any("value_alignment" in n and "prior" in n for n in report.notes)

    def test_the_oracle_is_told_the_question_and_is_not_compared(self):
        class Encoder:
            name, dim = "letters", 26

            def encode(self, texts):
                rows = np.array([[t.count(chr(97 + i)) for i in range(26)] for t in texts], np.float32)
                return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)

        made = [case(f"c{c}", [2], texts=["xx", "yy", "zq", "ww"], question="qz") for c in range(4)]
        bench = bench_of(*made)
        report = run_protocol(
            bench, [constant(bench), Asks()], main="constant", question_encoder=Encoder(), **FAST
        )
        assert report.policies["ceiling"]["regime"] == "oracle"
        assert report.policies["ceiling"]["turns"]["0.3"]["mean"] == 1.0
        assert report.policies["constant"]["turns"]["0.3"]["mean"] == 0.25
        assert report.comparisons == []
        assert "ceiling (oracle)" in report.text()


class TestComparisons:
    def test_they_are_paired_over_cases_and_corrected_within_a_budget(self):
        bench = random_bench(30)
        report = evaluate_fixed(
            bench,
            {"good": bench.factors[:, 4], "bad": -bench.factors[:, 4], "same": bench.factors[:, 4]},
            splits=6,
            resamples=999,
        )
        at = {(c["policy"], c["measure"], c["budget"]): c for c in report.comparisons}
        gap = at["bad", "turns", "0.3"]
        assert gap["ci"][0] > 0
        assert gap["significant"]
        assert gap["p_holm"] == pytest.approx(2 * gap["p"])
        same = at["same", "turns", "0.3"]
        assert (same["difference"], same["p_holm"], same["significant"]) == (0.0, 1.0, False)
        assert {m for _, m, _ in at} == {"turns", "tokens", "source_controlled"}

    def test_a_tie_of_the_convex_fit_is_said_in_a_sentence(self):
        report = run_protocol(random_bench(16), [Learner("linear"), Learner("pairwise")], **FAST)
        assert any("the convex fit ties CMA-ES at 10 %" in n for n in report.notes)
        assert "the convex fit ties CMA-ES at 5 %" in report.text()

    def test_the_same_seed_gives_the_same_bytes_and_others_move_only_the_resampling(self):
        def run(seed):
            return run_protocol(random_bench(10), [Learner("linear")], seed=seed, **FAST).to_dict()

        assert json.dumps(run(1)) == json.dumps(run(1))
        one, two = run(1)["policies"]["linear"]["turns"]["0.3"], run(2)["policies"]["linear"]["turns"]["0.3"]
        assert (one["mean"], one["std"]) == (two["mean"], two["std"])

    def test_a_policy_more_changes_no_figure_of_the_others(self):
        bench = random_bench(10)
        alone = run_protocol(bench, [Learner("linear")], **FAST)
        beside = run_protocol(bench, [constant(bench), Learner("linear")], **FAST)
        assert alone.to_dict()["policies"]["linear"] == beside.to_dict()["policies"]["linear"]

    def test_processes_change_nothing(self):
        bench = random_bench(8)
        policies = [Learner("linear"), constant(bench)]
        one = run_protocol(bench, policies, **FAST)
        assert run_protocol(bench, policies, jobs=2, **FAST).to_json() == one.to_json()


class TestOddData:
    def test_one_case_judges_rules_and_says_why_nothing_was_fitted(self):
        bench = bench_of(case("a", [0], n=5))
        report = run_protocol(bench, [Learner("linear"), constant(bench)], **FAST)
        assert list(report.policies) == ["constant"]
        assert any("linear left out" in n and "two cases" in n for n in report.notes)
        assert any("nothing is compared" in n for n in report.notes)
        json.loads(report.to_json(), parse_constant=pytest.fail)

    def test_two_cases(self):
        report = run_protocol(random_bench(2), [Learner("linear"), constant(random_bench(2))], **FAST)
        assert all(not c["significant"] for c in report.comparisons)
        assert report.text()

    def test_a_type_with_one_case(self):
        bench = random_bench(5, kinds=("a", "a", "a", "a", "rare"))
        cell = evaluate_fixed(bench, {"x": np.zeros(len(bench))}, splits=6, resamples=9).to_dict()[
            "policies"
        ]["x"]
        assert cell["by_type"]["rare"]["0.3"]["mean"] == pytest.approx(0.3)
        assert cell["by_type"]["rare"]["0.3"]["ci"] == [None, None]

    def test_no_gold_anywhere_gives_nulls_and_a_note(self):
        bench = bench_of(*(case(f"c{i}", [], n=4) for i in range(3)))
        report = evaluate_fixed(bench, {"x": np.zeros(12), "y": np.ones(12)}, **FAST)
        assert report.to_dict()["policies"]["x"]["turns"] == {}
        assert any("labelled as needed" in n for n in report.notes)
        assert report.text()

    def test_a_test_half_without_gold_leaves_its_split_out(self):
        bench = bench_of(case("a", [0], n=4), case("b", [], n=4), case("c", [1], n=4))
        report = evaluate_fixed(
            bench, {"x": np.zeros(12)}, splits=[([0, 2], [1]), ([1], [0, 2])], resamples=9
        )
        assert report.policies["x"]["turns"]["0.5"]["mean"] == 0.5

    def test_unknown_sources_leave_the_source_controlled_figure_out(self):
        bench = bench_of(case("a", [0], n=4), case("b", [0], n=4))
        report = evaluate_fixed(bench, {"x": np.zeros(8)}, **FAST)
        assert report.policies["x"]["source_controlled"] == {}
        assert any("no source labels" in n for n in report.notes)

    def test_a_case_of_one_memory(self):
        bench = bench_of(case("a", [0], n=1), case("b", [0], n=3))
        report = evaluate_fixed(bench, {"x": np.zeros(4)}, splits=[([1], [0])], resamples=9)
        assert report.policies["x"]["turns"]["0.01"]["mean"] == 1.0

    def test_a_policy_that_the_data_cannot_serve_is_noted(self):
        bench = random_bench(4)
        report = run_protocol(
            bench,
            [constant(bench), Broken("probe", Inapplicable("needs source labels"))],
            main="constant",
            **FAST,
        )
        assert "probe" not in report.policies
        assert "probe left out: needs source labels" in report.notes

    def test_an_oracle_without_questions_is_noted(self):
        bench = random_bench(4)
        report = run_protocol(bench, [constant(bench), Asks()], main="constant", **FAST)
        assert list(report.policies) == ["constant"]
        assert any("no oracle ceiling" in n for n in report.notes)

    @pytest.mark.parametrize(
        ("policies", "main", "says"),
        [
            (["x", "x"], "x", "unique names"),
            (["x"], "linear", "'linear' is not among x"),
            ([], "linear", "none given"),
        ],
    )
    def test_names_that_do_not_fit_are_refused(self, policies, main, says):
        bench = random_bench(3)
        with pytest.raises(ValueError, match=says):
            run_protocol(bench, [constant(bench, n) for n in policies], main=main)

    @pytest.mark.parametrize("budget", [0.0, -0.1, 30, float("nan")])
    def test_budgets_are_shares(self, budget):
        bench = random_bench(3)
        with pytest.raises(ValueError, match="share"):
            evaluate_fixed(bench, {"x": np.zeros(len(bench))}, budgets=[budget])

    def test_token_budgets_may_be_left_out_and_turn_budgets_not(self):
        bench = random_bench(3)
        report = evaluate_fixed(bench, {"x": np.zeros(len(bench))}, token_budgets=[], **FAST)
        assert report.policies["x"]["tokens"] == {}
        assert set(report.policies["x"]["by_type"]) == {"a", "b"}
        with pytest.raises(ValueError, match="at least one budget"):
            evaluate_fixed(bench, {"x": np.zeros(len(bench))}, budgets=[])

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_scores_must_be_numbers(self, value):
        bench = random_bench(3)
        with pytest.raises(ValueError, match="odd gave memory 0"):
            run_protocol(bench, [Broken("odd", value)], main="odd")

    def test_scores_of_the_wrong_length_are_refused(self):
        with pytest.raises(ValueError, match="'x' has 5 scores, the bench has 60"):
            evaluate_fixed(random_bench(3), {"x": np.zeros(5)})

    def test_nothing_to_judge_is_refused(self):
        with pytest.raises(ValueError, match="at least one"):
            evaluate_fixed(random_bench(3), {})


class TestProgress:
    def test_every_fit_and_rule_is_counted_up_to_the_total(self):
        bench = random_bench(6)
        calls = []
        run_protocol(
            bench,
            [Learner("linear"), constant(bench)],
            progress=lambda done, total, label: calls.append((done, total, label)),
            **FAST,
        )
        assert [c[0] for c in calls] == [1, 2, 3, 4, 5]
        assert {c[1] for c in calls} == {5}
        assert {c[2] for c in calls} == {"linear", "constant"}


@pytest.mark.slow
def test_the_statistics_of_a_full_table_take_seconds():
    """380 cases × 30 policies × 20 splits; 5 s where measured."""
    import time

    bench = random_bench(380, n=494, kinds=tuple("abcdef"))
    rng = np.random.default_rng(0)
    scores = {f"p{i}": rng.random(len(bench)) for i in range(30)}
    start = time.process_time()
    evaluate_fixed(bench, scores)
    assert time.process_time() - start < 20
