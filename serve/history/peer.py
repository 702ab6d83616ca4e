"""Taking over what others know: a peer's state by trust, and a scalar confidence of another system."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from memvalue.serve.history.errors import HistoryError
from memvalue.serve.history.fsrs import MIN_STABILITY
from memvalue.serve.history.memory_state import MemoryState
from memvalue.serve.history.record import MAX_STABILITY_DAYS, Record
from memvalue.serve.history.utility import MIGRATED_WEIGHT


@dataclass(frozen=True, slots=True)
class PeerLimit:
    """How much evidence one source may bring in.

    Parameters
    ----------
    per_memory
        Observations to one memory within the window; as many as a scalar confidence stands for.
    per_source
        Observations to all memories within the window.
    hours
        Length of the window.
    """

    per_memory: float = MIGRATED_WEIGHT
    per_source: float = 1_000.0
    hours: float = 24.0

    def __post_init__(self) -> None:
        for name in ("per_memory", "per_source", "hours"):
            if not 0.0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"PeerLimit.{name} must be finite and 0 or more, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Confidence:
    """A scalar confidence in our terms: counts α and β, and a stability (see :func:`migrate`)."""

    alpha: float
    beta: float
    stability: float


def merge_peer(state: MemoryState, peer: MemoryState, trust: float) -> MemoryState:
    """``state`` with a peer's view of the same memory added.

    α += trust·α_peer, β += trust·β_peer, S = max(S, trust·S_peer) (systems.md section 2), and S no shorter
    than FSRS has it. Importance, harm and both clocks are the owner's own and stay; with no trust all does.

    Raises
    ------
    HistoryError
        For a trust outside [0, 1].
    """
    _check_trust(trust)
    if trust == 0.0:
        return state
    stability = max(trust * peer.stability, MIN_STABILITY)  # NaN where the peer has none
    if not stability > state.stability:  # also where either is NaN
        stability = state.stability if state.stability == state.stability else stability
    return replace(
        state,
        alpha=state.alpha + trust * peer.alpha,
        beta=state.beta + trust * peer.beta,
        stability=stability,
    )


def peer_record(
    memory: str,
    peer: MemoryState,
    *,
    trust: float,
    source: str,
    time: datetime,
    allowance: float = float("inf"),
) -> Record | None:
    """The ``imported`` event that has the effect of :func:`merge_peer`.

    Parameters
    ----------
    memory
        The memory's id in the store that takes it over.
    trust
        In [0, 1].
    source
        Name of the peer; the event's actor.
    time
        When it is taken over.
    allowance
        Observations that the source may still bring in. A peer that wants more is trusted less instead, in
        its evidence and its stability alike.

    Returns
    -------
    Record | None
        None where nothing is left of the trust.
    """
    _check_trust(trust)
    total = peer.alpha + peer.beta
    trust = min(trust, allowance / total)
    if trust <= 0.0:
        return None
    stability = None
    if peer.stability > 0.0:
        stability = min(max(trust * peer.stability, MIN_STABILITY), MAX_STABILITY_DAYS)
    return Record(memory, "imported", time, source, peer.alpha / total, trust * total, stability=stability)


def migrate(confidence: float, decay_rate: float, *, weight: float = MIGRATED_WEIGHT) -> Confidence:
    """What a scalar confidence c with an exponential decay comes to: α = c·κ₀, β = (1 − c)·κ₀, S = 1/rate.

    Parameters
    ----------
    confidence
        c in [0, 1].
    decay_rate
        Share lost a day, above 0; S is then in days. The curve it came from stands at e⁻¹ after S, ours at
        .9: S = 1/rate keeps the memory longer than its old store would have, on purpose; −ln(.9)/rate
        would match the old curve at R = .9.
    weight
        κ₀: observations that it stands for.

    Raises
    ------
    HistoryError
        For a number outside its range.
    """
    if not 0.0 <= confidence <= 1.0:
        raise HistoryError(f"confidence must lie in [0, 1], got {confidence}")
    if not 1.0 / MAX_STABILITY_DAYS <= decay_rate < float("inf"):
        raise HistoryError(
            f"decay_rate must be at least {1.0 / MAX_STABILITY_DAYS:.2g} a day, got {decay_rate}"
        )
    if not 0.0 < weight < float("inf"):
        raise HistoryError(f"weight must be finite and above 0, got {weight}")
    return Confidence(confidence * weight, (1.0 - confidence) * weight, 1.0 / decay_rate)


def migration_record(
    memory: str, confidence: Confidence, *, time: datetime, source: str = "migration"
) -> Record:
    """The ``imported`` event that brings a migrated confidence into a log, on top of the prior."""
    total = confidence.alpha + confidence.beta
    return Record(
        memory, "imported", time, source, confidence.alpha / total, total, stability=confidence.stability
    )


def _check_trust(trust: float) -> None:
    if not 0.0 <= trust <= 1.0:
        raise HistoryError(f"trust must lie in [0, 1], got {trust}")
