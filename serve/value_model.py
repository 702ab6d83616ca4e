"""The runtime's value model: one ONNX file, loaded once, asked in microseconds."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import onnxruntime as ort
from numpy.typing import ArrayLike, NDArray

from memvalue.features.names import DEFINITION_VERSION, FACTORS
from memvalue.serve.decision import DEPTHS, Decision
from memvalue.serve.errors import ModelError, RefusedFile
from memvalue.serve.files import read_file
from memvalue.serve.one_memory import OneMemory
from memvalue.serve.signature import SIGNATURE_BYTES, SUFFIX, check_signature
from memvalue.serve.specialise import inputs_of, specialise
from memvalue.serve.verify import INPUTS, MAX_BYTES, OUTPUTS, inspect_model

if TYPE_CHECKING:
    from memvalue.serve.explain import Explanation

#: How far a golden row may be off: float32 rounding between processors, with room; a changed weight moves
#: more.
GOLDEN_RELATIVE = 1e-5
GOLDEN_ABSOLUTE = 1e-5

#: onnxruntime logs fatal errors alone: the others come as exceptions.
LOG_SEVERITY = 4

_VALUE = ("value",)
_SCALAR = (bool, int, float)
FLOAT32_MAX = float(np.finfo(np.float32).max)

#: Ends of the optional inputs' ranges for the check at loading; where there is no highest, far beyond what a
#: store holds (a million days, uses or times the usual relevance).
MOST_RELEVANT = 1e6
_ENDS: dict[str, tuple[float, float]] = {
    "age_days": (0.0, 1e6),
    "uses": (0.0, 1e6),
    "relevance": (0.0, MOST_RELEVANT),
    "use_strength": (-1.0, 1.0),
    "harm": (0.0, 1.0),
    "machine": (0.0, 1.0),
}

#: Lowest and highest value that an optional input may have, and what it means.
_RANGES: dict[str, tuple[float, float, str]] = {
    "age_days": (0.0, np.inf, "days since it was said, 0 or more"),
    "uses": (0.0, np.inf, "deliberate uses, 0 or more"),
    "relevance": (0.0, np.inf, "relevance to the query, 0 or more"),
    "use_strength": (-1.0, 1.0, "recent use from -1 (faded) through 0 (unknown) to 1 (fresh)"),
    "harm": (0.0, 1.0, "recent harm from 0 to 1"),
    "machine": (0.0, 1.0, "1 for a turn of the assistant, a tool or the system"),
}

#: Lowest and highest answer. A ranking score is at most a twentieth above the relevance, with room for
#: rounding.
_ANSWERS: dict[str, tuple[float, float]] = {
    "value": (0.0, 1.0),
    "depth": (0, len(DEPTHS) - 1),
    "forget_risk": (0.0, 1.0),
    "forget_score": (0.0, FLOAT32_MAX),
    "rank_score": (0.0, 1.06 * MOST_RELEVANT),
}


class ValueModel:
    """A loaded value model. Make one with :meth:`load`; it may be shared between threads.

    Attributes
    ----------
    factors
        Names of the seven factors, in the order of the columns.
    digest
        SHA-256 of the file's content.
    """

    factors: tuple[str, ...] = FACTORS

    def __init__(
        self, session: ort.InferenceSession, metadata: dict[str, Any], digest: str, content: bytes
    ) -> None:
        self._session = session
        self._metadata = metadata
        self._content = content
        # Parts of the model, by what is asked for and what is given. Two threads that miss the same one
        # both make it, and either may stay.
        self._values: dict[tuple[str, ...], _Part] = {}
        self._decisions: dict[tuple[str, ...], _Part] = {}
        self.digest = digest

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        verify: bool = True,
        public_key: bytes | str | None = None,
        signature: str | os.PathLike[str] | None = None,
        follow_links: bool = False,
    ) -> ValueModel:
        """Read, check and load a model file.

        Parameters
        ----------
        path
            A file written by ``memvalue fit`` or ``train.export``; or, where MLflow is installed, a
            registered model: ``models:/NAME@champion`` or ``models:/NAME/VERSION``.
        verify
            Require the content digest, this package's factor definitions and the golden rows. Without, only
            the structure is checked: for looking at a model, not for deciding with it.
        public_key
            Ed25519 key, 32 raw bytes or PEM: refuse a file that its holder did not sign (extra
            ``signature``).
        signature
            The detached signature's file; default ``path`` with ``.sig`` appended. Needs ``public_key``.
        follow_links
            Accept a symbolic link to a model file.

        Raises
        ------
        ModelError
            With the reason, when the file is missing, is not a sound value model or is not signed.
        ValueError
            For a ``public_key`` that is none, or a ``signature`` without one.
        """
        name = os.fsdecode(path)
        if signature is not None and public_key is None:
            raise ValueError("a signature can only be checked with a key; pass public_key as well")
        try:
            if name.startswith("models:/"):
                from memvalue.serve.registry_uri import read_registered

                data = read_registered(name)
            else:
                data = read_file(name, MAX_BYTES, follow_links=follow_links)
            if public_key is not None:
                mark = name + SUFFIX if signature is None else os.fsdecode(signature)
                check_signature(data, _signature(mark, follow_links), public_key)
            return cls.from_bytes(data, verify=verify)
        except RefusedFile as error:
            raise ModelError(error.reason, name) from error.__cause__

    @classmethod
    def from_bytes(cls, data: bytes, *, verify: bool = True) -> ValueModel:
        """As :meth:`load`, from the content of a file."""
        file = inspect_model(data, digest=verify)
        version = file.metadata["definition_version"]
        if verify and version != DEFINITION_VERSION:
            raise ModelError(
                f"the model was fitted on factor definitions {version!r}, this package computes "
                f"{DEFINITION_VERSION!r}; fit it anew or install the matching memvalue"
            )
        try:
            session = _session(data)
        except Exception as error:  # onnxruntime's exceptions share no base class but Exception
            raise ModelError(f"onnxruntime cannot load it: {_first_line(error)}") from None
        model = cls(session, file.metadata, file.digest, data)
        if verify:
            model._check_golden()
            model._check_ranges()
        return model

    @property
    def metadata(self) -> dict[str, Any]:
        """A copy of what the file says about itself: data, fit, calibration, metrics, golden rows."""
        return copy.deepcopy(self._metadata)

    @property
    def definition(self) -> dict[str, Any]:
        """How the factors were made that it was fitted on: the definition's switches, encoder and regime."""
        return dict(self._metadata.get("definition") or {})

    @property
    def reference_mean(self) -> NDArray[np.float32]:
        """float32[7]: mean factors of the memories it was exported with; 0.5 each where the file has none."""
        found = self._metadata.get("reference_mean") or [0.5] * len(FACTORS)
        return np.array(found, dtype=np.float32)

    @property
    def density_exponent(self) -> float:
        """γ ≥ 0: within a token budget memories are ranked by value / tokens^γ."""
        return float(self._metadata.get("density_exponent", 0.0))

    @property
    def tier_edges(self) -> tuple[float, float, float]:
        """The three edges between the depths, rising."""
        a, b, c = self._metadata["tier_edges"]
        return float(a), float(b), float(c)

    @property
    def kind(self) -> str:
        """``linear`` or ``mlp``."""
        return str(self._metadata["kind"])

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each factor; empty for a network, which has none."""
        found = {name: self._metadata["weights"][name].get("weight") for name in FACTORS}
        return {name: float(weight) for name, weight in found.items() if weight is not None}

    def value(self, factors: ArrayLike, *, machine: ArrayLike | None = None) -> NDArray[np.float32]:
        """float32[n] in [0, 1]: what each memory is worth keeping.

        Parameters
        ----------
        factors
            float[n, 7] in [0, 1], or float[7] for one memory, in the order of :attr:`factors`.
        machine
            bool[n]; matters only to a model with a role offset.

        Raises
        ------
        ValueError
            For another shape, NaN, or a factor outside [0, 1].
        """
        table = _table(factors)
        feeds = {"factors": table}
        if machine is not None:
            feeds["machine"] = _column("machine", machine, len(table))
        found: NDArray[np.float32] = self._run(self._values, _VALUE, feeds)[0]
        return found

    def decide(
        self,
        factors: ArrayLike,
        *,
        age_days: ArrayLike | None = None,
        uses: ArrayLike | None = None,
        relevance: ArrayLike | None = None,
        use_strength: ArrayLike | None = None,
        harm: ArrayLike | None = None,
        machine: ArrayLike | None = None,
    ) -> Decision:
        """All decisions about n memories.

        Every input but ``factors`` is optional; each is n numbers, or one for all. What is left out is
        neutral: passing the neutral number gives the same bits.

        Parameters
        ----------
        factors
            As in :meth:`value`.
        age_days
            Days since it was said, ≥ 0 (neutral 1).
        uses
            Deliberate uses, ≥ 0 (neutral 0). Being retrieved is not a use.
        relevance
            Relevance to the query, ≥ 0 (neutral 1); what ``rank_score`` multiplies.
        use_strength
            Recency of use in [−1, 1] (neutral 0); moves ``rank_score`` by at most ±5 %.
        harm
            Recent harm in [0, 1] (neutral 0); moves ``rank_score`` down, to −9 % at 1.
        machine
            The turn is not a person's (neutral 0); matters only to a model with a role offset.

        Raises
        ------
        ValueError
            For a wrong length, NaN, or a number outside its range.
        """
        table = _table(factors)
        feeds = {"factors": table}
        n = len(table)
        # One by one: a loop over a table of names would cost a lone memory a microsecond.
        if age_days is not None:
            feeds["age_days"] = _column("age_days", age_days, n)
        if uses is not None:
            feeds["uses"] = _column("uses", uses, n)
        if relevance is not None:
            feeds["relevance"] = _column("relevance", relevance, n)
        if use_strength is not None:
            feeds["use_strength"] = _column("use_strength", use_strength, n)
        if harm is not None:
            feeds["harm"] = _column("harm", harm, n)
        if machine is not None:
            feeds["machine"] = _column("machine", machine, n)
        return Decision(*self._run(self._decisions, OUTPUTS, feeds))

    def explain(self, factors: ArrayLike, **question: Any) -> Explanation:
        """Why one memory has its value: :func:`memvalue.serve.explain` with this model."""
        from memvalue.serve.explain import explain

        return explain(self, factors, **question)

    def _run(
        self,
        parts: dict[tuple[str, ...], _Part],
        outputs: tuple[str, ...],
        feeds: dict[str, NDArray[np.float32]],
    ) -> list[Any]:
        """These outputs, by the part of the graph that they need."""
        part = parts.get(tuple(feeds))
        if part is None:
            part = parts[tuple(feeds)] = self._part(outputs, feeds)
        if len(feeds["factors"]) == 1:
            alone = part.alone(feeds)
            if alone is not None:
                return alone
        if len(part.inputs) < len(feeds):
            feeds = {name: column for name, column in feeds.items() if name in part.inputs}
        found: list[Any] = part.session.run(part.outputs, feeds)
        return found

    def _part(self, outputs: tuple[str, ...], given: Iterable[str]) -> _Part:
        content = specialise(self._content, outputs, tuple(given))
        try:
            session = _session(content)
        except Exception as error:  # as in from_bytes
            raise ModelError(f"onnxruntime cannot load a part of it: {_first_line(error)}") from None
        alone = OneMemory(session, outputs, log_severity=LOG_SEVERITY)
        return _Part(session, list(outputs), inputs_of(content), alone)

    def __repr__(self) -> str:
        return f"ValueModel({self.kind}, digest={self.digest[:12]})"

    def _check_golden(self) -> None:
        golden = self._metadata["golden"]
        edges = np.array(self._metadata["tier_edges"])
        feeds = {name: np.array(golden["inputs"][name], dtype=np.float32) for name in INPUTS}
        try:
            found = dict(zip(OUTPUTS, self._session.run(list(OUTPUTS), feeds), strict=True))
        except Exception as error:  # as above: a graph that loads may still fail on its shapes
            raise ModelError(f"the golden rows cannot be run: {_first_line(error)}") from None
        for name in OUTPUTS:
            want = np.array(golden["outputs"][name], dtype=np.float64)
            got = np.asarray(found[name], dtype=np.float64)
            if got.shape != want.shape:
                raise ModelError(f"output {name!r} has shape {got.shape} on {len(want)} golden rows")
            off = ~np.isclose(got, want, rtol=GOLDEN_RELATIVE, atol=GOLDEN_ABSOLUTE)
            if name == "depth":
                # A value on an edge may fall to either side of it.
                value = np.array(golden["outputs"]["value"])
                off &= np.abs(value[:, None] - edges).min(axis=1) > GOLDEN_ABSOLUTE
            if off.any():
                row = int(off.argmax())
                raise ModelError(
                    f"golden row {row} is not reproduced: {name} is {got[row]:.7g}, "
                    f"the file says {want[row]:.7g}"
                )

    def _check_ranges(self) -> None:
        """The corners of what may be asked, which golden rows may lie far from: answers stay in range."""
        feeds = _corners()
        try:
            found = dict(zip(OUTPUTS, self._session.run(list(OUTPUTS), feeds), strict=True))
        except Exception as error:  # as above
            raise ModelError(f"it cannot be asked about extreme inputs: {_first_line(error)}") from None
        for name, (low, high) in _ANSWERS.items():
            off = ~((found[name] >= low) & (found[name] <= high))  # true for NaN as well
            if off.any():
                row = int(off.argmax())
                given = ", ".join(f"{key} {feeds[key][row].tolist()}" for key in feeds)
                raise ModelError(
                    f"{name} is {found[name][row]:.7g} where it must lie in [{low:g}, {high:g}]: for {given}"
                )


class _Part(NamedTuple):
    session: ort.InferenceSession
    outputs: list[str]
    inputs: frozenset[str]
    alone: OneMemory


def _corners() -> dict[str, NDArray[np.float32]]:
    """Every corner of the factors, each with four corners of the optional inputs in turn; 512 rows."""
    row = np.arange(1 << (len(FACTORS) + 2))
    factors = (row[:, None] >> np.arange(len(FACTORS))) & 1
    # Odd strides through the corners: the four that a row of factors meets differ from row to row.
    corner = (row * 37 + (row >> len(FACTORS)) * 17) & 63
    feeds = {"factors": factors.astype(np.float32)}
    for bit, (name, ends) in enumerate(_ENDS.items()):
        feeds[name] = np.array(ends, dtype=np.float32)[(corner >> bit) & 1]
    return feeds


def _session(content: bytes) -> ort.InferenceSession:
    """A session on one thread that prints nothing."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = LOG_SEVERITY
    # The arena keeps what the largest batch took, and costs a lone memory .4 µs.
    options.enable_cpu_mem_arena = False
    # The fallback would retry on the same provider and print to stdout.
    return ort.InferenceSession(content, options, providers=["CPUExecutionProvider"], enable_fallback=0)


