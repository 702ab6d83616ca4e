"""``memvalue history``: which models a business has had, and which one is in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memvalue.cli.exits import told
from memvalue.cli.options import BusinessName, Debug, Json, RegistryUri
from memvalue.cli.output import print_json, print_text

if TYPE_CHECKING:
    from memvalue.train.version import Version


def history(
    business: BusinessName, registry: RegistryUri = None, json: Json = False, debug: Debug = False
) -> None:
    """List the recorded models of BUSINESS, the latest first: decision, gain and its interval, alias."""
    with told(debug):
        from memvalue.serve.model_store import DEFAULT_STORE
        from memvalue.train.registry import Registry

        versions = Registry(registry or DEFAULT_STORE).history(business)
        if json:
            print_json({"business": business, "versions": [v.to_dict() for v in versions]})
        else:
            print_text("\n".join(_lines(business, versions)))


def _lines(business: str, versions: list[Version]) -> list[str]:
    head = f"  {'version':>7}  {'recorded (UTC)':<16}  {'decision':<12} {'gain':>7}  {'interval':<18} "
    lines = [f"{business}: {len(versions)} versions", "", f"{head}{'sha256':<12}  alias"]
    for v in versions:
        low, high = v.ci
        interval = f"[{_signed(low)}, {_signed(high)}]"
        lines.append(
            f"  {v.number:>7}  {v.time:%Y-%m-%d %H:%M}  {v.decision:<12} {_signed(v.gain):>7}  "
            f"{interval:<18} {v.sha256[:12]:<12}  {_marks(v)}".rstrip()
        )
    return lines


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.4f}"


def _marks(version: Version) -> str:
    marks = []
    if version.champion:
        marks.append("champion")
    if version.challenger:
        marks.append("challenger")
    if version.rolled_back and not version.champion:
        marks.append(f"rolled back {version.rolled_back:%Y-%m-%d %H:%M}")
    return ", ".join(marks)
