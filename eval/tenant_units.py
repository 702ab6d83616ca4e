"""The units of work of many businesses: a business's table, a fold, and the settling.

A unit reads files and writes files, each atomically, so that it can run on any machine that sees them, and be
repeated.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from memvalue.eval.base_model import sha256_of
from memvalue.eval.business import Business, Cases, business_cases
from memvalue.eval.recalibrate_job import Start, finish, keep, last_snapshot, settings_of
from memvalue.eval.recalibration import Recalibration
from memvalue.eval.register import champion_file, register
from memvalue.train.recalibrate import FoldResult, Plan, Settings, fit_fold, plan

if TYPE_CHECKING:
    from memvalue.configs.recalibrate_config import RecalibrateConfig

#: Folder beside the models for what is at work; removed when all is done.
WORK = ".memvalue-work"

#: A business of so many memories over all cases, or fewer, is fitted within about half a second: handing out
#: its folds one by one costs more than it saves (5,000 units instead of 1,000 took Dask 60 % longer).
WHOLE_ROWS = 50_000


@dataclass(frozen=True)
class Unit:
    """One piece of work; plain data, it is pickled.

    Parameters
    ----------
    stage
        ``table``, ``fold`` or ``settle``.
    business, config
        Whose, and how.
    models
        Folder of the models in use.
    out
        Folder of the results: the same, but in a dry run.
    key
        What the result depends on; a report with the same key is not made again.
    registry
        MLflow store in which outcomes are recorded; None for none.
    dry_run
        Record nothing there.
    whole_rows
        Memories, over all cases, up to which a business is done in one go.
    fold
        Number of the fold.
    folds
        Their results, for ``settle``.
    """

    stage: Literal["table", "fold", "settle"]
    business: Business
    config: RecalibrateConfig
    models: Path
    out: Path
    key: str | None
    registry: str | None = None
    dry_run: bool = False
    whole_rows: int = WHOLE_ROWS
    fold: int = 0
    folds: tuple[FoldResult, ...] = ()

    @property
    def model(self) -> Path:
        """The business's model."""
        return self.out / f"{self.business.name}.onnx"

    @property
    def report(self) -> Path:
        """The business's report; it is there when the business is done."""
        return self.out / f"{self.business.name}.json"

    @property
    def table(self) -> Path:
        """The business's factor table, while it is worked on."""
        return self.out / WORK / f"{self.business.name}.parquet"

    @property
    def notes(self) -> Path:
        """What was found out when the table was made."""
        return self.table.with_suffix(".json")

    @property
    def current(self) -> Path:
        """The model in use when the table was made: a settling that is repeated compares with the same."""
        return self.table.with_suffix(".onnx")

    @property
    def candidate(self) -> Path:
        """The fitted model; no business's name begins with a dot."""
        return self.table.with_name(f".{self.business.name}.candidate.onnx")


def run_unit(unit: Unit) -> Any:
    """The work of a unit: how many folds the table has, or a fold's result, or the decision."""
    if unit.stage == "table":
        return _begin(unit)
    cases = _read_cases(unit)
    settings = settings_of(unit.config, cases.warnings)
    made = plan(cases.table, held_out=settings.held_out, folds=settings.folds)
    if unit.stage == "fold":
        base = Start.load(unit.config.model, None).base
        return fit_fold(cases.table, made, unit.fold, base.weights, settings)
    return _settle(unit, cases, settings, made, unit.folds)


def _begin(unit: Unit) -> int | str:
    """Lay out the cases. A small business is settled at once; of a large one, the number of its folds."""
    from memvalue.data.factor_file import write_table

    said = _notes(unit)
    if said is not None and unit.table.exists():  # a run that was cut off has done this
        return int(said["folds"])
    base = Start.load(unit.config.model, None).base
    cases = business_cases(unit.business, base.setting(unit.config.cache), unit.config)
    settings = settings_of(unit.config, cases.warnings)
    made = plan(cases.table, held_out=settings.held_out, folds=settings.folds)
    if said is None:
        _note(unit, cases, len(made.folds))
    if cases.table.rows <= unit.whole_rows:
        folds = [fit_fold(cases.table, made, f, base.weights, settings) for f in range(len(made.folds))]
        return _settle(unit, cases, settings, made, folds)
    write_table(cases.table, unit.table)
    return len(made.folds)


def _note(unit: Unit, cases: Cases, folds: int) -> None:
    """Keep the model in use as it is now: a unit that is repeated compares with the same one."""
    from memvalue.data.files import write_atomic
    from memvalue.serve.files import write_file

    in_use, champion = unit.models / unit.model.name, None
    unit.current.unlink(missing_ok=True)
    if unit.registry is not None:
        champion = champion_file(unit.registry, unit.business.name, unit.current)
    if champion is None and in_use.exists():
        write_file(unit.current, in_use.read_bytes())
    said = {
        "key": unit.key,
        "folds": folds,
        "champion": champion is not None,
        "warnings": cases.warnings,
        "notes": cases.notes,
    }
    write_atomic(unit.notes, [json.dumps(said)])  # last: whoever finds it finds the model in use


def _settle(unit: Unit, cases: Cases, settings: Settings, made: Plan, folds: Sequence[FoldResult]) -> str:
    """The outcome, written: first to the registry, then the model, then the report."""
    start = Start.load(unit.config.model, unit.current if unit.current.exists() else None)
    before = last_snapshot(unit.models / unit.report.name)
    fitted = unit.candidate
    result = finish(unit.config, unit.business, start, cases, made, folds, settings, fitted, before)
    if unit.registry is not None and not unit.dry_run:
        # First: a model that cannot be recorded must not go into use.
        known = bool(json.loads(unit.notes.read_text(encoding="utf-8"))["champion"])
        result.version = register(unit.registry, result, start, fitted, known)
    keep(result, start, fitted, unit.model)
    _write_report(unit, result)
    for path in (fitted, unit.notes, unit.table, unit.current):
        path.unlink(missing_ok=True)
    return result.decision


def _notes(unit: Unit) -> dict[str, Any] | None:
    """What was noted when these very data were begun; None when they were not."""
    if unit.key is None:
        return None
    try:
        said = json.loads(unit.notes.read_text(encoding="utf-8"))
        return said if said["key"] == unit.key else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _read_cases(unit: Unit) -> Cases:
    from memvalue.data.factor_file import read_table

    said = json.loads(unit.notes.read_text(encoding="utf-8"))
    return Cases(read_table(unit.table), tuple(said["warnings"]), tuple(said["notes"]))


def _write_report(unit: Unit, result: Recalibration) -> None:
    """The report, after the model: who finds a report finds its model."""
    from memvalue.data.files import write_atomic

    document = result.to_dict() | {"key": unit.key, "model_sha256": sha256_of(unit.model)}
    write_atomic(unit.report, [json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"])


def is_done(unit: Unit) -> bool:
    """The report of these data, base and settings is there, and so is the model that it speaks of.

    Where there is a registry, it has to be recorded there too.
    """
    if unit.key is None:
        return False
    try:
        document = json.loads(unit.report.read_text(encoding="utf-8"))
        if unit.registry is not None and not unit.dry_run and document["version"] is None:
            return False
        return bool(document["key"] == unit.key and document["model_sha256"] == sha256_of(unit.model))
    except (OSError, ValueError, KeyError, TypeError):
        return False
