"""`lapwing generate`, `plan` and `info`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lapwing
from lapwing import files, instances


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".mtx"])
def test_generate(invoke, suffix: str) -> None:
    result = invoke("generate", "geometric", 12, "--seed", 3, "--cols", 15, "--output", f"a{suffix}")
    assert result.exit_code == 0 and "12 x 15 float64" in result.stdout
    assert np.array_equal(files.read(f"a{suffix}").cost, instances.generate("geometric", 12, 3, cols=15))


def test_generate_other_dtypes(invoke) -> None:
    assert invoke("generate", "int:10", 8, "--dtype", "int32", "-o", "a.npy").exit_code == 0
    assert np.load("a.npy").dtype == np.int32


def test_generate_refuses(invoke) -> None:
    for arguments, code, words in (
        (("uniform:3", 5, "-o", "a.npy"), 1, "unknown instance class 'uniform:3'"),
        (("uniform", 5, "-o", "a.txt"), 1, ".npy, .npz, .csv or .mtx"),
        (("uniform", 5, "--dtype", "int32", "-o", "a.npy"), 1, "not integers"),
        (("uniform", -5, "-o", "a.npy"), 2, ""),
        (("uniform", 5), 2, "--output"),
    ):
        result = invoke("generate", *arguments)
        assert result.exit_code == code and words in result.stderr
        assert not Path("a.npy").exists()


def test_plan(invoke) -> None:
    files.write_cost("a.npy", instances.generate("uniform", 500, 1))
    text = invoke("plan", "a.npy").stdout
    assert "500 x 500" in text and "core" in text
    made = json.loads(invoke("plan", "a.npy", "--json", "--threads", 1, "--method", "jv").stdout)
    assert (made["method"], made["threads"], made["shape"]) == ("jv", 1, [500, 500])


def test_plan_with_options(invoke) -> None:
    files.write_cost("a.npy", instances.generate("uniform", 30, 1))
    options = ("--method", "munkres", "--option", "switch=true", "--option", "stages=fused")
    made = json.loads(invoke("plan", "a.npy", "--json", *options).stdout)
    assert made["options"] == {"stages": ["fused"], "switch": True, "start": "greedy"}
    assert invoke("solve", "a.npy", *options).exit_code == 0
    for wrong, words in (
        (("--method", "munkres", "--option", "speed=9"), "it has stages=, switch=, start="),
        (("--method", "jv", "--option", "switch=true"), "method 'jv' has no options"),
    ):
        result = invoke("plan", "a.npy", *wrong)
        assert result.exit_code == 2 and words in " ".join(result.stderr.split())
    assert "start=greedy|regret" in invoke("solve", "--help").stdout
    assert "munkres (stages, switch, start)" in invoke("info").stdout


def test_info(invoke) -> None:
    text = invoke("info").stdout
    facts = json.loads(invoke("info", "--json").stdout)
    for name in ("lapwing", "compiler", "simd", "hardware threads", "gpus", "gpu driver", "cuda core", "kernel cache"):
        assert f"{name}:" in text
        assert name.replace(" ", "_") in facts
    assert facts["lapwing"] in invoke("--version").stdout
    assert isinstance(facts["gpus"], list) and facts["usable_threads"] >= 1


def test_info_and_solve_load_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    script = (
        "import sys; from lapwing.cli.main import main\n"
        "for arguments in (['info'], ['solve', 'a.csv'], ['plan', 'a.csv']):\n"
        "    main(arguments, standalone_mode=False)\n"
        "heavy = {'scipy', 'pandas', 'torch', 'rich', 'ot', 'lap', 'cupy', 'cuda'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, timeout=60, stdout=subprocess.DEVNULL)


def test_without_click_it_says_what_to_install() -> None:
    script = "import sys; sys.modules['click'] = None; import lapwing.cli; lapwing.cli.run()"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    needs = "lapwing: the command line needs click and rich: pip install 'lapwing[cli]'\n"
    assert (done.returncode, done.stderr) == (1, needs)


def test_version_is_the_packages(invoke) -> None:
    assert invoke("--version").stdout == f"lapwing, version {lapwing.cli.info.version()}\n"


def test_warmup(invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("cuda.core", reason="cuda-core is not installed")
    from lapwing.gpu.runtime import programs

    monkeypatch.setenv("LAPWING_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.setattr(programs, "PROGRAMS", (programs.CERTIFICATE,))
    for count, options in ((1, ("--dtype", "int8")), (2, ("--dtype", "int8", "--dtype", "uint8", "--jobs", 1))):
        text = invoke("warmup", "--arch", 90, *options).stdout
        assert text.startswith(f"{count} programs for sm_90 are in {tmp_path / 'kernels'}")
    assert "2 files" in invoke("info").stdout


def test_warmup_without_gpus(invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    from lapwing.cli import warmup as module

    monkeypatch.setattr(module, "present", lambda: (_ for _ in ()).throw(lapwing.GpuError("no NVIDIA GPU is seen")))
    result = invoke("warmup")
    assert result.exit_code == 1 and "no NVIDIA GPU" in result.stderr
    assert invoke("warmup", "--arch", "42").exit_code == 2


def test_figures_without_instances_and_sizes_without_memory(invoke) -> None:
    result = invoke("papers", "--table", "algorithm-1015-figure-3", "--largest", 60, "--output", "figures")
    assert result.exit_code == 0 and not Path("figures").exists()
    result = invoke("generate", "uniform", 10**26, "-o", "a.npy")
    assert result.exit_code == 1 and "no memory holds" in result.stderr and not Path("a.npy").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device here")
def test_help_on_a_full_disk() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "lapwing", "--help"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1 and done.stderr == "lapwing: No space left on device\n"
