"""A saved stream goes on as if nothing had happened; a crash leaves the old state; others are refused."""

import hashlib
import io
import os
import signal
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serve_models import content
from stream_stores import memories_of, talks

from memvalue.data.load import load
from memvalue.features import Definition
from memvalue.features.cache import EvidenceCache
from memvalue.features.past import Past
from memvalue.serve import ValueModel
from memvalue.serve import stream as stream_module
from memvalue.serve.errors import StateError
from memvalue.serve.stream import MemoryStream
from memvalue.serve.stream_state import LAYOUT, MAGIC, read_state, write_state

MODEL = ValueModel.from_bytes(content())
OPTIONS = {"definition": Definition.named("longmemeval")}
#: Cut after 17 memories it is in the middle of the sixth conversation, and somebody just asked.
FULL = [
    [("user", "my zebra quartz violin", 0.5), ("Ann", "zebra violin?", None), ("assistant", "meadow", None)]
] * 12


def stream(memories=()):
    s = MemoryStream(MODEL, **OPTIONS)
    s.extend(list(memories))
    return s


def rows(decisions):
    return np.array([d.factors for d in decisions]).tobytes()


def saved(path, talk=FULL, cut=17):
    """A saved stream in the middle of a conversation, and what comes after."""
    memories = memories_of(talk)
    s = stream(memories[:cut])
    s.save(path)
    return s, memories[cut:]


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(talk=talks, data=st.data())
def test_a_resumed_stream_gives_the_bits_of_an_uninterrupted_one(talk, data, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "any.state"
    memories = memories_of(talk)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(memories)), max_size=3)))
    want = rows(stream().extend(memories))
    s, found = stream(), []
    for first, last in zip([0, *cuts], [*cuts, len(memories)], strict=True):
        found += s.extend(memories[first:last])
        s.save(path)
        s = MemoryStream.load(path, MODEL, **OPTIONS)
    assert rows(found) == want


def test_saving_at_every_memory_of_a_real_conversation(tmp_path):
    [case] = load("simulated:seed=9,cases=1").cases
    memories = list(case.consolidation.memories)[:60]
    want = rows(stream().extend(memories))
    found = []
    for memory in memories:
        s = MemoryStream.load(tmp_path / "s", MODEL, **OPTIONS) if found else stream()
        found.append(s.add(memory))
        s.save(tmp_path / "s")
    assert rows(found) == want


def test_what_was_saved_is_there_again(tmp_path):
    s, rest = saved(tmp_path / "a")
    again = MemoryStream.load(tmp_path / "a", MODEL, **OPTIONS)
    assert len(again) == len(s) == 17
    again.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert rows(again.extend(rest)) == rows(s.extend(rest))
    for late, message in ((rest[0], "before the last"), (memories_of(FULL)[0], "before the last")):
        with pytest.raises(ValueError, match=message):
            again.add(late)
    with pytest.raises(ValueError, match="conversation 3 ended"):
        again.add(
            memories_of([[("user", "x", None)]] * 4 + [[("user", "x", None)]] * 30, [*range(33), 3])[-1]
        )
    # Another model decides on the same history.
    other = ValueModel.from_bytes(content("mlp"))
    assert len(MemoryStream.load(tmp_path / "a", other, **OPTIONS)) == 17
    stream().save(tmp_path / "empty")
    assert len(MemoryStream.load(tmp_path / "empty", MODEL, **OPTIONS)) == 0


def test_a_full_table_of_words_is_stored_as_it_is(tmp_path):
    s, rest = saved(tmp_path / "a")
    every = np.random.default_rng(0).integers(0, 2**27, 5_000_000)
    s._past.heard.add(every)
    s.save(tmp_path / "big")
    assert (tmp_path / "big").stat().st_size < 17_000_000
    again = MemoryStream.load(tmp_path / "big", MODEL, **OPTIONS)
    assert again._past.heard.has(every).all()
    assert rows(again.extend(rest)) == rows(s.extend(rest))


