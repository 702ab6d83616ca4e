"""The job behind ``memvalue features export``: a log or a data set in, a table of numbers out."""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from memvalue.data.factor_file import SALT_BYTES, write_table
from memvalue.eval.factor_tables import factor_table
from memvalue.eval.prepare_job import Progress, Setting


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written, and what looked wrong about its source.

    Parameters
    ----------
    path
        The table.
    source
        Where it comes from; without a password.
    cases, memories
        Cases, and memories over all of them.
    needed
        Memories that were needed, over all cases.
    first, last
        Times of the first and the last case, ISO 8601.
    definition
        Name of the factors' definition.
    salt
        ``given``, ``random``, or ``none`` where no ids are written.
    skipped
        Why consolidations or cases were left out: reason → how many.
    warnings
        In sentences.
    digest
        Of the table.
    """

    path: str
    source: str
    cases: int
    memories: int
    needed: int
    first: str
    last: str
    definition: str
    salt: str
    skipped: dict[str, int]
    warnings: tuple[str, ...]
    digest: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"warnings": list(self.warnings)}

    def text(self) -> str:
        """For people."""
        skipped = ", ".join(f"{n} {why}" for why, n in self.skipped.items()) or "none"
        lines = [
            f"{self.source} → {self.path}",
            f"  cases    {self.cases:,} from {self.first} to {self.last}; skipped: {skipped}",
            f"  rows     {self.memories:,} memories, {self.needed:,} of them needed; no text",
            f"  factors  definition {self.definition}; ids {_IDS[self.salt]}",
            f"  sha256   {self.digest}",
        ]
        return "\n".join(lines + [f"  warning: {w}" for w in self.warnings])


_IDS = {
    "none": "left out",
    "given": "salted with the given salt",
    "random": "salted at random: another export has other numbers for the same memories",
}


def features_job(
    out: Path,
    *,
    events: str | None = None,
    memories: str | None = None,
    events_table: str | None = None,
    data: str | None = None,
    model: Path | None = None,
    definition: str | None = None,
    encoder: str | None = None,
    regime: str | None = None,
    every_days: float = 7.0,
    horizon_days: float | None = None,
    salt: str | None = None,
    limit: int | None = None,
    cache: Path | None = None,
    progress: Progress | None = None,
) -> Exported:
    """Write the factor table of a log, or of labelled cases.

    Parameters
    ----------
    out
        The table; appears whole or not at all.
    events, memories, events_table
        As :func:`memvalue.data.logs.read_log` takes them.
    data, limit
        Instead: a spec of labelled cases, and how many of them. They have no ids of a store.
    model
        The factors are made as for this model.
    definition, encoder, regime
        Instead: their names; ``default``, ``none`` and ``batch`` where None.
    every_days, horizon_days
        As :func:`memvalue.data.logs.cases_from_log` takes them.
    salt
        Of the ids; drawn at random where None, or empty.
    cache
        Folder of the evidence cache, or None.
    progress
        Called as ``(done, total, label)``.

    Raises
    ------
    ValueError
        For options that contradict each other, or data that cannot be read.
    """
    if (events is None) == (data is None):
        raise ValueError("give either a log (--events) or labelled cases (--data)")
    if events is None and (memories is not None or events_table is not None):
        raise ValueError("--memories and --table go with --events")
    if events is not None and limit is not None:
        raise ValueError("--limit goes with --data")
    names = (definition, encoder, regime)
    if model is not None and any(name is not None for name in names):
        raise ValueError("a model says how its factors are made; leave out --definition, --encoder, --regime")
    if out.suffix != ".parquet":
        raise ValueError(f"{out}: a factor table is a Parquet file; name it {out.stem}.parquet")
    if model is not None:
        from memvalue.serve import ValueModel

        setting = Setting.of_model(ValueModel.load(model).metadata, cache)
    else:
        setting = Setting.named(definition or "default", encoder or "none", regime or "batch", cache)
    warnings: list[str] = []
    salted = "none"
    if events is not None:
        from memvalue.data.logs import cases_from_log, clean_log, read_log

        log, found = clean_log(read_log(events, memories=memories, table=events_table))
        made = cases_from_log(log, every_days=every_days, horizon_days=horizon_days)
        warnings += [w.message for w in found]
        dataset, salted = made.dataset, "given" if salt else "random"
        key = salt.encode("utf-8", "surrogateescape") if salt else secrets.token_bytes(2 * SALT_BYTES)
        if len(key) < SALT_BYTES:
            warnings.append(
                f"the salt has fewer than {SALT_BYTES} bytes: whoever tries salts out finds the ids"
            )
        table = factor_table(
            dataset, setting, ends=made.ends, ids=made.ids, salt=key, source="log", progress=progress
        )
    else:
        from memvalue.data import load

        assert data is not None
        dataset = load(data, limit=limit)
        table = factor_table(dataset, setting, progress=progress)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_table(table, out)
    return Exported(
        path=str(out),
        source=dataset.spec,
        cases=len(table),
        memories=table.rows,
        needed=int(table.needed.sum()),
        first=f"{table.times[0]}Z",
        last=f"{table.times[-1]}Z",
        definition=str(table.definition["name"]),
        salt=salted,
        skipped=dict(dataset.skipped),
        warnings=tuple(warnings),
        digest=table.digest(),
    )
