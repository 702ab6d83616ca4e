"""The policies of the default table, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from memvalue.eval.bench import Bench
from memvalue.eval.learned import FactorModel, UniformStandardised
from memvalue.eval.paper import BUDGET, STEPS, PaperFactors, paper_policies
from memvalue.eval.policy import Policy
from memvalue.eval.probe import SourceProbe
from memvalue.eval.published.policies import OTHERS, REPLAY_ROWS, ROWS, published_policies
from memvalue.eval.rules import RULES
from memvalue.eval.trees import Trees
from memvalue.features.definition import DEFINITIONS, Definition
from memvalue.features.names import FACTORS

if TYPE_CHECKING:
    from memvalue.features.cache import EvidenceCache
    from memvalue.features.encoder import Encoder

#: Shares of memories that learners fit for, averaged. Fitting at 30 % alone loses four points at 10 %
#: (factors.md, "Did not help").
FIT_BUDGETS: tuple[float, ...] = (0.05, 0.1, 0.2, 0.3)

#: Rows of the paper's own table, in its order; they need an encoder.
PAPER: tuple[str, ...] = (
    "paper",
    "paper_uniform",
    "paper_only_emotional_intensity",
    "paper_only_goal_relevance",
    "paper_only_self_relevance",
    "paper_only_reliability",
    "paper_recency",
    "paper_oracle",
    "paper_oracle_uniform",
    "paper_oracle_goal",
)

#: The default table from top to bottom: rules, single factors, learners, the published model, what to be
#: suspicious of, ceilings (issue 2, part 5).
DEFAULT: tuple[str, ...] = (
    "random",
    "recency",
    "user_oldest",
    "length",
    "role",
    "user_length",
    "user_first_person",
    "user_numbers_capitals",
    *(f"only_{name}" for name in FACTORS),
    "uniform",
    "uniform_standardised",
    "linear",
    "linear_role",
    "linear_density",
    "linear_role_density",
    "linear_source_controlled",
    "linear_artefact_free",
    "pairwise",
    "mlp",
    "hill_climb",
    "paper",
    "paper_uniform",
    "source_probe",
    "style_only",
    "trees",
    "trees_context",
    "oracle",
    "oracle_linear",
)

#: What a good figure may owe to the benchmark: style alone, the place in a session, what recurs across
#: sessions, and each factor left out in turn (issue 3, part 4).
CONTROLS: tuple[str, ...] = (
    "source_probe",
    "style_only",
    "linear",
    "linear_default",
    "linear_longmemeval",
    "linear_artefact_free",
    "mlp_artefact_free",
    *(f"linear_without_{name}" for name in FACTORS),
)

#: Names that stand for several rows.
GROUPS: dict[str, tuple[str, ...]] = {
    "default": DEFAULT,
    "paper_table": PAPER,
    "rules": tuple(name for name, rule in RULES.items() if rule.regime == "blind"),
    "single_factors": tuple(f"only_{name}" for name in FACTORS),
    "learners": ("linear", "linear_role", "pairwise", "mlp", "hill_climb"),
    "controls": CONTROLS,
    "published": (*OTHERS, *ROWS),
    "published_replay": (*OTHERS, *REPLAY_ROWS),
    "quick": ("random", "recency", "user_length", "user_first_person", "uniform", "linear"),
}


def roster(
    names: str | Sequence[str] = "default",
    *,
    bench: Bench | None = None,
    encoder: Encoder | None = None,
    cache: EvidenceCache | None = None,
    seed: int = 0,
    budgets: Sequence[float] = FIT_BUDGETS,
    progress: Callable[[int, int], None] | None = None,
) -> list[Policy]:
    """Policies by name, for :func:`memvalue.eval.run_protocol`.

    Parameters
    ----------
    names
        A row, a group of :data:`GROUPS`, several separated by commas, or a list of these. Repeats are
        dropped.
    bench, encoder, cache, progress
        What the paper's rows need: all cases that will be scored, the encoder of their texts, where their
        embeddings are kept, and a call ``progress(done, total)`` a case. Without bench or encoder a *group*
        leaves these rows out.
    seed
        Of every learner.
    budgets
        Shares of memories that ``linear`` is fitted for. The published hill climb keeps its own 30 %.

    Returns
    -------
    list[Policy]
        In the order asked for. A policy that meets data it cannot read raises ``Inapplicable`` when it is
        fitted or scored, and the protocol then notes why it is missing.

    Raises
    ------
    ValueError
        For an unknown name, or a row of the paper's asked for by name without bench and encoder.
    """
    asked = [part.strip() for part in names.split(",")] if isinstance(names, str) else list(names)
    able = bench is not None and encoder is not None
    chosen: dict[str, None] = {}
    for name in asked:
        if name in GROUPS:
            chosen |= {row: None for row in GROUPS[name] if able or row not in PAPER}
        elif name not in known_policies():
            raise ValueError(
                f"no policy called {name!r}; rows: {', '.join(known_policies())}; groups: {', '.join(GROUPS)}"
            )
        elif name in PAPER and not able:
            raise ValueError(
                f"{name!r} measures similarity between turns: pass bench and an encoder, "
                "e.g. roster(..., bench=bench, encoder=load_encoder('static'))"
            )
        else:
            chosen[name] = None
    if not chosen:
        raise ValueError(
            f"no policy is left of {', '.join(asked) or 'an empty list'}; the paper's rows need an encoder"
        )
    built = _learners(seed, tuple(budgets))
    built |= RULES
    built |= {p.name: p for replay in (False, True) for p in published_policies(replay=replay)}
    if any(name in PAPER for name in chosen):
        assert bench is not None and encoder is not None  # checked above, for each name
        table = PaperFactors(bench, encoder, cache, progress)
        built |= {p.name: p for p in paper_policies(table, _climb(seed))}
    return [built[name] for name in chosen]


def known_policies() -> tuple[str, ...]:
    """Every row name that :func:`roster` knows."""
    return (*dict.fromkeys((*DEFAULT, *CONTROLS, *PAPER, *ROWS, *REPLAY_ROWS)),)


def _learners(seed: int, budgets: tuple[float, ...]) -> dict[str, Policy]:
    def linear(train: Bench) -> Any:
        from memvalue.train.linear import LinearValueModel

        return LinearValueModel(budgets, informed=train.informed, random_state=seed)

    def plain(train: Bench) -> Any:
        # What another definition or a dropped factor leaves to inform is found by the fit itself.
        from memvalue.train.linear import LinearValueModel

        del train
        return LinearValueModel(budgets, random_state=seed)

    def with_role(train: Bench) -> Any:
        from memvalue.train.linear import LinearValueModel

        return LinearValueModel(budgets, informed=train.informed, role_offset=True, random_state=seed)

    def pairwise(train: Bench) -> Any:
        from memvalue.train.pairwise import PairwiseLogistic

        return PairwiseLogistic(informed=train.informed, random_state=seed)

    def mlp(train: Bench) -> Any:
        from memvalue.train.mlp import MLPValueModel

        del train
        return MLPValueModel(random_state=seed)

    policies: list[Policy] = [
        UniformStandardised(),
        FactorModel("linear", linear),
        FactorModel("linear_role", with_role, role_offset=True),
        FactorModel("linear_density", linear, density=True),
        FactorModel("linear_role_density", with_role, role_offset=True, density=True),
        FactorModel("linear_source_controlled", linear, source_controlled=True),
        *(
            FactorModel(f"linear_{name.replace('-', '_')}", plain, definition=definition)
            for name, definition in DEFINITIONS.items()
        ),
        *(FactorModel(f"linear_without_{name}", plain, drop=name) for name in FACTORS),
        FactorModel("pairwise", pairwise),
        FactorModel("mlp", mlp),
        FactorModel("mlp_artefact_free", mlp, definition=Definition.named("artefact-free")),
        FactorModel("hill_climb", _climb(seed)),
        FactorModel("oracle_linear", linear, regime="oracle"),
        SourceProbe("source_probe", seed=seed),
        SourceProbe("style_only", reads="style", seed=seed),
        Trees("trees", seed=seed),
        Trees("trees_context", context=True, seed=seed),
    ]
    return {p.name: p for p in policies}


def _climb(seed: int) -> Callable[[Bench], Any]:
    def make(train: Bench) -> Any:
        from memvalue.train.hillclimb import HillClimb

        del train
        return HillClimb(budget=BUDGET, steps=STEPS, random_state=seed)

    return make