KILLED = """
import sys
from memvalue.serve.stream_state import write_state
import numpy as np
small, large = np.zeros(10), np.arange(3_000_000)
print("ready", flush=True)
while True:
    write_state(sys.argv[1], {"a": small})
    write_state(sys.argv[1], {"a": large})
"""


def test_killed_in_the_middle_of_writing_it_is_the_old_state_or_the_new(tmp_path):
    path = tmp_path / "state"
    lengths = set()
    for pause in (0.0, 0.02, 0.05, 0.09, 0.16, 0.3):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        while not path.exists():
            time.sleep(0.005)
        time.sleep(pause)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        lengths.add(len(read_state(path)["a"]))
    assert lengths <= {10, 3_000_000}
    # What the killed left behind is swept up by a later writer, once it is certain that nobody wants it.
    parts = [p for p in tmp_path.iterdir() if p != path]
    for part in parts:
        os.utime(part, (0, 0))
    write_state(path, {"a": np.zeros(1)})
    assert list(tmp_path.iterdir()) == [path]


def test_a_failing_write_leaves_the_old_state(tmp_path, monkeypatch):
    s, _ = saved(tmp_path / "a")
    before = (tmp_path / "a").read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    s.add(memories_of(FULL)[-1])
    with pytest.raises(ValueError, match=r"cannot be written .No space"):
        s.save(tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == before
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]


@pytest.mark.parametrize("where", ["", "missing/state"])
def test_a_place_that_cannot_be_written_is_named(tmp_path, where):
    with pytest.raises(ValueError, match=r"directory|does not exist"):
        stream().save(tmp_path / where)


def refuse(path, reason):
    with pytest.raises(StateError, match=reason) as caught:
        MemoryStream.load(path, MODEL, **OPTIONS)
    assert caught.value.path == str(path)


def test_other_files_are_refused_with_the_reason(tmp_path):
    saved(tmp_path / "a")
    good = (tmp_path / "a").read_bytes()
    EvidenceCache(tmp_path / "cache").put("ab" * 8, {"v": np.zeros(3)})
    np.savez(tmp_path / "other.npz", v=np.zeros(3))
    (tmp_path / "link").symlink_to(tmp_path / "a")
    os.mkfifo(tmp_path / "pipe")
    for name, data, reason in (
        ("empty", b"", "not a saved stream"),
        ("text", b"hello", "not a saved stream"),
        ("model", content(), "not a saved stream"),
        ("cut", good[:-10], "damaged"),
        ("head", good[:20], "damaged"),
        ("longer", good + b"x", "damaged"),
        ("layout", MAGIC + bytes([LAYOUT + 1]) + good[len(MAGIC) + 1 :], "layout 2 instead of 1"),
    ):
        (tmp_path / name).write_bytes(data)
        refuse(tmp_path / name, reason)
    refuse(next((tmp_path / "cache").rglob("*.mve")), "not a saved stream")
    refuse(tmp_path / "other.npz", "not a saved stream")
    refuse(tmp_path / "none", "no such file")
    refuse(tmp_path, "directory")
    refuse(tmp_path / "link", "symbolic link")
    refuse(tmp_path / "pipe", "named pipe")


