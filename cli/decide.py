"""``memvalue decide``: a decision about every memory of a file, from its text."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import Annotated

import typer

from memvalue.cli.exits import told
from memvalue.cli.options import Debug, Json, Model, Now, moment
from memvalue.cli.output import print_json, print_text


def decide(
    model: Model,
    memories: Annotated[
        Path,
        typer.Option("--memories", metavar="FILE.jsonl", help="One memory a line."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="PATH", help="Where the decisions go, one a line.")],
    now: Now = None,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write value, depth, forget risk, forget score, rank score and factors of each memory.

    All memories of the file are one store. Needs the base install only.
    """
    with told(debug):
        from memvalue.data.files import write_atomic
        from memvalue.serve import ValueModel
        from memvalue.serve.memories import read_memories
        from memvalue.serve.text import decide_texts

        loaded = ValueModel.load(model)
        decided = decide_texts(loaded, list(read_memories(memories)), now=moment(now))
        write_atomic(out, (json_.dumps(row, allow_nan=False) + "\n" for row in decided.rows()))
        result = {"out": str(out), "memories": len(decided), "model": loaded.digest}
    if json:
        print_json(result)
    else:
        print_text(f"{len(decided):,} memories → {out}")
