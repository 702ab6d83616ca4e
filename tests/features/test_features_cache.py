"""The evidence cache: whole or absent, checked, and safe with neighbours and sudden deaths."""

from __future__ import annotations

import hashlib
import io
import logging
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import memvalue.features.cache as cache_module
from memvalue.features.cache import LAYOUT, MAGIC, EvidenceCache, code_digest, default_cache_dir

KEY = "ab" * 32
OTHER = "cd" * 32
ARRAYS = {"values": np.arange(12, dtype=np.float32).reshape(4, 3), "names": np.array(["wörter", "x"])}


@pytest.fixture
def cache(tmp_path: Path) -> EvidenceCache:
    return EvidenceCache(tmp_path / "cache")


def same(found: dict[str, Any] | None, wanted: dict[str, Any]) -> bool:
    """Equal names, types, shapes and bits (NaN included)."""

    def bits(arrays: dict[str, Any]) -> dict[str, Any]:
        return {name: (a.dtype, a.shape, a.tobytes()) for name, a in arrays.items()}

    return found is not None and bits(found) == bits(wanted)


def forged(body: bytes, *, layout: int = LAYOUT) -> bytes:
    """A file whose digest is right, whatever its content."""
    return MAGIC + bytes([layout]) + hashlib.sha256(body).digest() + body


# --- keeping ------------------------------------------------------------------------------------------------


def test_what_was_put_is_got_and_the_rest_is_none(cache: EvidenceCache) -> None:
    assert cache.get(KEY) is None
    cache.put(KEY, ARRAYS)
    assert same(cache.get(KEY), ARRAYS)
    assert cache.get(OTHER) is None
    assert cache.path(KEY) == cache.folder / "ab" / f"{KEY}.mve"
    assert [f.name for f in (cache.folder / "ab").iterdir()] == [f"{KEY}.mve"]


def test_a_second_put_replaces_the_first(cache: EvidenceCache) -> None:
    cache.put(KEY, ARRAYS)
    cache.put(KEY, {"v": np.zeros(2)})
    assert same(cache.get(KEY), {"v": np.zeros(2)})


def test_equal_content_gives_equal_bytes(cache: EvidenceCache) -> None:
    cache.put(KEY, ARRAYS)
    cache.put(OTHER, ARRAYS)
    assert cache.path(KEY).read_bytes() == cache.path(OTHER).read_bytes()


@given(
    st.dictionaries(
        st.text("abcdefgh_", min_size=1, max_size=8),
        hnp.arrays(
            st.sampled_from([np.float32, np.float64, np.int64, np.bool_, np.uint8]),
            hnp.array_shapes(min_dims=0, min_side=0, max_side=5),
        ),
        max_size=4,
    )
)
def test_any_plain_arrays_come_back(tmp_path_factory: Any, arrays: dict[str, Any]) -> None:
    cache = EvidenceCache(tmp_path_factory.getbasetemp() / "any")
    cache.put(KEY, arrays)
    assert same(cache.get(KEY), arrays)


# --- damage -------------------------------------------------------------------------------------------------


def good() -> bytes:
    return cache_module._pack(ARRAYS)


def bomb() -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        array = io.BytesIO()
        np.save(array, np.zeros(10**6))
        archive.writestr("values.npy", array.getvalue())
    return forged(body.getvalue())


def pickled() -> bytes:
    body = io.BytesIO()
    np.savez(body, values=np.array([{"a": 1}], dtype=object))
    return forged(body.getvalue())


