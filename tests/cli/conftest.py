"""Running the command line inside the test process and as a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lapwing.cli.main import main


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run a command in an empty folder; whatever it raised is raised."""
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()

    def run(*arguments: object) -> Result:
        result = runner.invoke(main, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def run_process(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``python -m lapwing`` in an empty folder."""

    def run(*arguments: object, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lapwing", *(str(argument) for argument in arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=timeout)

    return run
