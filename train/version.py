"""A version of a business's model in the registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion

#: What a version carries in MLflow, each under ``memvalue.`` and its name here.
TAGS = (
    *("business", "decision", "reasons", "gain", "ci_low", "ci_high", "sha256"),
    *("champion_since", "previous_champion", "rolled_back"),
)

CHAMPION = "champion"
CHALLENGER = "challenger"


def tag(name: str) -> str:
    """The full name of one of :data:`TAGS`."""
    assert name in TAGS, name
    return f"memvalue.{name}"


@dataclass(frozen=True, slots=True)
class Version:
    """One recorded model.

    Parameters
    ----------
    business
        Whose.
    number
        From 1 up, counted by the registry.
    time
        When it was recorded, UTC.
    decision
        The gate's: ``promote``, ``keep-current`` or ``keep-base``.
    reasons
        The gate's, in sentences.
    gain, ci
        Retention beyond what was in use, and its bounds (low, high); None where there is no number.
    sha256
        Of the model's file, hex.
    run_id
        The MLflow run with its parameters, figures, tables and plots.
    champion, challenger
        Whether the alias is on this version.
    champion_since
        When it last became champion, None when it never was.
    previous_champion
        The version that was champion before it; what a rollback goes back to.
    rolled_back
        When a rollback last took the champion's place from it.
    """

    business: str
    number: int
    time: datetime
    decision: str
    reasons: tuple[str, ...]
    gain: float | None
    ci: tuple[float | None, float | None]
    sha256: str
    run_id: str | None
    champion: bool
    challenger: bool
    champion_since: datetime | None
    previous_champion: int | None
    rolled_back: datetime | None

    @classmethod
    def of(cls, found: ModelVersion, aliases: Mapping[str, str]) -> Version:
        """From MLflow's entity, and the aliases of its model (alias → version)."""
        tags = {name: found.tags.get(tag(name)) for name in TAGS}
        number = str(found.version)
        return cls(
            business=tags["business"] or found.name,
            number=int(number),
            time=datetime.fromtimestamp(found.creation_timestamp / 1000, UTC),
            decision=tags["decision"] or "unknown",
            reasons=tuple((tags["reasons"] or "").splitlines()),
            gain=_number(tags["gain"]),
            ci=(_number(tags["ci_low"]), _number(tags["ci_high"])),
            sha256=tags["sha256"] or "",
            run_id=found.run_id or None,
            champion=str(aliases.get(CHAMPION)) == number,
            challenger=str(aliases.get(CHALLENGER)) == number,
            champion_since=_moment(tags["champion_since"]),
            previous_champion=int(tags["previous_champion"]) if tags["previous_champion"] else None,
            rolled_back=_moment(tags["rolled_back"]),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data; times as ISO 8601."""
        record = asdict(self)
        for name in ("time", "champion_since", "rolled_back"):
            moment = record[name]
            record[name] = None if moment is None else moment.isoformat(timespec="seconds")
        return record | {"reasons": list(self.reasons), "ci": list(self.ci)}


def _number(text: str | None) -> float | None:
    return float(text) if text else None


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
