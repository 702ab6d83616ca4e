"""The fast way to ask a session about a single memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from memvalue.features.names import FACTORS


class OneMemory:
    """A session with its inputs and outputs bound to fixed buffers of one row.

    Handing arrays over and back costs onnxruntime about 5 µs a call, as much as a third of a graph of 22
    nodes; buffers that stay where they are cost 1. They can serve one caller at a time: a second one is told
    None and asks the session itself.

    Parameters
    ----------
    session
        A session with the outputs of :class:`~memvalue.serve.decision.Decision` or some of them.
    outputs
        Names, in the order in which they are returned.
    log_severity
        The session's own.
    """

    def __init__(
        self, session: ort.InferenceSession, outputs: Sequence[str], *, log_severity: int = 2
    ) -> None:
        binding = session.io_binding()
        inputs: list[tuple[str, NDArray[np.float32]]] = []
        found: list[NDArray[Any]] = []
        # Inputs with a default are told apart from the others.
        for argument in (*session.get_inputs(), *session.get_overridable_initializers()):
            shape = (1, len(FACTORS)) if argument.name == "factors" else (1,)
            buffer = np.zeros(shape, dtype=np.float32)
            inputs.append((argument.name, buffer))
            binding.bind_input(argument.name, "cpu", 0, np.float32, shape, buffer.ctypes.data)
        for name in outputs:
            column = np.zeros(1, dtype=np.int64 if name == "depth" else np.float32)
            found.append(column)
            binding.bind_output(name, "cpu", 0, column.dtype.type, (1,), column.ctypes.data)
        # Whoever takes it out of the list has the buffers: taking is one step, so no two callers have them.
        self._free = [(inputs, _runner(session, binding, log_severity), found)]

    def __call__(self, feeds: Mapping[str, NDArray[np.float32]]) -> list[NDArray[Any]] | None:
        """The outputs, each of one element; None while another thread is asking."""
        free = self._free
        try:
            buffers = free.pop()
        except IndexError:
            return None
        try:
            inputs, run, found = buffers
            for name, buffer in inputs:
                buffer[...] = feeds[name]
            run()
            return [column.copy() for column in found]
        finally:
            free.append(buffers)


def _runner(session: ort.InferenceSession, binding: ort.IOBinding, log_severity: int) -> Callable[[], Any]:
    """Runs the session on the bound buffers.

    Calls what onnxruntime's Python layer calls, with options made once, which spares it 1.2 of 10.4 µs
    (onnxruntime 1.32); the layer itself where a version has that elsewhere.
    """
    options = ort.RunOptions()
    options.log_severity_level = log_severity  # any other than the session's makes it a logger every call
    try:
        direct = partial(session._sess.run_with_iobinding, binding._iobinding, options)
        direct()
    except (AttributeError, TypeError):
        return partial(session.run_with_iobinding, binding)
    return direct
