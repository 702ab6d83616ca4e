"""The job behind ``memvalue recalibrate --tenants``: many businesses, each on its own.

A small business is one unit of work. A large one goes through three kinds: its table is made (``table``),
each fold is fitted (``fold``), and the outcome is settled and written (``settle``).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memvalue.eval.business import Business
from memvalue.eval.engines import Engine, Failed, LocalEngine
from memvalue.eval.prepare_job import Progress
from memvalue.eval.recalibrate_job import Start
from memvalue.eval.tenant_units import WHOLE_ROWS, WORK, Unit, is_done, run_unit
from memvalue.features.names import DEFINITION_VERSION
from memvalue.train.recalibrate import FoldResult

if TYPE_CHECKING:
    from memvalue.configs.recalibrate_config import RecalibrateConfig

#: File in the working folder that a run holds locked.
_LOCK = "lock"


@dataclass
class TenantsSummary:
    """What came of all businesses.

    Parameters
    ----------
    decisions
        Business → decision, of those settled in this run.
    skipped
        Businesses whose data, base and settings are those of a finished report.
    failed
        Business → reason, one line.
    seconds
        Of the run.
    workers, engine
        What it ran on.
    """

    decisions: dict[str, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    workers: int = 1
    engine: str = "local"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "businesses": len(self.decisions) + len(self.skipped) + len(self.failed),
            "counts": dict(sorted(Counter(self.decisions.values()).items())),
            "decisions": dict(sorted(self.decisions.items())),
            "skipped": sorted(self.skipped),
            "failed": dict(sorted(self.failed.items())),
            "seconds": round(self.seconds, 3),
            "workers": self.workers,
            "engine": self.engine,
        }

    def to_json(self) -> str:
        """The stable JSON document."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    def text(self) -> str:
        """For people."""
        counts = Counter(self.decisions.values())
        lines = [
            f"{len(self.decisions)} businesses in {self.seconds:.1f} s on {self.workers} workers "
            f"({self.engine}): "
            + (", ".join(f"{n} {d}" for d, n in sorted(counts.items())) or "nothing to do")
        ]
        if self.skipped:
            lines.append(f"{len(self.skipped)} unchanged since their last report, skipped")
        lines += [f"failed: {name}: {reason}" for name, reason in sorted(self.failed.items())]
        return "\n".join(lines)


def tenants_job(
    config: RecalibrateConfig,
    businesses: Iterable[Business],
    out: Path,
    *,
    dry_run: bool = False,
    registry: str | None = None,
    whole_rows: int = WHOLE_ROWS,
    engine: Engine | None = None,
    engine_name: str = "local",
    progress: Progress | None = None,
) -> TenantsSummary:
    """Recalibrate every business; each gets ``NAME.onnx`` and ``NAME.json`` in ``out``.

    A rerun skips what is done: a business whose report carries the same key (its data's bytes, the base and
    the settings) and whose model is the one that the report speaks of. A database has no such key and is
    always read again.

    Parameters
    ----------
    config
        All settings.
    businesses
        Where their data are.
    out
        Folder of the results; also where each business's model in use is looked for.
    dry_run
        Write neither models nor reports, and nothing to the registry.
    registry
        MLflow store in which outcomes are recorded; its champions are the models in use. Workers must reach
        it; a store in an SQLite file takes one at a time.
    whole_rows
        A business of so many memories over all cases, or fewer, is one unit; a larger one a unit a fold.
    engine
        Where units run; this process when None.
    engine_name
        For the summary.
    progress
        Called as ``(done, total, label)``.

    Raises
    ------
    ValueError
        When the base cannot be used or ``out`` cannot be written. What is wrong with one business is in the
        summary.
    """
    from memvalue.serve.model_store import absolute

    begun = time.monotonic()
    base = Start.load(config.model, None).base
    chosen = engine or LocalEngine(1)
    # Workers may have another working folder than this process.
    cache = None if config.cache is None else config.cache.absolute()
    config = config.model_copy(update={"model": config.model.absolute(), "cache": cache})
    every = [business.absolute() for business in businesses]
    registry = None if registry is None else absolute(registry)
    run = _Run(config, base.sha256, out.absolute(), dry_run, registry, whole_rows, len(every), progress)
    run.summary.workers, run.summary.engine = chosen.workers, engine_name
    run.open()
    try:
        chosen.run(run_unit, run.first(every), run.done)
    finally:
        run.close()
    run.summary.seconds = time.monotonic() - begun
    return run.summary


