"""One business: where its data are, and the table of its cases."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memvalue.data.errors import DataError, NoCases
from memvalue.data.factor_table import FactorTable
from memvalue.eval.prepare_job import Progress, Setting
from memvalue.features.names import DEFINITION_VERSION, FACTORS

if TYPE_CHECKING:
    from memvalue.configs.recalibrate_config import RecalibrateConfig

#: Bytes hashed at a time.
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Business:
    """Where a business's data are.

    Parameters
    ----------
    name
        What it is called in reports and in the registry.
    events
        An event log (file or database URI), or a factor table; see ``data/FORMATS.md``.
    memories
        Texts of the memories, where the log has none.
    transcript
        Instead of ``events``: what was said, without labels.
    table
        Table of the events in a database; ``events`` (or ``memvalue_events``) where None.
    """

    name: str
    events: str | None = None
    memories: str | None = None
    transcript: str | None = None
    table: str | None = None

    def __post_init__(self) -> None:
        if (self.events is None) == (self.transcript is None):
            raise ValueError(
                f"business {self.name!r} needs either events (--events) or a transcript (--transcript)"
            )
        if self.memories is not None and self.events is None:
            raise ValueError(f"business {self.name!r}: memories go with events; a transcript has its texts")
        if self.table is not None and self.events is None:
            raise ValueError(f"business {self.name!r}: a table (--table) is one of events in a database")

    def fingerprint(self) -> str | None:
        """SHA-256 of the files' contents; None for a database, whose state no file shows."""
        whole = hashlib.sha256()
        for source in (self.events, self.memories, self.transcript):
            whole.update(b"-" if source is None else b"+")
            if source is None:
                continue
            if "://" in source or not Path(source).is_file():
                return None
            # What an SQLite log took in last stands beside it, in its journal, until its writer closes.
            for part in (source, f"{source}-wal"):
                if not Path(part).is_file():
                    continue
                with open(part, "rb") as file:
                    while chunk := file.read(_CHUNK):
                        whole.update(chunk)
        return whole.hexdigest()

    def check_apart(self, out: Path, model: Path) -> None:
        """Refuse a model at ``out``, and the report beside it, in the place of what they are made from.

        Raises
        ------
        ValueError
            When either is the base, or a file of this business's data.
        """
        for source in (str(model), self.events, self.memories, self.transcript):
            for path in (out, out.with_suffix(".json")):
                if source is not None and _same_file(source, path):
                    raise ValueError(
                        f"{path} would be written over, but is what {out} is made from; name another --out"
                    )

    def absolute(self) -> Business:
        """The same with absolute paths: a worker's working folder may be another."""
        where = {key: _absolute(getattr(self, key)) for key in ("events", "memories", "transcript")}
        return replace(self, **where)


@dataclass(frozen=True, slots=True)
class Cases:
    """A business's cases, what looked wrong about its data, and what else a reader should know."""

    table: FactorTable
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def business_cases(
    business: Business, setting: Setting, config: RecalibrateConfig, progress: Progress | None = None
) -> Cases:
    """Read, clean and lay out what a business has.

    Parameters
    ----------
    business
        Where its data are.
    setting
        How factors are made: the base model's.
    config
        Consolidation times and horizon.

    Raises
    ------
    DataError
        For data that cannot be read, or a factor table of another definition than the model's.
    """
    try:
        if business.transcript is not None:
            return _from_transcript(business.transcript, setting, config, progress)
        assert business.events is not None
        if business.events.endswith(".parquet"):
            from memvalue.data.factor_file import is_table, read_table

            if is_table(business.events):
                return Cases(_checked(read_table(business.events), setting, business.events))
        return _from_log(business, setting, config, progress)
    except NoCases as reason:  # a young business keeps what it has
        source = "log" if business.transcript is None else "transcript"
        return Cases(_no_cases(setting, source), notes=(str(reason),))


def _same_file(one: str, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):  # not there, or no path
        return False


def _absolute(source: str | None) -> str | None:
    """The absolute path of a file; addresses and tables of databases as they are."""
    if source is None or "://" in source or not os.path.exists(source):
        return source
    return os.path.abspath(source)


def _from_log(
    business: Business, setting: Setting, config: RecalibrateConfig, progress: Progress | None
) -> Cases:
    from memvalue.data.logs import cases_from_log, clean_log, read_log
    from memvalue.eval.factor_tables import factor_table

    assert business.events is not None
    log, warnings = clean_log(read_log(business.events, memories=business.memories, table=business.table))
    made = cases_from_log(log, every_days=config.every_days, horizon_days=config.horizon_days)
    table = factor_table(made.dataset, setting, ends=made.ends, source="log", progress=progress)
    return Cases(table, tuple(w.message for w in warnings))


def _from_transcript(
    path: str, setting: Setting, config: RecalibrateConfig, progress: Progress | None
) -> Cases:
    from memvalue.data.transcript import read_transcript
    from memvalue.eval.factor_tables import factor_table
    from memvalue.train.self_labels import HORIZON_DAYS, self_labelled_cases

    horizon = HORIZON_DAYS if config.horizon_days is None else config.horizon_days
    made = self_labelled_cases(
        read_transcript(path), every_days=config.every_days, horizon_days=horizon, name=Path(path).stem
    )
    table = factor_table(made.dataset, setting, ends=made.ends, source="transcript", progress=progress)
    return Cases(table, notes=("labels are guessed from reuse in the transcript (train/SELF_LABELS.md)",))


def _no_cases(setting: Setting, source: str) -> FactorTable:
    """The table of a business of which nothing is known yet."""
    times, width = np.empty(0, "datetime64[s]"), len(FACTORS)
    return FactorTable(
        names=FACTORS,
        definition=dict(setting.described),
        definition_version=DEFINITION_VERSION,
        times=times,
        ends=times,
        offsets=np.zeros(1, np.int64),
        factors=np.empty((0, width), np.float32),
        informed=np.zeros(width, dtype=bool),
        machine=np.empty(0, dtype=bool),
        tokens=np.empty(0, np.int64),
        age_days=np.empty(0, np.float32),
        uses=np.empty(0, np.float32),
        needed=np.empty(0, dtype=bool),
        obsolete=np.empty(0, dtype=bool),
        source=source,
    )


def _checked(table: FactorTable, setting: Setting, where: str) -> FactorTable:
    """``table`` when its factors are those that the model reads."""
    if table.definition_version != DEFINITION_VERSION:
        raise DataError(
            f"{where} holds factors of version {table.definition_version}, this package's are of version "
            f"{DEFINITION_VERSION}; export them again"
        )
    differing = sorted(
        key
        for key in {*table.definition, *setting.described}
        if key != "name" and table.definition.get(key) != setting.described.get(key)
    )
    if differing:
        raise DataError(
            f"{where} holds factors of another definition than the model's ({', '.join(differing)} differ); "
            "export them with `memvalue features export --model MODEL`"
        )
    return replace(table, definition=dict(setting.described))
