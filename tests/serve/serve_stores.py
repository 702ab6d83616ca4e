"""A model that says how its factors are made, and small stores of memories."""

from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from serve_models import estimator, held_out

from memvalue.features import Definition
from memvalue.serve import ValueModel
from memvalue.serve.memories import StoredMemory
from memvalue.train.export import export_model

START = datetime(2025, 3, 1, 9, tzinfo=UTC)

SAID = (
    ("user", "Hi!"),
    ("assistant", "Hello! How can I help you today?"),
    ("user", "My sister Anna moved to Lisbon last March and I visit her every summer."),
    ("assistant", "That sounds lovely. Would you like tips for Lisbon?"),
    ("user", "Yes, I prefer trains over planes because flying made me ill in 2019."),
    ("assistant", "Here is a list of night trains:\n1. Madrid to Lisbon\n2. Paris to Madrid"),
)


@cache
def content(kind="linear", regime="batch"):
    """The bytes of a model with a definition, a calibration and a reference."""
    X, needed = held_out()
    model = estimator(kind)
    values = model.predict(X, machine=X[:, 0] > 2) if kind == "offset" else model.predict(X)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        export_model(
            model,
            path,
            reference=X,
            calibration=(values, needed),
            definition={**Definition.named("default").as_dict(), "encoder": "none", "regime": regime},
            created=START,
        )
        return path.read_bytes()


@cache
def model(kind="linear", regime="batch"):
    """The same, loaded."""
    return ValueModel.from_bytes(content(kind, regime))


def store(sessions=3):
    """Memories of some conversations a day apart, six turns each."""
    return [
        StoredMemory(
            id=f"s{s}-{i}",
            text=text.replace("Anna", ("Anna", "Maria", "Eva")[s % 3]),
            role=role,
            time=START + timedelta(days=s, minutes=i),
            session=f"talk {s}",
        )
        for s in range(sessions)
        for i, (role, text) in enumerate(SAID)
    ]