def _signature(name: str, follow_links: bool) -> bytes:
    try:
        return read_file(name, SIGNATURE_BYTES, what="a signature", follow_links=follow_links)
    except RefusedFile as error:
        raise ModelError(f"its signature {name} cannot be used: {error.reason}") from None


def _table(factors: ArrayLike) -> NDArray[np.float32]:
    """float32[n, 7], contiguous, in [0, 1]."""
    try:
        table = np.asarray(factors, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"factors must be numbers in a [n, {len(FACTORS)}] table") from None
    if table.ndim == 1:
        table = table[None, :]
    if table.ndim != 2 or table.shape[1] != len(FACTORS):
        raise ValueError(
            f"factors must be [n, {len(FACTORS)}] in the order {', '.join(FACTORS)}; "
            f"got shape {np.shape(factors)}"
        )
    # Comparisons that are false for NaN as well. For one memory Python's are faster than numpy's.
    if len(table) == 1:
        ((a, b, c, d, e, f, g),) = table.tolist()
        if (
            0.0 <= a <= 1.0
            and 0.0 <= b <= 1.0
            and 0.0 <= c <= 1.0
            and 0.0 <= d <= 1.0
            and 0.0 <= e <= 1.0
            and 0.0 <= f <= 1.0
            and 0.0 <= g <= 1.0
        ):
            return table
        fits = False
    else:
        fits = not table.size or bool(table.min() >= 0.0 and table.max() <= 1.0)
    if not fits:
        row, column = np.argwhere(~((table >= 0.0) & (table <= 1.0)))[0]
        raise ValueError(
            f"factors[{row}, {column}] ({FACTORS[column]}) is {table[row, column]}; a factor lies in [0, 1]"
        )
    return np.ascontiguousarray(table)


def _column(name: str, values: ArrayLike, n: int) -> NDArray[np.float32]:
    """float32[n] within the input's range; one number stands for all."""
    low, high, meaning = _RANGES[name]
    if isinstance(values, _SCALAR):  # the graph spreads one number over all rows
        if not (low <= values <= high and values <= FLOAT32_MAX):
            raise ValueError(f"{name} is {values}; it is {meaning}")
        return np.array([values], dtype=np.float32)
    try:
        column = np.asarray(values, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be numbers: {meaning}") from None
    if column.ndim == 0:
        column = np.full(n, column, dtype=np.float32)
    if column.shape != (n,):
        raise ValueError(f"{name} must be one number or {n}, one a memory; got shape {column.shape}")
    if n == 1:  # as for the factors, and false for NaN
        fits = low <= column.item() <= min(high, FLOAT32_MAX)
    else:
        fits = not n or bool(np.isfinite(column).all() and column.min() >= low and column.max() <= high)
    if not fits:
        row = int(np.argmin(np.isfinite(column) & (column >= low) & (column <= high)))
        raise ValueError(f"{name}[{row}] is {column[row]}; it is {meaning}")
    return np.ascontiguousarray(column)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
