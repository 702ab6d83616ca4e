"""Each measure on cases small enough to work by hand, and against exhaustive orders where ties matter."""

from itertools import pairwise, permutations
from math import comb

import numpy as np
import pytest
from eval_cases import bench_of, case
from hypothesis import given
from hypothesis import strategies as st

from memvalue.eval.measures import MEASURES, all_kept, judge, kept_share

USER, OTHER = "user", "assistant"


def one(values: np.ndarray) -> float:
    return float(values[0, 0])


class TestAllKept:
    def test_both_needed_memories_at_the_top(self):
        scores = np.array([4.0, 3.0, 2.0, 1.0])
        assert one(all_kept(scores, np.array([0, 4]), np.array([True, True, False, False]), [0.5])) == 1.0

    def test_one_of_them_outside_the_budget_is_enough_to_fail(self):
        scores = np.array([4.0, 3.0, 2.0, 1.0])
        assert one(all_kept(scores, np.array([0, 4]), np.array([True, False, False, True]), [0.5])) == 0.0

    def test_ties_count_by_chance(self):
        # Two of four tied memories are kept, both are needed: one in C(4, 2) = 6 ways.
        found = all_kept(np.zeros(4), np.array([0, 4]), np.array([True, True, False, False]), [0.5])
        assert one(found) == pytest.approx(1 / 6)

    def test_a_random_policy_keeps_all_with_the_hypergeometric_chance(self):
        needed = np.arange(50) < 3
        found = all_kept(np.zeros(50), np.array([0, 50]), needed, [0.3])
        assert one(found) == pytest.approx(comb(47, 12) / comb(50, 15))

    def test_a_case_without_gold_is_undefined(self):
        found = all_kept(np.zeros(4), np.array([0, 2, 4]), np.array([True, False, False, False]), [0.5])
        assert found[0, 0] == 0.5
        assert np.isnan(found[1, 0])

    @given(st.data())
    def test_it_equals_the_share_of_all_orders_that_keep_all(self, data):
        n = data.draw(st.integers(1, 6))
        scores = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=n, max_size=n)))
        needed = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
        budget = data.draw(st.sampled_from([0.1, 0.3, 0.5, 0.7, 1.0]))
        if not needed.any():
            return
        k = max(1, int(budget * n + 1e-9))
        orders = [o for o in permutations(range(n)) if all(scores[a] >= scores[b] for a, b in pairwise(o))]
        kept = [set(np.flatnonzero(needed)) <= set(o[:k]) for o in orders]
        found = all_kept(scores, np.array([0, n]), needed, [budget])
        assert one(found) == pytest.approx(np.mean(kept))


class TestSubLists:
    def test_only_the_chosen_rows_are_ranked_counted_and_paid_for(self):
        # Of six memories three are chosen; a third of three is one, the chosen one that scores most.
        scores = np.array([9.0, 8.0, 7.0, 3.0, 2.0, 1.0])
        chosen = np.array([False, False, False, True, True, True])
        needed = np.array([True, False, False, True, False, False])
        found = kept_share(scores, np.array([0, 6]), needed, [1 / 3], rows=chosen)
        assert one(found) == 1.0

    def test_a_case_with_an_empty_sub_list_is_undefined_and_shifts_no_other(self):
        scores = np.array([1.0, 2.0, 1.0, 2.0])
        chosen = np.array([False, False, True, True])
        needed = np.array([True, True, False, True])
        found = kept_share(scores, np.array([0, 2, 4]), needed, [0.5], rows=chosen)
        assert np.isnan(found[0, 0])
        assert found[1, 0] == 1.0


class TestJudge:
    def test_without_labels_beyond_gold_there_are_three_measures(self):
        bench = bench_of(case("a", [0], n=4))
        assert list(judge(bench, np.arange(4.0), [0.5], [0.5])) == ["turns", "tokens", "all_kept"]

    def test_source_controlled_counts_simulated_persons_only(self):
        bench = bench_of(
            case(
                "a",
                [0, 3],
                n=4,
                roles=[USER, OTHER, USER, USER],
                source=("simulated", "simulated", "simulated", "sharegpt"),
            )
        )
        # Rows 0 and 2 are ranked; row 0 is needed; half of two is one. Row 3 scores most and does not count.
        found = judge(bench, np.array([2.0, 9.0, 1.0, 10.0]), [0.5], [])
        assert one(found["source_controlled"]) == 1.0
        assert one(found["turns"]) == 0.5

    def test_a_budget_in_tokens_pays_for_words(self):
        bench = bench_of(case("a", [1], texts=["one two three four five six", "short one"]))
        # Half of eight words is four: the long turn fits only if it comes first.
        assert one(judge(bench, np.array([0.0, 1.0]), [0.5], [0.5])["tokens"]) == 1.0
        assert one(judge(bench, np.array([1.0, 0.0]), [0.5], [0.5])["tokens"]) == 0.0

    def test_live_obsolete_and_announcing_memories_are_counted_apart(self):
        def flags(*rows):
            return np.isin(np.arange(4), rows)

        bench = bench_of(case("a", [0, 1], n=4, obsolete=flags(1), announces=flags(2)))
        found = judge(bench, np.array([1.0, 4.0, 3.0, 2.0]), [0.5], [])
        assert {m: one(found[m]) for m in ("turns", "live", "obsolete", "announces")} == {
            "turns": 0.5,
            "live": 0.0,
            "obsolete": 1.0,
            "announces": 1.0,
        }

    def test_all_names_are_explained(self):
        bench = bench_of(
            case(
                "a",
                [0],
                n=4,
                source=("simulated",) * 4,
                obsolete=np.zeros(4, bool),
                announces=np.ones(4, bool),
            )
        )
        assert list(judge(bench, np.zeros(4), [0.5], [0.5])) == list(MEASURES)
