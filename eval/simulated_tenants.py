"""Factor tables of simulated businesses; what their logs say goes through the features' own formulas."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memvalue.data.factor_table import FactorTable
from memvalue.data.worlds.tenants import START, Tenant
from memvalue.data.worlds.world import DAY
from memvalue.features.definition import Definition
from memvalue.features.evidence import Evidence
from memvalue.features.names import DEFINITION_VERSION, FACTORS
from memvalue.features.reliability import reliability
from memvalue.features.usage_history import usage_history
from memvalue.features.use_clock import DECAY_PER_HOUR, HARM_KINDS, HARM_PER_HOUR, use_amount

#: What the two formulas read.
_EVIDENCE = (
    "person", "trust", "uses", "harm", "regular_past", "past_tense", "hedges", "refusals", "newlines",
    "code_chars", "ends_with_question", "question_marks",
)  # fmt: skip

_DEFINITION = Definition("simulated", rehearsal=False, novelty=False)


def tenant_table(tenant: Tenant) -> FactorTable:
    """The cases of a simulated business: its pages so far, their factors, and what is asked in the horizon.

    Usage history is the feature's own function of the uses in the log, and reliability that of declared trust
    (``said``) and harm. Uses and harm are those of :func:`~memvalue.features.log_evidence.log_evidence`
    (tested), kept up to date from one consolidation to the next instead of read from the beginning at each.

    Parameters
    ----------
    tenant
        The business.

    Returns
    -------
    FactorTable
        C cases; ``source`` is ``simulated``.
    """
    world = tenant.world
    n = world.pages
    uses, harm, last = np.zeros(n), np.zeros(n), 0.0
    amount, hurt = _amounts(tenant)
    event = 0
    factors, age, used, needed, obsolete, sizes = [], [], [], [], [], []
    for case, now in enumerate(tenant.now.tolist()):
        stop = int(np.searchsorted(tenant.event_time, now, side="right"))
        new = slice(event, stop)
        hours = now - tenant.event_time[new]
        page = tenant.event_page[new]
        uses *= DECAY_PER_HOUR ** (now - last)
        harm *= HARM_PER_HOUR ** (now - last)
        uses += np.bincount(page, amount[new] * DECAY_PER_HOUR**hours, minlength=n)
        harm += np.bincount(page, hurt[new] * HARM_PER_HOUR**hours, minlength=n)
        event, last = stop, now
        there = np.flatnonzero(world.created <= now)
        factors.append(_factors(tenant.pages[there], uses[there], harm[there]))
        age.append((now - world.created[there]) / DAY)
        used.append(uses[there])
        needed.append(tenant.needed(case)[there])
        obsolete.append(world.replaced[there] <= now)
        sizes.append(len(there))
    rows = int(np.sum(sizes))
    seconds = (tenant.now * 3600).round().astype(np.int64).astype("timedelta64[s]")
    stacked = np.concatenate(factors)
    return FactorTable(
        names=FACTORS,
        definition=_DEFINITION.as_dict(),
        definition_version=DEFINITION_VERSION,
        times=START + seconds,
        ends=START + seconds + np.timedelta64(round(tenant.horizon * 3600), "s"),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        factors=stacked,
        informed=np.ptp(stacked, axis=0) > 0,
        machine=np.zeros(rows, dtype=bool),
        tokens=np.full(rows, 20, dtype=np.int64),
        age_days=np.concatenate(age).astype(np.float32),
        uses=np.concatenate(used).astype(np.float32),
        needed=np.concatenate(needed),
        obsolete=np.concatenate(obsolete),
        source="simulated",
    )


def _amounts(tenant: Tenant) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """float64[e] each: how much of a use, and of harm, every event is. The first writing is none."""
    amounts = {kind: use_amount(kind, 1.0, 1.0) for kind in set(tenant.event_kind)}
    amount = np.array([amounts[kind] for kind in tenant.event_kind])
    written = np.array([kind == "written" for kind in tenant.event_kind])
    place = np.flatnonzero(written)
    _, first = np.unique(tenant.event_page[place], return_index=True)
    amount[place[first]] = 0.0
    return amount, np.array([float(kind in HARM_KINDS) for kind in tenant.event_kind])


def _factors(
    pages: NDArray[np.float32], uses: NDArray[np.float64], harm: NDArray[np.float64]
) -> NDArray[np.float32]:
    """float32[n, 7] in [0, 1], in the order of ``FACTORS``."""
    columns = np.zeros((len(pages), len(_EVIDENCE)), dtype=np.float32)
    # A person's plain statement; the half of reliability that is not text is the trust in its source.
    columns[:, _EVIDENCE.index("person")] = 1.0
    columns[:, _EVIDENCE.index("trust")] = pages[:, 5]
    columns[:, _EVIDENCE.index("uses")] = uses
    columns[:, _EVIDENCE.index("harm")] = harm
    seen = Evidence(_EVIDENCE, columns)
    made = [*pages[:, :5].T, reliability(seen, _DEFINITION), usage_history(seen, _DEFINITION)]
    return np.asarray(np.clip(np.column_stack(made), 0.0, 1.0), dtype=np.float32)


def spoiled(table: FactorTable, share: float, rng: np.random.Generator) -> FactorTable:
    """The table with this share of its needed flags moved to other memories of their case, at random.

    What a third of wrong grades does to a log: as many memories look needed, but not the ones that were.
    """
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"share must lie in [0, 1], got {share}")
    needed = table.needed.copy()
    for start, stop in zip(table.offsets[:-1].tolist(), table.offsets[1:].tolist(), strict=True):
        right = np.flatnonzero(table.needed[start:stop])
        wrong = right[rng.random(len(right)) < share]
        others = np.flatnonzero(~table.needed[start:stop])
        taken = rng.choice(others, min(len(wrong), len(others)), replace=False)
        needed[start + wrong[: len(taken)]] = False
        needed[start + taken] = True
    return replace(table, needed=needed)
