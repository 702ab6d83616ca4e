"""The job behind ``--controls``: how much of a figure is owed to the benchmark rather than to the value."""

from __future__ import annotations

import copy
import hashlib
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from memvalue.data.errors import DataError
from memvalue.data.splits import Split, purged, shared_session_overlap
from memvalue.eval.bench import Bench
from memvalue.eval.learned import FactorModel
from memvalue.eval.mixed_rehearsal import SIMILARITY, MixedRehearsal
from memvalue.eval.policy import FixedScores, Inapplicable, Policy
from memvalue.eval.prepare_job import Progress, Setting, labelled, schedule
from memvalue.eval.protocol import run_protocol
from memvalue.eval.report import Report
from memvalue.eval.some_cases import SomeCases
from memvalue.features import Evidence, combine
from memvalue.features.names import FACTORS

if TYPE_CHECKING:
    from memvalue.data.dataset import Dataset
    from memvalue.features.encoder import Encoder

#: Shares of turns at which controls are shown: the headlines, and those at which style takes over.
CONTROL_BUDGETS: tuple[float, ...] = (0.05, 0.1, 0.2, 0.3)

#: Splits at most. Half the paper's: some twenty policies are refitted in each, and comparisons are paired.
CONTROL_SPLITS = 10

#: Training cases of the learning curve; the short ones stand in where a half has no more than twenty.
CURVE, SHORT_CURVE = (10, 20, 50, 100), (2, 5)

#: Persons' turns up to which the sentence encoder is run unasked: MiniLM takes 41 of LongMemEval's a second.
FEW_TEXTS = 1_500

#: Evidence columns that only tell an aside from the rest: "by the way" marks half of LongMemEval's evidence.
ASIDES: tuple[str, ...] = ("by_the_way", "asides")

#: Row that every control is compared with: the linear model of the same definition, fitted on each half.
BASE = "linear"


