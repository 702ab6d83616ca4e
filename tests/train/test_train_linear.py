"""The linear value model learns planted weights, keeps what the data cannot inform, and stays in [0, 1]."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from train_cases import planted

from memvalue.train.affine import affine_value
from memvalue.train.linear import LinearValueModel
from memvalue.train.objective import RetentionObjective


def quick(**changes):
    return LinearValueModel(**{"budgets": (0.05, 0.1), "restarts": 1, "max_evaluations": 300} | changes)


def test_planted_weights_are_found():
    X, y, g = planted()
    model = quick().fit(X, y, groups=g)
    assert model.weights_[[1, 3]].sum() > 0.9
    assert model.weights_.sum() == pytest.approx(1)
    assert (model.weights_ >= 0).all()
    assert model.objective_ == pytest.approx(
        RetentionObjective(X, y, g, (0.05, 0.1))(model.weights_)[0], abs=1e-3
    )
    assert model.objective_ > 0.9
    assert model.n_iter_ > 1


def test_the_same_seed_gives_the_same_bits_and_another_generator_state_another_path():
    X, y, g = planted(cases=10)
    first = quick(random_state=3).fit(X, y, groups=g)
    again = quick(random_state=3).fit(X, y, groups=g)
    assert first.weights_.tobytes() == again.weights_.tobytes()
    rng = np.random.default_rng(3)
    assert quick(random_state=rng).fit(X, y, groups=g).weights_.tobytes() == first.weights_.tobytes()
    assert quick(random_state=rng).fit(X, y, groups=g).weights_.tobytes() != first.weights_.tobytes()


def test_the_order_of_rows_and_the_names_of_cases_do_not_matter():
    X, y, g = planted(cases=6)
    # Cases stay in order of appearance while their rows interleave.
    order = np.arange(len(X)).reshape(6, -1).T.ravel()
    names = np.array([f"case {i}" for i in g])
    straight = quick().fit(X, y, groups=g)
    mixed = quick().fit(X[order], y[order], groups=names[order])
    np.testing.assert_allclose(straight.weights_, mixed.weights_, atol=1e-6)


def test_what_the_data_cannot_inform_keeps_its_prior_share_and_is_flagged():
    X, y, g = planted(cases=10)
    X[:, 2] = 0.5
    prior = [0.1, 0.1, 0.3, 0.1, 0.1, 0.1, 0.2]
    model = quick(prior=prior, informed=[True] * 6 + [False]).fit(X, y, groups=g)
    assert model.informed_.tolist() == [True, True, False, True, True, True, False]
    assert model.weights_[2] == pytest.approx(0.3)
    assert model.weights_[6] == pytest.approx(0.2)
    assert model.weights_.sum() == pytest.approx(1)


def test_nothing_to_inform_leaves_the_prior():
    X, y, g = planted(cases=3)
    model = quick(prior=[7, 1, 1, 1, 0, 0, 0], informed=[False] * 7).fit(X, y, groups=g)
    np.testing.assert_allclose(model.weights_, [0.7, 0.1, 0.1, 0.1, 0, 0, 0])


def test_a_strong_pull_keeps_the_prior():
    X, y, g = planted(cases=10)
    prior = np.array([0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])
    loose, tight = (quick(prior=prior, l2=l2).fit(X, y, groups=g).weights_ for l2 in (0.0, 100.0))
    assert np.abs(tight - prior).max() < 0.05 < np.abs(loose - prior).max()


def test_a_role_offset_is_learnt_when_machines_are_never_needed():
    X, y, g = planted(cases=20)
    machine = np.zeros(len(y), bool)
    machine[::2] = True
    y = y & ~machine
    keep = np.isin(g, np.unique(g[y]))
    model = quick(role_offset=True).fit(X[keep], y[keep], groups=g[keep], machine=machine[keep])
    assert model.offset_ < 0
    value = model.predict(X, machine=machine)
    assert value.min() >= 0 and value.max() <= 1
    with pytest.raises(ValueError, match="role offset"):
        model.predict(X)
    with pytest.raises(ValueError, match="machine"):
        quick(role_offset=True).fit(X, y, groups=g)
    with pytest.raises(ValueError, match="rows"):
        model.predict(X, machine=[True])


def test_the_source_controlled_loss_only_ranks_the_masked_rows():
    X, y, g = planted(cases=10)
    mask = np.ones(len(y), bool)
    mask[~y & (np.arange(len(y)) % 2 == 0)] = False
    assert quick().fit(X, y, groups=g, mask=mask).objective_ >= 0.5


def test_known_weights_make_a_model():
    model = LinearValueModel.from_weights([2, 0, 0, 0, 1, 1, 0], offset=-0.5)
    np.testing.assert_allclose(model.weights_, [0.5, 0, 0, 0, 0.25, 0.25, 0])
    # Scores lie in [−0.5, 1]: a machine turn of 0.5 − 0.5 stands at a third, a person's at two thirds.
    X = [[1, 0, 0, 0, 0, 0, 0]] * 2
    np.testing.assert_allclose(model.predict(X, machine=[True, False]), [1 / 3, 2 / 3], atol=1e-6)
    with pytest.raises(ValueError, match="offset"):
        LinearValueModel.from_weights(np.ones(7), offset=2)
    with pytest.raises(ValueError, match="vector"):
        LinearValueModel.from_weights(np.ones((7, 1)))


unit = st.floats(0, 1, width=32)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1, 1), min_size=7, max_size=7).filter(lambda w: sum(map(abs, w)) > 1e-3),
    st.lists(st.tuples(st.lists(unit, min_size=7, max_size=7), st.booleans()), min_size=1, max_size=5),
    st.floats(-1, 1),
)
def test_the_value_is_an_affine_map_of_the_score_into_the_unit_interval(weights, rows, offset):
    X = np.array([r[0] for r in rows])
    machine = np.array([r[1] for r in rows])
    got = affine_value(X, weights, offset=offset, machine=machine)
    w = np.array(weights)
    low = np.minimum(w, 0).sum() + min(offset, 0)
    want = (X @ w + offset * machine - low) / (np.abs(w).sum() + abs(offset))
    np.testing.assert_allclose(got, want, atol=1e-6)
    assert got.min() >= 0 and got.max() <= 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budgets": (30,)}, "0.3"),
        ({"restarts": 0}, "restarts"),
        ({"max_evaluations": 0}, "max_evaluations"),
        ({"l2": -1.0}, "l2"),
        ({"prior": [1, 2]}, "prior"),
        ({"prior": [-1] + [1] * 6}, "prior"),
        ({"informed": [True]}, "informed"),
        ({"random_state": np.random.RandomState(0)}, "random_state"),
    ],
)
def test_parameters_out_of_range_are_named(change, message):
    X, y, g = planted(cases=3)
    with pytest.raises(ValueError, match=message):
        quick(**change).fit(X, y, groups=g)


@pytest.mark.parametrize(
    ("y", "message"), [([False] * 4, "not needed"), ([True] * 4, "are needed"), ([0, 1, 2, 0], "3 different")]
)
def test_labels_that_teach_nothing_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(np.random.default_rng(0).random((4, 7)), y)
