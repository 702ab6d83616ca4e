"""Files that others may have put there are read once, whole and bounded, or refused; never waited for."""

import os
import socket
import stat
import threading
import time

import pytest
from serve_models import content

from memvalue.serve import ModelError, ValueModel
from memvalue.serve import files as module
from memvalue.serve.errors import RefusedFile
from memvalue.serve.files import read_file, write_file


def refuse(path, reason, **options):
    with pytest.raises(ModelError, match=reason) as caught:
        ValueModel.load(path, **options)
    assert caught.value.path == os.fsdecode(path)


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(content())
    return path


def test_a_path_may_be_text_bytes_or_a_path(model):
    for path in (model, str(model), os.fsencode(model)):
        assert ValueModel.load(path).kind == "linear"


def test_links_are_refused_with_what_they_point_to_unless_allowed(model, tmp_path):
    link = tmp_path / "latest.onnx"
    link.symlink_to(model)
    refuse(link, f"symbolic link to {model}; name that file itself")
    assert ValueModel.load(link, follow_links=True).kind == "linear"
    (tmp_path / "folder").symlink_to(tmp_path)
    assert ValueModel.load(tmp_path / "folder" / "model.onnx").kind == "linear"  # only the file itself counts
    refuse(tmp_path / "folder", "symbolic link")
    refuse(tmp_path / "folder", "directory", follow_links=True)


def test_links_that_lead_nowhere_or_in_a_circle(tmp_path):
    a, b, gone = tmp_path / "a", tmp_path / "b", tmp_path / "gone"
    a.symlink_to(b)
    b.symlink_to(a)
    gone.symlink_to(tmp_path / "nothing")
    refuse(a, "symbolic link")
    refuse(a, "symbolic link", follow_links=True)
    refuse(a / "model.onnx", "circle")
    refuse(gone, "symbolic link")
    refuse(gone, "no such file", follow_links=True)


def test_nothing_waits_for_a_pipe_a_socket_or_a_device(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    server = socket.socket(socket.AF_UNIX)
    short = os.path.relpath(tmp_path / "s")  # the name of a socket may be no longer than some 100 bytes
    server.bind(short if len(short) < 100 else str(tmp_path / "s"))
    begun = time.monotonic()
    for path, reason in (
        (tmp_path / "pipe", "a named pipe"),
        (tmp_path / "s", "a socket"),
        ("/dev/zero", "a device"),
        ("/dev/tty", "a device"),
        (tmp_path, "a directory"),
    ):
        for follow in (False, True):
            refuse(path, reason, follow_links=follow)
    server.close()
    (tmp_path / "zero").symlink_to("/dev/zero")
    refuse(tmp_path / "zero", "a device", follow_links=True)
    assert time.monotonic() - begun < 5


def test_a_pipe_put_in_place_of_the_file_after_the_first_look_is_not_waited_for(model, monkeypatch):
    original = os.stat

    def look(name, *arguments, **options):
        found = original(name, *arguments, **options)
        if name == str(model) and stat.S_ISREG(found.st_mode):
            model.unlink()
            os.mkfifo(model)
        return found

    monkeypatch.setattr(module.os, "stat", look)
    refuse(model, "a named pipe")


def test_a_link_put_in_place_of_the_file_after_the_first_look_is_not_followed(model, tmp_path, monkeypatch):
    original = os.stat
    (tmp_path / "other").write_bytes(content("mlp"))

    def look(name, *arguments, **options):
        found = original(name, *arguments, **options)
        if name == str(model) and not model.is_symlink():
            model.unlink()
            model.symlink_to(tmp_path / "other")
        return found

    monkeypatch.setattr(module.os, "stat", look)
    refuse(model, "symbolic link")


def test_names_that_can_be_no_file(tmp_path, model):
    refuse(tmp_path / "no\0where", "no such file")
    refuse(tmp_path / ("x" * 5000), "cannot be read|no such file")
    refuse(model / "inside", "no such file")
    refuse("", "no such file")


def test_a_file_that_may_not_be_read_says_so(model, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(module.os, "open", denied)
    refuse(model, "cannot be read .Permission denied")


def test_a_file_that_grows_is_read_to_the_limit_and_refused(tmp_path):
    path = tmp_path / "growing"
    path.write_bytes(b"x" * 100)
    assert read_file(path, 100) == b"x" * 100
    with pytest.raises(RefusedFile, match="100 bytes, more than the 99"):
        read_file(path, 99)
    stop = threading.Event()

    def grow():
        with open(path, "ab", buffering=0) as file:
            while not stop.is_set():
                file.write(b"x" * 1000)
                if file.tell() > 50_000_000:
                    return

    class Small:
        st_mode, st_size = path.stat().st_mode, 100

    writer = threading.Thread(target=grow)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.os, "fstat", lambda _: Small)  # as it was before the first byte was read
        writer.start()
        while path.stat().st_size < 10_000:
            time.sleep(0.001)
        with pytest.raises(RefusedFile, match="grew beyond the 5000 bytes"):
            read_file(path, 5000)
    stop.set()
    writer.join()


def test_files_without_a_size_are_bounded_too():
    # The files of /proc say that they are empty, and are not.
    assert read_file("/proc/self/stat", 10_000)
    with pytest.raises(RefusedFile, match="grew beyond"):
        read_file("/proc/self/stat", 10)


def test_a_written_file_appears_whole_and_replaces_the_old(tmp_path):
    path = tmp_path / "f"
    for blob in (b"one", b"", b"three" * 1000):
        write_file(path, blob)
        assert path.read_bytes() == blob
    assert list(tmp_path.iterdir()) == [path]
    (tmp_path / "folder").mkdir()
    for where in (tmp_path / "folder", tmp_path / "none" / "f", tmp_path / ("x" * 300)):
        with pytest.raises(ValueError, match=r"directory|does not exist|cannot be written"):
            write_file(where, b"")


def test_a_link_in_place_of_a_written_file_is_replaced_not_followed(tmp_path):
    victim, link = tmp_path / "victim", tmp_path / "link"
    victim.write_bytes(b"precious")
    link.symlink_to(victim)
    write_file(link, b"new")
    assert victim.read_bytes() == b"precious"
    assert link.read_bytes() == b"new" and not link.is_symlink()