def controls_job(
    bench: Bench,
    dataset: Dataset,
    setting: Setting,
    *,
    model: NDArray[np.floating] | None = None,
    splits: int = CONTROL_SPLITS,
    kind: str = "paper",
    seed: int = 0,
    budgets: Sequence[float] = CONTROL_BUDGETS,
    encoders: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Every control that the data allow; a section that they do not says why in its notes.

    All rows but ``model`` are refitted on the training half and judged on the test half of the same splits.

    Parameters
    ----------
    bench, dataset
        The same cases, laid out and as loaded.
    setting
        How the bench's factors were made.
    model
        float[N]: values by a model that exists, shown as the row ``model``.
    splits
        At most :data:`CONTROL_SPLITS` are used.
    kind
        ``paper`` or ``grouped``.
    seed
        Of the fits, the draws and the bootstrap.
    budgets
        Shares of turns.
    encoders
        Which are tried for rehearsal; None for ``static`` and, on few texts, ``minilm``.
    progress
        Called as ``(done, total, label)``.

    Returns
    -------
    dict
        ``splits, kind, budgets, reference, sections``; a section is ``{"title", "rows", "facts", "notes"}``,
        a row ``{"turns", "source_controlled", "difference"}``. The first two map a budget to ``{"mean",
        "std", "ci"}``, the last to ``{"mean", "ci"}``: the row minus the reference, paired over cases. A part
        that the data cannot fill is ``{}``.
    """
    few = min(splits, CONTROL_SPLITS)
    plan = schedule(dataset, kind, few)
    run = _Run(bench, plan, kind, budgets, seed, progress)
    rows = _rivals(seed, budgets)
    source = [rows[n] for n in _SOURCE]
    if model is not None:
        source.insert(0, FixedScores("model", model))
    variants, used = _variants(bench, setting, rows[BASE])
    dropped = [rows[f"linear_without_{name}"] for name in FACTORS]
    curve = _curve(rows[BASE], plan, seed)
    overlap, overlap_facts, overlap_notes = _overlap(rows[BASE], bench, dataset, plan, seed)
    policies = [rows[BASE], *source, *variants, rows[_NETWORK], *dropped, *curve, *overlap]
    report = run(policies, "controls")
    sections = {
        "source": _section(
            report,
            "What the source gives away (probe and style-only policy are never told what was needed)",
            [p.name for p in source] + [BASE],
            _aucs(bench, plan, source),
            [] if _sourced(bench) else ["no source labels in this data: no probe, nothing source-controlled"],
        ),
        "artefacts": _section(
            report,
            "Without what depends on how a benchmark was put together",
            [*(p.name for p in variants), _NETWORK],
            {"definition": setting.described, "asides_used": used},
            _aside_notes(bench, setting, used),
        ),
        "drop_one": _section(
            report, "Each factor left out, the others refitted", [BASE, *(p.name for p in dropped)]
        ),
        "learning_curve": _section(
            report,
            "Learning curve: cases drawn from each training half, tested on the whole other half",
            [p.name for p in curve] + [BASE],
            {"all": int(np.mean([len(train) for train, _ in plan]))},
            [f"{BASE} uses all {int(np.mean([len(t) for t, _ in plan]))} cases of the half"],
        ),
        "encoders": _encoders(run, bench, setting, rows[BASE], encoders),
        "overlap": _section(
            report, "Sessions that test cases share with training cases", [BASE, *(p.name for p in overlap)],
            overlap_facts, overlap_notes,
        ),
    }  # fmt: skip
    _grouped(run, dataset, rows[BASE], few, kind, sections["overlap"])
    return {
        "splits": len(plan),
        "kind": kind,
        "budgets": [f"{b:g}" for b in budgets],
        "reference": BASE,
        "sections": sections,
    }


#: Rows of the first section: rules for comparison, the suspects, and the fit that cannot gain by the source.
_SOURCE = (
    "random", "user_length", "user_first_person", "source_probe", "style_only", "linear_source_controlled",
)  # fmt: skip

#: What a network makes of the factors when nothing about the benchmark's construction is left in them.
_NETWORK = "mlp_artefact_free"


class _Run:
    """The protocol with the settings that all sections share."""

    def __init__(
        self,
        bench: Bench,
        plan: list[Split],
        kind: str,
        budgets: Sequence[float],
        seed: int,
        progress: Progress | None,
    ) -> None:
        self.bench, self.plan, self.kind, self.budgets = bench, plan, kind, budgets
        self.seed, self.progress = seed, progress

    def __call__(
        self,
        policies: Sequence[Policy],
        label: str,
        bench: Bench | None = None,
        plan: list[Split] | None = None,
    ) -> Report:
        return run_protocol(
            self.bench if bench is None else bench,
            policies,
            splits=self.plan if plan is None else plan,
            kind=self.kind,
            budgets=self.budgets,
            token_budgets=(),
            seed=self.seed,
            main=BASE,
            progress=labelled(self.progress, label),
        )


def _rivals(seed: int, budgets: Sequence[float]) -> dict[str, Policy]:
    from memvalue.eval.roster import roster

    names = (BASE, *_SOURCE, _NETWORK, *(f"linear_without_{name}" for name in FACTORS))
    return {p.name: p for p in roster(names, seed=seed, budgets=budgets)}


def _section(
    report: Report,
    title: str,
    names: Sequence[str],
    facts: dict[str, Any] | None = None,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """Some rows of a report, with their differences from the reference."""
    gaps: dict[str, dict[str, Any]] = {}
    for row in report.comparisons:
        if row["measure"] == "turns":
            low, high = row["ci"]
            gaps.setdefault(row["policy"], {})[row["budget"]] = {
                "mean": 0.0 - row["difference"],
                "ci": [0.0 - high, 0.0 - low],
            }
    refused = [note for note in report.notes if any(note.startswith(f"{name} left out:") for name in names)]
    return {
        "title": title,
        "rows": {
            name: {
                "turns": report.policies[name]["turns"],
                "source_controlled": report.policies[name]["source_controlled"],
                "difference": gaps.get(name, {}),
            }
            for name in dict.fromkeys(names)
            if name in report.policies
        },
        "facts": dict(facts or {}),
        "notes": [*notes, *refused],
    }


def _sourced(bench: Bench) -> bool:
    from memvalue.eval.measures import SIMULATED

    return bench.source is not None and bool((bench.source == SIMULATED).any())


def _aucs(bench: Bench, plan: list[Split], policies: Sequence[Policy]) -> dict[str, Any]:
    """How well each probe tells the source among held-out persons' turns, on the first split."""
    from memvalue.eval.probe import SourceProbe

    train, test = (bench.take(half) for half in plan[0])
    found = {}
    for probe in policies:
        if isinstance(probe, SourceProbe):
            try:
                fitted = probe.fit(train)
            except Inapplicable:  # the section's notes repeat why
                continue
            assert isinstance(fitted, SourceProbe)
            found[probe.name] = fitted.auc(test)
    return {"source_auc": found} if found else {}


def _variants(bench: Bench, setting: Setting, base: Policy) -> tuple[list[Policy], dict[str, bool]]:
    """The linear model under each choice of position and rehearsal, and which aside columns matter at all."""
    assert isinstance(base, FactorModel)
    if not bench.evidence_names:
        return [], {}
    evidence = Evidence(bench.evidence_names, bench.evidence)
    used = {}
    for name in ASIDES:
        blank = bench.evidence.copy()
        blank[:, bench.evidence_names.index(name)] = 0.0
        without = combine(Evidence(bench.evidence_names, blank), setting.definition)
        used[name] = not np.array_equal(without, combine(evidence, setting.definition))
    made: list[Policy] = []
    for position in (True, False):
        for rehearsal in (True, False):
            on = [n for n, there in (("position", position), ("rehearsal", rehearsal)) if there]
            name = f"linear with {' and '.join(on)}" if on else "linear with neither"
            definition = replace(setting.definition, position=position, rehearsal=rehearsal)
            made.append(_renamed(base, name, definition=definition))
    return made, used


def _renamed(base: FactorModel, name: str, **changes: Any) -> FactorModel:
    made = copy.copy(base)
    made.name = name
    for key, value in changes.items():
        setattr(made, key, value)
    return made


def _aside_notes(bench: Bench, setting: Setting, used: dict[str, bool]) -> list[str]:
    if not used:
        return ["this data brings its factors ready-made: no variant can be computed"]
    switches = ", ".join(
        f"{name} {'on' if getattr(setting.definition, name) else 'off'}" for name in ("position", "rehearsal")
    )
    notes = [f"the model's definition {setting.definition.name!r} has {switches}"]
    idle = [name for name, matters in used.items() if not matters]
    if idle:
        share = {name: float((bench.column(name)[bench.needed] > 0).mean()) for name in idle}
        found = ", ".join(f"{name} (in {100 * s:.0f} % of the needed turns)" for name, s in share.items())
        notes.append(f"no factor reads {found}: zeroing the column leaves every factor as it is, bit for bit")
    notes += [f"{name} is read by a factor of this definition" for name, matters in used.items() if matters]
    return notes


def _curve(base: Policy, plan: list[Split], seed: int) -> list[Policy]:
    least = min(len(train) for train, _ in plan)
    sizes = [n for n in (*(SHORT_CURVE if least <= 20 else ()), *CURVE) if n < least]

    def draw(cases: int) -> Callable[[Bench], NDArray[np.int64]]:
        def choose(train: Bench) -> NDArray[np.int64]:
            # Another half is another draw.
            half = zlib.crc32("\n".join(train.case_ids).encode("utf-8", "surrogatepass"))
            rng = np.random.default_rng([seed, cases, half])
            return np.sort(rng.choice(train.cases, cases, replace=False))

        return choose

    return [SomeCases(f"linear from {n} cases", base, draw(n)) for n in sizes]


def _overlap(
    base: Policy, bench: Bench, dataset: Dataset, plan: list[Split], seed: int
) -> tuple[list[Policy], dict[str, Any], list[str]]:
    """Rows trained without the cases that hold a needed session of the test half, and on as few at random."""
    facts: dict[str, Any] = dict(shared_session_overlap(dataset, plan))
    try:
        freed = purged(dataset, plan)
    except DataError as problem:
        return [], facts, [f"no purged training: {problem}"]
    sizes = [len(train) for train, _ in freed]
    if sizes == [len(train) for train, _ in plan]:
        return (
            [],
            facts,
            ["no training case holds a needed session of a test case: there is nothing to purge"],
        )
    facts["purged_training_cases"] = float(np.mean(sizes))
    places = {
        tuple(bench.case_ids[i] for i in train): np.flatnonzero(np.isin(train, kept))
        for (train, _), (kept, _) in zip(plan, freed, strict=True)
    }

    def kept(train: Bench) -> NDArray[np.int64]:
        return places[train.case_ids]

    def as_many(train: Bench) -> NDArray[np.int64]:
        chosen = places[train.case_ids]
        rng = np.random.default_rng([seed, len(chosen), *chosen.tolist()])
        return np.sort(rng.choice(train.cases, len(chosen), replace=False))

    made: list[Policy] = [
        SomeCases("linear, purged training", base, kept),
        SomeCases("linear, as few at random", base, as_many),
    ]
    return made, facts, []


def _grouped(
    run: _Run, dataset: Dataset, base: Policy, splits: int, kind: str, section: dict[str, Any]
) -> None:
    """Add the row of the other kind of split; it has other test halves, so no paired difference."""
    other = "grouped" if kind == "paper" else "paper"
    try:
        plan = schedule(dataset, other, splits)
    except DataError as problem:
        section["notes"].append(f"no {other} splits: {problem}")
        return
    if all(np.array_equal(ours[0], theirs[0]) for ours, theirs in zip(run.plan, plan, strict=True)):
        section["notes"].append(
            "no needed session is shared, so the paper's splits and grouped ones are the same"
        )
        return
    record = run([base], "overlap", plan=plan).policies.get(BASE)
    if record is not None:
        section["rows"][f"linear, {other} splits"] = {
            "turns": record["turns"],
            "source_controlled": record["source_controlled"],
            "difference": {},
        }
        section["facts"][f"{other}_splits"] = shared_session_overlap(dataset, plan)


def _encoders(
    run: _Run, bench: Bench, setting: Setting, base: Policy, encoders: Sequence[str] | None
) -> dict[str, Any]:
    """What an encoder changes: nothing in the definition, and what it would in rehearsal."""
    from memvalue.features.encoder import load_encoder

    assert isinstance(base, FactorModel)
    section: dict[str, Any] = {
        "title": f"Encoders: an experiment with {SIMILARITY:g} of similarity in rehearsal",
        "rows": {},
        "facts": {},
        "notes": [],
    }
    if not bench.evidence_names:
        section["notes"].append("this data brings its factors ready-made: no encoder is asked")
        return section
    asked = list(encoders) if encoders is not None else ["static"]
    if encoders is None:
        texts = len({text for text, person in zip(bench.texts, bench.person, strict=True) if person})
        if texts <= FEW_TEXTS:
            asked.append("minilm")
        else:
            section["notes"].append(
                f"minilm is not run unasked on {texts:,} turns; ask for it with --encoders static,minilm"
            )
    section["notes"].insert(
        0,
        "the definition asks an encoder only for declared goals and a declared profile, and an evaluation "
        "has none; the rows mix similarity into rehearsal, which no shipped definition does",
    )
    changed = 0.0
    for name in (n for n in asked if n != "none"):
        try:
            near = _persons_similarity(bench, setting, load_encoder(name), run.progress, name)
        except ValueError as problem:
            section["notes"].append(f"{name} left out: {problem}")
            continue
        columns = bench.evidence.copy()
        columns[:, bench.evidence_names.index("similarity")] = near
        moved = combine(Evidence(bench.evidence_names, columns), setting.definition) - bench.factors
        changed = max(changed, float(np.abs(moved).max()))
        mixed = MixedRehearsal(f"linear with {name} similarity", base.make)
        report = run([base, mixed], f"encoder {name}", replace(bench, evidence=columns))
        found = _section(report, "", [BASE, mixed.name])
        section["rows"] |= found["rows"]
        section["notes"] += found["notes"]
        section["facts"]["largest_change_of_a_factor"] = changed
    if section["rows"]:
        section["notes"].append(
            f"given the similarities, the factors of the definition itself change by at most {changed:.2g}"
        )
    return section


def _persons_similarity(
    bench: Bench, setting: Setting, encoder: Encoder | None, progress: Progress | None, name: str
) -> NDArray[np.float32]:
    """float32[N]; evidence ``similarity`` of the persons' turns, 0 for others, which nothing here reads.

    Only what persons said is encoded: on LongMemEval half of the turns and a seventh of the words.
    """
    from memvalue.features.cache import code_digest
    from memvalue.features.similarity import rehearsal_similarity
    from memvalue.features.unit_rows import unit_rows

    assert encoder is not None
    code = code_digest("memvalue.features.similarity", "memvalue.features.unit_rows")
    tell = labelled(progress, f"encoder {name}")
    out = np.zeros(len(bench), dtype=np.float32)
    for c, view in enumerate(bench.consolidations):
        said = np.flatnonzero(view.person)
        text = f"{view.digest()}|persons' similarity|{encoder.name}|{setting.regime}|{code}"
        key = hashlib.sha256(text.encode()).hexdigest()
        stored = None if setting.cache is None else (setting.cache.get(key) or {}).get("similarity")
        if stored is None or stored.shape != said.shape:
            unit = unit_rows(encoder.encode([view.texts[i] for i in said]), "embeddings")
            online = setting.regime == "online"
            stored = rehearsal_similarity(unit, view.sessions[said], np.ones(len(said), bool), online=online)
            if setting.cache is not None:
                setting.cache.put(key, {"similarity": stored})
        out[bench.offsets[c] + said] = stored
        if tell is not None:
            tell(c + 1, bench.cases)
    return out
