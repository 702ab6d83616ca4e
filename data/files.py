"""Reading JSON from files that may be huge, cut off or not JSON at all; writing whole files or none."""

from __future__ import annotations

import codecs
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from memvalue.data.errors import DataError

#: Bytes read at a time. One LongMemEval question is about 0.5 MB, so a chunk holds several and the
#: question that is cut at a chunk's end (parsed twice) costs little.
CHUNK = 4 << 20

#: A decoding error this close to the end of what was read may be a token that is merely cut off
#: (the longest are ``-Infinity`` and a ``\\uXXXX`` pair).
CUT_TOKEN = 16

_SPACE = re.compile(r"[ \t\n\r]*")


def existing_file(path: str | Path, what: str) -> Path:
    """``path`` when it is a readable file, else a :class:`DataError` that says what is expected there."""
    path = Path(path)
    if os.path.isdir(path):
        raise DataError(f"{path} is a directory; name the {what} inside it")
    if not os.path.exists(path):  # unlike Path.exists, also False for a name that is too long
        raise DataError(f"{path} does not exist; check the path of the {what}")
    if not path.is_file():
        raise DataError(f"{path} is not a regular file; name the {what}")
    if path.stat().st_size == 0:
        raise DataError(f"{path} is empty; it should be a {what}")
    return path


def read_json(path: Path) -> Any:
    """The JSON value in ``path`` (UTF-8, with or without a byte order mark)."""
    try:
        return json.loads(path.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as e:
        raise DataError(_not_utf8(path, e.start)) from None
    except RecursionError:
        raise DataError(f"{path} is nested too deeply to be a data file") from None
    except ValueError as e:
        raise DataError(f"{path} is not valid JSON ({e}); is it cut off or another format?") from None
    except OSError as e:
        raise DataError(f"{path} cannot be read: {e.strerror}") from None


def iter_json_lines(path: Path, what: str) -> Iterator[tuple[int, Any]]:
    """Line number and JSON value of each line of ``path``; blank lines are passed over.

    Parameters
    ----------
    path
        UTF-8, with or without a byte order mark.
    what
        What a line should be, for messages, such as "a memory".

    Raises
    ------
    DataError
        Names the line: not UTF-8, not JSON, nested too deeply; or the file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            for number, blob in enumerate(file, 1):
                where = f"{path}, line {number}"
                try:
                    text = blob.decode("utf-8-sig" if number == 1 else "utf-8")
                    if not text.strip():
                        continue
                    value = json.loads(text)
                except UnicodeDecodeError as e:
                    raise DataError(
                        f"{where} is not UTF-8 text (byte {e.start}); save the file as UTF-8"
                    ) from None
                except RecursionError:
                    raise DataError(f"{where} is nested too deeply to be {what}") from None
                except json.JSONDecodeError as e:
                    raise DataError(
                        f"{where} is not a JSON object on one line ({e.msg}, character {e.pos})"
                    ) from None
                except ValueError as e:  # a number of thousands of digits
                    raise DataError(f"{where} is not valid JSON: {e}") from None
                yield number, value
    except OSError as e:
        raise DataError(f"{path} cannot be read: {e.strerror}") from None


def iter_json_list(path: Path, what: str) -> Iterator[Any]:
    """The items of the JSON list in ``path``, one at a time, never holding the whole file.

    Python keeps a decoded text at up to four bytes a character as soon as it holds one emoji, so decoding
    205 MB at once takes most of a gigabyte before parsing begins; a chunk at a time takes some 30 MB.

    Raises
    ------
    DataError
        When the file is not UTF-8, not JSON, not a list, cut off, or followed by something else; it names
        the item.
    """
    decode = json.JSONDecoder().raw_decode
    text = _Window(path)
    if text.peek() != "[":
        raise DataError(
            f"{path} should hold a JSON list of {what}, but starts with {text.text[text.at :][:20]!r}"
        )
    text.at += 1
    if text.peek() == "]":
        text.at += 1
    else:
        item = 0
        while True:
            text.peek()
            while True:
                try:
                    value, end = decode(text.text, text.at)
                    break
                except json.JSONDecodeError as e:
                    cut = e.msg.startswith("Unterminated string") or e.pos >= len(text.text) - CUT_TOKEN
                    if cut and text.more():
                        continue
                    if cut:
                        raise DataError(
                            f"{path} ends inside item {item}; it is cut off, fetch it again"
                        ) from None
                    raise DataError(
                        f"{path} is not valid JSON in item {item}: {e.msg}, near "
                        f"{text.text[max(0, e.pos - 30) : e.pos + 30]!r}"
                    ) from None
                except RecursionError:
                    raise DataError(f"{path}, item {item}, is nested too deeply to be a data file") from None
                except ValueError as e:  # a number of thousands of digits
                    raise DataError(f"{path} is not valid JSON in item {item}: {e}") from None
            text.at = end
            yield value
            mark = text.peek()
            text.at += 1
            if mark == "]":
                break
            if mark != ",":
                found = f"{mark!r} follows item {item}" if mark else f"it ends after item {item}"
                raise DataError(f"{path} is cut off or not valid JSON: {found} where ',' or ']' should")
            item += 1
    if text.peek():
        raise DataError(
            f"{path} goes on after its list with {text.text[text.at :][:20]!r}; keep one list a file"
        )


class _Window:
    """The part of a text file that is still to be parsed; ``text[at:]`` is unread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = ""
        self.at = 0
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._chunks = self._read()

    def _read(self) -> Iterator[str]:
        done = 0
        try:
            with open(self.path, "rb") as f:
                while blob := f.read(max(CHUNK, len(self.text))):
                    yield self._decoder.decode(blob)
                    done += len(blob)
            yield self._decoder.decode(b"", True)
        except UnicodeDecodeError as e:
            raise DataError(_not_utf8(self.path, done + e.start)) from None
        except OSError as e:
            raise DataError(f"{self.path} cannot be read: {e.strerror}") from None

    def more(self) -> bool:
        """Read on (at least as much again as is held, so that repeats stay cheap); False at the end."""
        for chunk in self._chunks:
            self.text, self.at = self.text[self.at :] + chunk, 0
            return True
        return False

    def peek(self) -> str:
        """The next character that is not white space, or ``""`` at the end; moves ``at`` there."""
        while True:
            match = _SPACE.match(self.text, self.at)
            assert match is not None  # the pattern matches the empty string
            self.at = match.end()
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""


def _not_utf8(path: Path, byte: int) -> str:
    return f"{path} is not UTF-8 text (byte {byte}); is it compressed or another format? Save it as UTF-8"


def write_atomic(path: str | Path, lines: Iterable[str]) -> None:
    """Write ``lines`` (UTF-8) to ``path``: either the whole file appears or the old one stays."""
    path = Path(path)
    if not path.parent.is_dir():
        raise DataError(f"the folder {path.parent} does not exist; make it first")
    if path.is_dir():
        raise DataError(f"{path} is a directory; name a file")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
    try:
        with open(temporary, "x", encoding="utf-8", newline="\n") as f:
            f.writelines(lines)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
