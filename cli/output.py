"""What goes to stdout: one JSON document, or plain text."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memvalue.eval.report import Report


def print_json(document: Any) -> None:
    """``document`` as JSON, indented, keys in their given order; numbers that are not finite are refused.

    Raises
    ------
    ValueError
        When a number is NaN or infinite, since JSON has no such thing.
    """
    print_text(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))


def print_text(text: str) -> None:
    """``text`` and a line end."""
    sys.stdout.write(text + "\n")


def print_report(report: Report, as_json: bool) -> None:
    """A report's stable JSON, or its tables, coloured on a terminal."""
    if as_json:
        sys.stdout.write(report.to_json())
    else:
        report.print(sys.stdout)
