"""Whatever part of the graph a call needs, and however it is asked, the bits are the whole graph's."""

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from serve_models import content, held_out

from memvalue.serve import ValueModel
from memvalue.serve.one_memory import OneMemory
from memvalue.serve.specialise import inputs_of, specialise
from memvalue.serve.verify import INPUTS, OPTIONAL_INPUTS, OUTPUTS

KINDS = ["linear", "offset", "mlp"]


def session(data):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def feeds(n, seed=0):
    rng = np.random.default_rng(seed)
    columns = {
        "factors": rng.random((n, 7)),
        "age_days": rng.random(n) * 99,
        "uses": rng.integers(0, 5, n),
        "relevance": rng.random(n),
        "use_strength": rng.random(n) * 2 - 1,
        "harm": rng.random(n),
        "machine": rng.random(n) < 0.5,
    }
    return {name: column.astype(np.float32) for name, column in columns.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_every_part_gives_the_wholes_bits(kind):
    data, given = content(kind), feeds(40)
    whole = session(data)
    optional = list(OPTIONAL_INPUTS)
    for size in (0, 1, 2, 6):
        for names in combinations(optional, size):
            asked = {"factors": given["factors"], **{n: given[n] for n in names}}
            want = whole.run(list(OUTPUTS), asked)
            part = specialise(data, OUTPUTS, tuple(asked))
            known = {n: c for n, c in asked.items() if n in inputs_of(part)}
            for name, column, expected in zip(OUTPUTS, session(part).run(None, known), want, strict=True):
                np.testing.assert_array_equal(column, expected, err_msg=f"{name} given {names}")


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_is_a_sound_and_smaller_model(kind):
    data = content(kind)
    part = specialise(data, ("value",), ("factors",))
    made, whole = onnx.load_from_string(part), onnx.load_from_string(data)
    onnx.checker.check_model(made, full_check=True)
    assert [o.name for o in made.graph.output] == ["value"]
    assert [i.name for i in made.graph.input] == ["factors"]
    assert len(made.graph.node) < len(whole.graph.node) / 2 + 8
    assert not made.metadata_props
    assert inputs_of(data) == frozenset(INPUTS)


@pytest.mark.parametrize("kind", KINDS)
def test_fixed_buffers_give_the_same_bits_call_after_call(kind):
    data, given = content(kind), feeds(30)
    whole = session(data)
    alone = OneMemory(whole, OUTPUTS)
    kept = []
    for i in range(30):
        row = {name: column[i : i + 1] for name, column in given.items()}
        kept.append((alone(row), whole.run(list(OUTPUTS), row)))
    for found, want in kept:  # compared at the end: no call may overwrite what an earlier one returned
        for a, b in zip(found, want, strict=True):
            assert a.shape == (1,) and a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


def test_threads_that_share_a_model_do_not_mix_their_memories():
    model = ValueModel.from_bytes(content())
    X, _ = held_out()
    want = model.value(X)

    def ask(i):
        return all(model.value(X[i])[0] == want[i] for _ in range(40))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(64)))


class Public:
    """A session of which only onnxruntime's documented methods are there."""

    def __init__(self, session):
        self.get_inputs = session.get_inputs
        self.get_overridable_initializers = session.get_overridable_initializers
        self.io_binding = session.io_binding
        self.run_with_iobinding = session.run_with_iobinding


@pytest.mark.parametrize("kind", KINDS)
def test_a_runtime_laid_out_otherwise_is_asked_as_documented(kind):
    whole, given = session(content(kind)), feeds(8)
    direct, public = OneMemory(whole, OUTPUTS, log_severity=4), OneMemory(Public(whole), OUTPUTS)
    for i in range(8):
        row = {name: column[i : i + 1] for name, column in given.items()}
        for a, b in zip(direct(row), public(row), strict=True):
            assert a.tobytes() == b.tobytes()


def test_buffers_that_are_taken_are_not_shared_and_come_back_after_an_error():
    alone = OneMemory(session(content()), OUTPUTS)
    row = {name: column[:1] for name, column in feeds(1).items()}
    want = alone(row)
    taken = alone._free.pop()
    assert alone(row) is None
    alone._free.append(taken)
    with pytest.raises(KeyError):
        alone({"factors": row["factors"]})
    for a, b in zip(alone(row), want, strict=True):
        assert a.tobytes() == b.tobytes()
