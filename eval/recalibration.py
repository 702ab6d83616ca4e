"""What a recalibration says: the decision, the evidence for it, and what looked wrong."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Recalibration:
    """The outcome for one business.

    Parameters
    ----------
    business
        Its name.
    decision
        ``keep-base``, ``keep-current`` or ``promote``.
    evidence
        ``cases_fit``, ``cases_held_out``, ``gain`` (mean retention over what was in use before), ``ci`` and
        what else the gate says.
    weights
        Factor → weight of the accepted model.
    base_weights, candidate_weights
        Those that it started from, and those that were fitted.
    reasons
        Why, in sentences.
    warnings
        What looked wrong about the data.
    drift
        What has changed since the last run; empty for the first.
    snapshot
        What the next run is compared with.
    data
        Digest and size of the table, and where its labels come from.
    model
        The accepted model's file, None in a dry run.
    version
        In the registry, None without one.
    """

    business: str
    decision: str
    evidence: dict[str, Any]
    weights: dict[str, float]
    base_weights: dict[str, float]
    candidate_weights: dict[str, float]
    reasons: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    drift: dict[str, Any] = field(default_factory=dict)
    snapshot: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    model: str | None = None
    version: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values; a number that is not finite is None."""
        found: dict[str, Any] = _plain(asdict(self))
        return found

    def to_json(self) -> str:
        """The stable JSON document."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def text(self) -> str:
        """For people."""
        e = self.evidence
        lines = [f"{self.business}: {self.decision}"]
        lines += [f"  {reason}" for reason in self.reasons]
        low, high = e["ci"]
        lines.append(
            f"  cases    {e['cases_fit']} to fit on, {e['cases_held_out']} later ones held out "
            f"(labels from {self.data.get('source', 'cases')})"
        )
        if e["gain"] is not None and e["cases_held_out"]:
            lines.append(f"  gain     {_signed(e['gain'])} of retention [{_signed(low)}, {_signed(high)}]")
        width = max(map(len, self.weights))
        lines += ["", f"  {'factor':<{width}}{'base':>8}{'fitted':>8}{'accepted':>10}"]
        lines += [
            f"  {name:<{width}}{self.base_weights[name]:>8.3f}"
            f"{self.candidate_weights.get(name, math.nan):>8.3f}{weight:>10.3f}"
            for name, weight in self.weights.items()
        ]
        if self.drift.get("changed"):
            lines += ["", "  since the last run", *(f"    {said}" for said in self.drift["changed"])]
        if self.warnings:
            lines += ["", *(f"  warning: {w}" for w in self.warnings)]
        if self.model is not None:
            lines += ["", f"  model    {self.model}" + (f" (version {self.version})" if self.version else "")]
        return "\n".join(lines)


def _signed(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:+.4f}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