def test_one_flipped_bit_is_noticed(tmp_path):
    saved(tmp_path / "a")
    good = (tmp_path / "a").read_bytes()
    for place in np.random.default_rng(1).integers(0, 8 * len(good), 100).tolist() + list(range(64)):
        blob = bytearray(good)
        blob[place // 8] ^= 1 << place % 8
        (tmp_path / "a").write_bytes(blob)
        with pytest.raises(StateError):
            MemoryStream.load(tmp_path / "a", MODEL, **OPTIONS)


def test_a_state_of_other_definitions_is_refused(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(stream_module, "DEFINITION_VERSION", "0")
        saved(tmp_path / "a")
    refuse(tmp_path / "a", "factor definitions '0'")


def forged(path, arrays):
    write_state(path, arrays)
    return path


def test_columns_that_do_not_fit_one_another_are_refused_under_a_fitting_checksum(tmp_path):
    saved(tmp_path / "a")
    good = read_state(tmp_path / "a")
    assert all(len(array) for array in good.values())

    def changed(name, change):
        array = good[name].copy()
        return {**good, name: change(array)}

    def put(value, at=0):
        def change(array):
            array[at] = value
            return array

        return change

    cases = [{k: v for k, v in good.items() if k != name} for name in good]
    for name in good:
        if name not in ("heard", "asker", "mates", "ended"):  # any number of these would do
            cases.append(changed(name, lambda a: a[:-1]))
        cases.append(changed(name, lambda a: a.astype(np.complex128)))
        cases.append(changed(name, lambda a: a[None]))
    cases += [
        changed("about", lambda a: np.frombuffer(b"[]", np.uint8)),
        changed("about", lambda a: np.frombuffer(b"{", np.uint8)),
        changed("about", lambda a: np.frombuffer(b'{"definition_version": "1"}', np.uint8)),
        changed("about", lambda a: np.frombuffer(a.tobytes().replace(b"+00:00", b""), np.uint8)),
        changed("about", lambda a: np.frombuffer(a.tobytes().replace(b"2024", b"abcd"), np.uint8)),
        changed("heard", put(2**27)),
        changed("usual", put(np.nan)),
        changed("usual", put(-1)),
        changed("asker", lambda a: np.array([255], np.uint8)),
        changed("numbers", put(-1)),
        changed("numbers", put(2**40)),
        changed("numbers", put(0, 3)),
        changed("own", put(np.inf)),
        changed("shared", put(-1.0)),
        changed("shared_with", put(10**6)),
        changed("shared_with", lambda a: np.repeat(a[:1], len(a))),
        changed("words", lambda a: np.repeat(a[:1], len(a))),
        changed("ended", lambda a: np.repeat(a[:1], len(a))),
        changed("df", put(0)),
        changed("last", put(10**6)),
        changed("run", put(10**6)),
        changed("run", put(-2)),
        changed("run_session", put(-1)),
        changed("run_before", put(len(good["run_before"]) - 1)),
        changed("run_before", lambda a: np.arange(-1, len(a) - 1, dtype=a.dtype)),
        changed("run_first", put(1)),
        changed("run_first", lambda a: np.zeros_like(a)),
        changed("mates", put(-1)),
        changed("pending_word", put(10**6)),
        changed("pending_mate", put(0)),
    ]
    for i, arrays in enumerate(cases):
        refuse(forged(tmp_path / f"bad{i}", arrays), "not a sound saved stream")


def test_python_objects_are_never_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive, archive.open("about.npy", "w") as member:
        np.lib.format.write_array(member, np.array([Trap()], dtype=object), allow_pickle=True)
    data = body.getvalue()
    (tmp_path / "trap").write_bytes(MAGIC + bytes([LAYOUT]) + hashlib.sha256(data).digest() + data)
    refuse(tmp_path / "trap", "damaged")
    assert not (tmp_path / "sprung").exists()


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(talks)
def test_a_past_is_what_its_arrays_say(talk):
    past = stream(memories_of(talk))._past
    again = Past.from_arrays(past.arrays())
    arrays = again.arrays()
    for name, array in past.arrays().items():
        np.testing.assert_array_equal(arrays[name], array)


def test_time_goes_on_to_the_microsecond(tmp_path):
    memories = memories_of([[("user", "zebra", None)]])
    later = replace(memories[0], time=memories[0].time + timedelta(microseconds=5))
    stream([later]).save(tmp_path / "a")
    with pytest.raises(ValueError, match="before the last one"):
        MemoryStream.load(tmp_path / "a", MODEL, **OPTIONS).add(memories[0])
