"""Files are written whole or not at all, and never in the place of another that is in use."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import lapwing as lw
from lapwing.atomic import atomic_writer, check_output


def test_outputs_are_looked_at_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("1")
    (tmp_path / "link").symlink_to(tmp_path / "in")
    check_output(tmp_path / "out", tmp_path / "in", None)
    with pytest.raises(lw.ArgumentError, match="no folder .*absent; make it first"):
        check_output(tmp_path / "absent" / "out")
    with pytest.raises(lw.ArgumentError, match="not a regular file"):
        check_output(tmp_path)
    with pytest.raises(lw.ArgumentError, match="would replace"):
        check_output(tmp_path / "link", tmp_path / "in")
    with pytest.raises(lw.ArgumentError, match="would replace"):
        check_output(tmp_path / "new", tmp_path / "new")


def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    def fill() -> None:
        with atomic_writer(tmp_path / "out"):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left on device: .*out"):
        fill()
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    code = (
        "import sys, time; from lapwing.atomic import atomic_writer\n"
        "with atomic_writer(sys.argv[1]) as stream: stream.write(b'half'); print('go', flush=True); time.sleep(60)"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "out")], stdout=subprocess.PIPE) for _ in range(2)
    ]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == b"go\n"
    writers[0].kill()
    writers[0].wait()
    (tmp_path / "other.tmp").write_text("not ours")
    time.sleep(1.2)
    with atomic_writer(tmp_path / "out") as stream:
        stream.write(b"whole")
    left = sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".tmp")
    assert (tmp_path / "out").read_bytes() == b"whole"
    assert len(left) == 2 and left[1] == "other.tmp"  # the writer that lives keeps its own
    for writer in writers:
        writer.kill()
        writer.communicate()