def boastful() -> bytes:
    """An array whose header claims far more than the file holds."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        header = io.BytesIO()
        claim = {"descr": "<f8", "fortran_order": False, "shape": (2**50,)}
        np.lib.format.write_array_header_1_0(header, claim)
        archive.writestr("values.npy", header.getvalue())
    return forged(body.getvalue())


DAMAGE = {
    "empty": lambda: b"",
    "cut in the header": lambda: good()[:20],
    "cut in the body": lambda: good()[:-7],
    "one bit": lambda: good()[:200] + bytes([good()[200] ^ 4]) + good()[201:],
    "longer": lambda: good() + b"x",
    "foreign": lambda: b"PK\x03\x04 something else entirely, long enough to hold a header",
    "another layout": lambda: forged(good()[40:], layout=LAYOUT + 1),
    "no archive": lambda: forged(b"hello"),
    "compressed": bomb,
    "pickled": pickled,
    "boastful": boastful,
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_reported_removed_and_rebuilt(cache: EvidenceCache, kind: str, caplog: Any) -> None:
    cache.put(KEY, ARRAYS)
    cache.path(KEY).write_bytes(DAMAGE[kind]())
    with caplog.at_level(logging.WARNING):
        assert cache.get(KEY) is None
    assert str(cache.path(KEY)) in caplog.text
    assert "damaged" in caplog.text
    assert not cache.path(KEY).exists()
    cache.put(KEY, ARRAYS)
    assert same(cache.get(KEY), ARRAYS)


@given(st.data())
def test_no_single_changed_byte_goes_unnoticed(tmp_path_factory: Any, data: Any) -> None:
    cache = EvidenceCache(tmp_path_factory.getbasetemp() / "flip")
    blob = bytearray(good())
    at = data.draw(st.integers(0, len(blob) - 1))
    blob[at] ^= data.draw(st.integers(1, 255))
    cache.path(KEY).parent.mkdir(parents=True, exist_ok=True)
    cache.path(KEY).write_bytes(blob)
    assert cache.get(KEY) is None


def test_a_folder_in_the_place_of_a_file_is_reported(cache: EvidenceCache, caplog: Any) -> None:
    cache.path(KEY).mkdir(parents=True)
    with caplog.at_level(logging.WARNING):
        assert cache.get(KEY) is None
    assert "cannot read the cache file" in caplog.text


def test_a_cache_that_cannot_be_written_is_reported_once(tmp_path: Path, caplog: Any) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = EvidenceCache(tmp_path / "file")
    with caplog.at_level(logging.WARNING):
        cache.put(KEY, ARRAYS)
        cache.put(OTHER, ARRAYS)
    assert caplog.text.count("cannot write to the cache") == 1


@pytest.mark.parametrize(
    "key",
    ["", "ab", "../../etc/passwd", "AB" * 32, "ab/" + "c" * 20, "a" * 129, "ab" * 8 + "\n", "ab" * 8 + "\0"],
)
def test_a_key_is_hexadecimal_and_nothing_else(cache: EvidenceCache, key: str) -> None:
    for call in (lambda: cache.get(key), lambda: cache.put(key, ARRAYS)):
        with pytest.raises(ValueError, match="8 to 128 lower-case hexadecimal digits"):
            call()
    assert not cache.folder.exists()


def test_objects_and_odd_names_are_refused(cache: EvidenceCache) -> None:
    with pytest.raises(ValueError, match="'a' holds Python objects"):
        cache.put(KEY, {"a": np.array([object()])})
    with pytest.raises(ValueError, match=r"'\.\./a' is no identifier"):
        cache.put(KEY, {"../a": np.zeros(1)})


# --- neighbours and sudden deaths ---------------------------------------------------------------------------

WRITER = """
import sys
import numpy as np
from memvalue.features.cache import EvidenceCache
cache, seed = EvidenceCache(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
while True:
    cache.put("ab" * 32, {"v": np.full(200_000, seed, np.int64)})
"""

#: Dies for good between writing the temporary file and moving it into place.
HALTED = """
import os, sys, time
import numpy as np
from memvalue.features.cache import EvidenceCache
def halt(*_):
    print("halted", flush=True)
    time.sleep(60)
os.replace = halt
EvidenceCache(sys.argv[1]).put("ab" * 32, {"v": np.zeros(100_000)})
"""


def start(code: str, *arguments: object) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline()
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_two_processes_writing_one_key_and_killed_leave_no_bad_entry(
    cache: EvidenceCache, caplog: Any
) -> None:
    writers = [start(WRITER, cache.folder, seed) for seed in (1, 2)]
    reads = 0
    try:
        deadline = time.monotonic() + 1.5
        while time.monotonic() < deadline:
            found = cache.get(KEY)
            if found is not None:
                reads += 1
                assert len(np.unique(found["v"])) == 1
    finally:
        for writer in writers:
            end(writer)
    found = cache.get(KEY)
    assert reads > 0
    assert found is not None
    assert len(found["v"]) == 200_000
    assert "damaged" not in caplog.text


def test_a_writer_killed_midway_leaves_the_old_entry_or_none(cache: EvidenceCache, caplog: Any) -> None:
    end(start(HALTED, cache.folder))
    assert cache.get(KEY) is None
    cache.put(KEY, ARRAYS)
    end(start(HALTED, cache.folder))
    assert same(cache.get(KEY), ARRAYS)
    assert not caplog.records
    left = [f for f in cache.path(KEY).parent.iterdir() if f.suffix == ".part"]
    assert len(left) == 2
    # A living neighbour may still want a young one; an old one is swept up.
    os.utime(left[0], (0, 0))
    EvidenceCache(cache.folder)
    assert [f for f in cache.path(KEY).parent.iterdir() if f.suffix == ".part"] == left[1:]
    assert same(cache.get(KEY), ARRAYS)


# --- where it lies, and what its keys depend on -------------------------------------------------------------


def test_the_default_folder(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MEMVALUE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert default_cache_dir() == tmp_path / ".cache" / "memvalue"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert default_cache_dir() == tmp_path / ".cache" / "memvalue"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache_dir() == tmp_path / "xdg" / "memvalue"
    monkeypatch.setenv("MEMVALUE_CACHE", "~/mine")
    assert default_cache_dir() == tmp_path / "mine"


def test_a_changed_source_or_data_file_changes_the_digest(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    module, words = tmp_path / "a_module_of_this_test.py", tmp_path / "words"
    module.write_text("X = 1\n")
    (words / "en").mkdir(parents=True)
    (words / "en" / "kin.txt").write_text("mother\n")

    def digest() -> str:
        return code_digest("a_module_of_this_test", words, cache_module)

    first = digest()
    assert first == digest()
    assert first == code_digest(cache_module, "a_module_of_this_test", words)
    module.write_text("X = 2\n")
    second = digest()
    (words / "en" / "kin.txt").write_text("mother\nfather\n")
    third = digest()
    (words / "__pycache__").mkdir()
    (words / "__pycache__" / "x.pyc").write_bytes(b"1")
    assert digest() == third
    assert len({first, second, third}) == 3


def test_the_digest_takes_a_module_and_its_name_alike() -> None:
    assert code_digest(cache_module) == code_digest("memvalue.features.cache")
    assert code_digest(cache_module) != code_digest(Path(cache_module.__file__))


@pytest.mark.parametrize(
    "part", ["no_such_module_here", "no.such.module", sys, Path("/no/such/file"), code_digest, 3]
)
def test_what_cannot_be_digested_is_named(part: Any) -> None:
    with pytest.raises(ValueError, match="code_digest"):
        code_digest(part)
