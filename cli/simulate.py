"""``memvalue simulate``: policies replayed on simulated businesses."""

from __future__ import annotations

from typing import Annotated

import typer

from memvalue.cli.exits import told
from memvalue.cli.options import Debug, Json, names
from memvalue.cli.output import print_text
from memvalue.cli.progress import ProgressBar


def simulate(
    world: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="bursty, scheduled, both, or a scenario: steady, principles, projects, drift, silence "
            "[default: bursty].",
        ),
    ] = None,
    policies: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Policies in the table [default: all].")
    ] = None,
    seeds: Annotated[int | None, typer.Option(help="Worlds drawn [default: 20].")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the first [default: 0].")] = None,
    pages: Annotated[
        int | None, typer.Option(help="Pages of a world [default: 200, a scenario 120].")
    ] = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Replay two years of a business: what do use and correction teach each policy?"""
    with told(debug), ProgressBar() as bar:
        from memvalue.configs import read_config
        from memvalue.configs.simulate_config import SimulateConfig
        from memvalue.eval.simulate_job import simulate_job

        given = {"world": world, "policies": names(policies), "seeds": seeds, "seed": seed, "pages": pages}
        report = simulate_job(read_config(SimulateConfig, None, given), bar)
    print_text((report.to_json() if json else report.text()).rstrip("\n"))
