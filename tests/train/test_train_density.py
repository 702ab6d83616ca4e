"""Within a token budget long memories pay for their length, by an exponent that the training cases choose."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memvalue.train import fit_density, mean_retention, value_density

#: One case of 102 tokens: a long memory that is not needed and a short one that is.
VALUE, TOKENS, OFFSETS, NEEDED = [0.9, 0.5], [100, 2], [0, 2], [False, True]


class TestValueDensity:
    def test_by_hand(self):
        assert value_density([0.5, 0.5, 0.9], [1, 4, 100], 0.5).tolist() == [0.5, 0.25, pytest.approx(0.09)]

    def test_an_exponent_of_zero_leaves_the_value(self):
        assert value_density(VALUE, TOKENS, 0.0).tolist() == VALUE

    def test_something_worthless_stays_worthless_however_short(self):
        assert value_density([0.0, 0.1], [1, 1000], 0.5)[0] == 0.0

    @given(
        st.lists(st.tuples(st.floats(0, 1), st.integers(1, 500)), min_size=2, max_size=20),
        st.floats(0, 1),
    )
    def test_of_two_equally_valued_the_shorter_never_ranks_lower(self, memories, exponent):
        value = np.full(len(memories), memories[0][0])
        tokens = np.array([t for _, t in memories])
        density = value_density(value, tokens, exponent)
        order = np.argsort(tokens)
        assert (np.diff(density[order]) <= 0).all()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([-0.1], [1], 0.1), "0 or more"),
            (([[0.1]], [1], 0.1), "one column"),
            (([np.nan], [1], 0.1), "0 or more"),
            (([0.1], [0], 0.1), r"tokens\[0\] is 0"),
            (([0.1, 0.2], [1], 0.1), "tokens must be 2 integers"),
            (([0.1], [1], -0.5), "exponent must be finite"),
            (([0.1], [1], np.inf), "exponent must be finite"),
        ],
    )
    def test_bad_input_is_named(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            value_density(*arguments)


class TestFit:
    def test_the_smallest_exponent_that_lets_the_short_one_by(self):
        # .9 / 100^γ < .5 / 2^γ from γ = ln(1.8) / ln(50) = .1503 on.
        found = fit_density(VALUE, TOKENS, OFFSETS, NEEDED, budgets=[0.1])
        assert found.exponent == 0.2
        assert found.retention == tuple(float(e >= 0.2) for e in found.exponents)

    def test_where_length_does_not_matter_it_is_left_alone(self):
        assert fit_density(VALUE, [7, 7], OFFSETS, NEEDED).exponent == 0.0

    def test_the_curve_is_the_retention_by_tokens(self):
        rng = np.random.default_rng(0)
        value, tokens, needed = rng.random(200), rng.integers(1, 90, 200), rng.random(200) < 0.1
        offsets = np.arange(0, 201, 20)
        found = fit_density(value, tokens, offsets, needed, budgets=[0.1, 0.3], exponents=[0.5, 0.25])
        assert found.exponents == (0.25, 0.5)
        want = [
            float(mean_retention(value / tokens**e, offsets, needed, [0.1, 0.3], tokens=tokens))
            for e in (0.25, 0.5)
        ]
        assert found.retention == pytest.approx(want)
        assert found.exponent == (0.25, 0.5)[int(np.argmax(want))]

    def test_cases_of_no_weight_have_no_say(self):
        # The second case would rather keep the long one.
        labels = [False, True, True, False]
        both = {"value": VALUE * 2, "tokens": TOKENS * 2, "offsets": [0, 2, 4], "needed": labels}
        assert fit_density(**both, budgets=[0.1], case_weight=[1, 0]).exponent == 0.2
        assert fit_density(**both, budgets=[0.1], case_weight=[0, 1]).exponent == 0.0

    def test_no_exponent_to_try_is_refused(self):
        with pytest.raises(ValueError, match="exponents is empty"):
            fit_density(VALUE, TOKENS, OFFSETS, NEEDED, exponents=[])

    def test_nothing_needed_is_refused(self):
        with pytest.raises(ValueError, match="needed memory"):
            fit_density(VALUE, TOKENS, OFFSETS, [False, False])
