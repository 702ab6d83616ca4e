"""The network learns what a line cannot, repeats itself bit for bit, and never saturates."""

import numpy as np
import pytest
import torch
from train_cases import planted

from memvalue.train.mlp import MLPValueModel
from memvalue.train.objective import mean_retention


def quick(**changes):
    return MLPValueModel(**{"restarts": 1, "epochs": 30, "batch_cases": 8} | changes)


@pytest.mark.parametrize("loss", ["listwise", "pairwise"])
def test_an_exclusive_or_that_no_line_ranks_is_learnt(loss):
    rng = np.random.default_rng(0)
    X = rng.random((60 * 30, 7), dtype=np.float32)
    g = np.repeat(np.arange(60), 30)
    truth = (np.abs(X[:, 0] - X[:, 1])).reshape(60, 30)
    y = (truth >= np.sort(truth, axis=1)[:, -2:-1]).ravel()
    model = quick(loss=loss, learning_rate=1e-2, weight_decay=0.0).fit(X, y, groups=g)
    assert mean_retention(model.predict(X), np.arange(61) * 30, y, [0.1]) > 0.6  # the best line reaches .45


def test_the_same_seed_gives_the_same_bits_and_torchs_global_state_stays():
    X, y, g = planted(cases=12)
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    first = quick(epochs=4).fit(X, y, groups=g)
    torch.manual_seed(7)
    again = quick(epochs=4).fit(X, y, groups=g)
    for a, b in zip(first.coefs_ + first.intercepts_, again.coefs_ + again.intercepts_, strict=True):
        assert a.tobytes() == b.tobytes()
    torch.set_rng_state(before)
    quick(epochs=2).fit(X, y, groups=g)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


def test_the_forward_pass_is_that_of_torch():
    X, y, g = planted(cases=8)
    model = quick(epochs=3).fit(X, y, groups=g)
    hidden = (torch.from_numpy(X) - torch.from_numpy(model.mean_)) / torch.from_numpy(model.scale_)
    for i, (coef, bias) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
        hidden = torch.nn.functional.linear(hidden, torch.from_numpy(coef.T), torch.from_numpy(bias))
        hidden = torch.relu(hidden) if i < 2 else hidden
    z = (hidden[:, 0] - model.score_mean_) / model.score_scale_
    np.testing.assert_allclose(
        model.predict(X), (0.5 + 0.5 * torch.nn.functional.softsign(z)).numpy(), atol=1e-6
    )


def test_the_value_rises_strictly_with_the_score_far_into_the_tails():
    X, y, g = planted(cases=8)
    model = quick(epochs=2).fit(X, y, groups=g)
    model.coefs_ = [np.zeros((7, 1), np.float32)]
    model.coefs_[0][0] = model.scale_[0]
    model.intercepts_ = [np.zeros(1, np.float32)]
    model.score_mean_, model.score_scale_ = 0.0, 1.0
    z = np.concatenate([-np.geomspace(100, 0.01, 200), np.geomspace(0.01, 100, 200)])
    rows = np.zeros((400, 7))
    rows[:, 0] = z + model.mean_[0]
    value = model.predict(rows)
    assert (np.diff(value) > 0).all()
    assert value.min() > 0 and value.max() < 1


def test_a_factor_that_never_varied_has_no_effect_when_it_later_does():
    X, y, g = planted(cases=8)
    X[:, 6] = 0.0
    model = quick(epochs=3).fit(X, y, groups=g)
    assert model.informed_.tolist() == [True] * 6 + [False]
    moved = X.copy()
    moved[:, 6] = 1.0
    np.testing.assert_array_equal(model.predict(X), model.predict(moved))


def test_one_case_is_enough():
    X, y, _ = planted(cases=1)
    value = quick(epochs=2).fit(X, y).predict(X)
    assert value.shape == (40,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"loss": "square"}, "listwise"),
        ({"restarts": 0}, "restarts"),
        ({"validation": 1.0}, "validation"),
        ({"hidden": ()}, "hidden"),
        ({"learning_rate": 0.0}, "learning_rate"),
    ],
)
def test_parameters_out_of_range_are_named(change, message):
    X, y, g = planted(cases=3)
    with pytest.raises(ValueError, match=message):
        quick(**change).fit(X, y, groups=g)


def test_cases_without_both_kinds_teach_nothing():
    with pytest.raises(ValueError, match="no case has both"):
        quick().fit(np.eye(2), [True, False], groups=[0, 1])