class _Run:
    """Keeps count of one run: which units come next, and what came of each business."""

    def __init__(
        self,
        config: RecalibrateConfig,
        base: str,
        out: Path,
        dry_run: bool,
        registry: str | None,
        whole_rows: int,
        total: int,
        progress: Progress | None,
    ) -> None:
        self.summary = TenantsSummary()
        self._config, self._base, self._models, self._total = config, base, out, total
        self._out = out / WORK / "dry" if dry_run else out
        self._progress = progress
        self._dry_run, self._registry, self._whole_rows = dry_run, registry, whole_rows
        self._folds: dict[str, list[FoldResult]] = {}
        self._awaited: dict[str, int] = {}
        self._made = False
        self._lock: int | None = None

    def open(self) -> None:
        """Make the folders, and keep other runs out of them."""
        self._made = not self._models.exists()
        try:
            (self._out / WORK).mkdir(parents=True, exist_ok=True)
            self._lock = _locked(self._models / WORK / _LOCK)
        except BlockingIOError:
            raise ValueError(
                f"--out {self._models}: another run is at work there; let it end, or name another folder"
            ) from None
        except OSError as error:
            raise ValueError(
                f"--out {self._models}: {error.strerror}; name a folder for the results"
            ) from None

    def close(self) -> None:
        """Remove the working folder, unless the run was cut off: the next one takes up what is there."""
        s, work = self.summary, self._models / WORK
        if self._out != self._models:  # what a run that was cut off has left stays
            shutil.rmtree(self._out, ignore_errors=True)
            with contextlib.suppress(OSError):
                if {p.name for p in work.iterdir()} == {_LOCK}:
                    shutil.rmtree(work)
            if self._made:
                self._models.rmdir()
        elif len(s.decisions) + len(s.skipped) + len(s.failed) == self._total:
            shutil.rmtree(work, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)

    def first(self, businesses: Iterable[Business]) -> Iterator[Unit]:
        """The first unit of every business that is not done."""
        for business in businesses:
            try:
                content = business.fingerprint()
            except OSError as error:
                self._failed(business.name, f"{error.filename}: {error.strerror}")
                continue
            key = (
                None
                if content is None
                else f"{content}:{self._base}:{self._config.digest()}:{DEFINITION_VERSION}"
            )
            unit = Unit(
                "table",
                business,
                self._config,
                self._models,
                self._out,
                key,
                self._registry,
                self._dry_run,
                self._whole_rows,
            )
            try:
                business.check_apart(unit.model, self._config.model)
            except ValueError as error:
                self._failed(business.name, str(error))
                continue
            if is_done(unit):
                self.summary.skipped.append(business.name)
                self._tell(business.name)
                continue
            yield unit

    def done(self, unit: Unit, outcome: Any) -> list[Unit]:
        """What comes after a unit."""
        name = unit.business.name
        if name in self.summary.failed:  # another fold of it has failed already
            return []
        if isinstance(outcome, Failed):
            self._failed(name, outcome.reason)
            return []
        if unit.stage == "table" and isinstance(outcome, int):
            self._awaited[name], self._folds[name] = outcome, []
            folds = [replace(unit, stage="fold", fold=f) for f in range(outcome)]
            return folds or [replace(unit, stage="settle")]
        if unit.stage == "fold":
            self._folds[name].append(outcome)
            if len(self._folds[name]) < self._awaited[name]:
                return []
            return [replace(unit, stage="settle", folds=tuple(self._folds.pop(name)))]
        self.summary.decisions[name] = outcome
        self._tell(name)
        return []

    def _failed(self, name: str, reason: str) -> None:
        self.summary.failed[name] = reason
        self._tell(name)

    def _tell(self, name: str) -> None:
        if self._progress is not None:
            s = self.summary
            self._progress(len(s.decisions) + len(s.failed) + len(s.skipped), self._total, name)


def _locked(path: Path) -> int | None:
    """A handle on the file, locked until it is closed or this process ends, however it ends.

    None where the system has no such locks.

    Raises
    ------
    BlockingIOError
        When another process holds it.
    OSError
        When the file cannot be made.
    """
    try:
        import fcntl
    except ImportError:  # Windows: runs are not kept apart
        return None
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise
    except OSError:  # a file system without locks
        return handle
    if not path.exists() or not os.path.samestat(os.fstat(handle), os.stat(path)):
        os.close(handle)  # another run ended just now, and took the folder away
        raise BlockingIOError
    return handle
