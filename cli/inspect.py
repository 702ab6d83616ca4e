"""``memvalue inspect``: what an exported model says of itself, and whether it can be trusted."""

from __future__ import annotations

from typing import Any

import typer

from memvalue.cli.exits import BAD_INPUT, say, told
from memvalue.cli.options import Debug, Json, Model
from memvalue.cli.output import print_json, print_text


def inspect(model: Model, json: Json = False, debug: Debug = False) -> None:
    """Print MODEL's weights, settings, held-out figures and digests, and re-run its golden rows.

    A file that is no value model is refused; one that cannot be verified is shown, with exit code 2.
    """
    with told(debug):
        from memvalue.serve import ModelError, ValueModel

        loaded = ValueModel.load(model, verify=False)
        problem = None
        try:
            ValueModel.load(model)
        except ModelError as e:
            problem = e.reason
        found = {
            "model": str(model),
            "digest": loaded.digest,
            "verified": problem is None,
            "problem": problem,
        }
        found |= loaded.metadata
        if json:
            print_json(found)
        else:
            print_text("\n".join(_lines(found)))
        if problem is not None:
            say(f"error: {model}: {problem}")
            raise typer.Exit(BAD_INPUT)


def _lines(found: dict[str, Any]) -> list[str]:
    """The metadata for people: weights and figures as tables, bulk left to ``--json``."""
    data, made = found.get("data") or {}, found.get("definition") or {}
    check = "verified" if found["verified"] else "NOT verified"
    lines = [
        f"{found['model']}: {found['kind']} value model ({found['estimator']}), {check}",
        f"  sha256       {found['digest']}",
        f"  created      {found['created']}, commit {found['commit'] or 'unknown'}, seed {found['seed']}",
        f"  fitted on    {data.get('spec', 'unknown')}: {data.get('cases', '?')} cases, "
        f"{data.get('memories', '?')} memories, sha256 {str(data.get('digest', 'unknown'))[:16]}…",
        f"  factors      definition {made.get('name', 'unknown')} (version {found['definition_version']}), "
        f"encoder {made.get('encoder', 'unknown')}, {made.get('regime', 'unknown')}",
        f"  fitted for   {_row(found['budgets'] or [])} of the turns",
        f"  depth edges  {_row(found['tier_edges'])} (by {found['tiers'].get('by')})",
        f"  calibration  {_pairs(found['calibration'])}",
    ]
    lines += ["", f"  {'factor':<20} {'weight':>7}  {'mean':>6}  {'95 %':<16} informed"]
    for name in found["factors"]:
        w = found["weights"][name]
        lines.append(
            f"  {name:<20} {_number(w['weight']):>7}  {_number(w['mean']):>6}  "
            f"{_interval(w['ci']):<16} {'yes' if w['informed'] else 'no: prior'}"
        )
    metrics = found.get("metrics") or {}
    if metrics:
        lines += ["", f"  held-out figures ({metrics.get('of', '')}; {metrics.get('splits', '?')} splits)"]
    for section, cells in metrics.items():
        if isinstance(cells, dict):
            figures = "  ".join(f"{100 * float(b):g} %: {_number(cell[0])}" for b, cell in cells.items())
            lines.append(f"  {section:<18} {figures}")
    return lines


def _row(values: list[float]) -> str:
    return ", ".join(f"{v:.4g}" for v in values) or "unknown"


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in values.items())


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _interval(ci: list[float] | None) -> str:
    return "–" if ci is None else f"[{ci[0]:.3f}, {ci[1]:.3f}]"
