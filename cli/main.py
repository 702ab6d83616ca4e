"""The command ``memvalue``."""

from __future__ import annotations

import typer

from memvalue.cli.audit import audit
from memvalue.cli.data import data_app
from memvalue.cli.decide import decide
from memvalue.cli.encoder import encoder_app
from memvalue.cli.evaluate import evaluate
from memvalue.cli.features import features_app
from memvalue.cli.fit import fit
from memvalue.cli.history import history
from memvalue.cli.inspect import inspect
from memvalue.cli.recalibrate import recalibrate
from memvalue.cli.rollback import rollback
from memvalue.cli.score import score
from memvalue.cli.simulate import simulate
from memvalue.cli.transfer import transfer

app = typer.Typer(
    help=(
        "Learn what an agent's memory is worth keeping.\n\n"
        "Exit codes: 0 done, 1 unexpected, 2 wrong usage, bad input or a missing extra, 130 Ctrl-C."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(fit)
app.command()(evaluate)
app.command()(score)
app.command()(inspect)
app.command()(decide)
app.command()(audit)
app.command()(transfer)
app.command()(simulate)
app.command()(recalibrate)
app.command()(rollback)
app.command()(history)
app.add_typer(encoder_app, name="encoder")
app.add_typer(data_app, name="data")
app.add_typer(features_app, name="features")
