"""The published hill climb climbs, within its 120 steps."""

import numpy as np
import pytest
from train_cases import planted

from memvalue.train.hillclimb import HillClimb
from memvalue.train.objective import RetentionObjective


def test_it_never_ends_below_equal_weights_and_gets_somewhere():
    X, y, g = planted()
    model = HillClimb(budget=0.1).fit(X, y, groups=g)
    objective = RetentionObjective(X, y, g, [0.1])
    assert model.n_iter_ == 120
    assert model.objective_ == pytest.approx(objective(model.weights_)[0])
    assert model.objective_ > objective(np.full(7, 1 / 7))[0]
    assert (model.weights_ >= 0).all()
    assert model.weights_.sum() == pytest.approx(1)
    assert model.weights_.tobytes() == HillClimb(budget=0.1).fit(X, y, groups=g).weights_.tobytes()
    assert model.predict(X).min() >= 0 and model.predict(X).max() <= 1


@pytest.mark.parametrize(
    ("change", "message"), [({"budget": 30}, "share"), ({"steps": 0}, "steps"), ({"step": 0.0}, "step")]
)
def test_parameters_out_of_range_are_named(change, message):
    X, y, g = planted(cases=3)
    with pytest.raises(ValueError, match=message):
        HillClimb(**change).fit(X, y, groups=g)
