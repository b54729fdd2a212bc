"""`lapwing solve --checkpoint` and `lapwing resume`."""

from __future__ import annotations

import json

import numpy as np
import pytest

import lapwing as lw


@pytest.fixture
def files(invoke, tmp_path):
    rng = np.random.default_rng(0)
    np.save("x.npy", rng.random((1500, 2)))
    np.save("y.npy", rng.random((1500, 2)) + 1)
    np.save("cost.npy", rng.random((300, 300)))
    return tmp_path


def test_resume(invoke, files, monkeypatch):
    asked = ("solve", "--metric", "euclidean", "x.npy", "y.npy", "--maximize", "--checkpoint", "run.npz")
    stopped = invoke(*asked, "--time-limit", "0.01", "--json")
    assert stopped.exit_code in (0, 4), stopped.stderr
    (files / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")  # files are found again
    done = invoke("resume", "../run.npz", "--json", "--progress")
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    source = lw.costs.euclidean(np.load("../x.npy"), np.load("../y.npy"))
    assert answer["objective"] == pytest.approx(lw.solve(source, maximize=True).objective, rel=1e-12)
    assert answer["maximize"] and answer["status"] == "optimal"
    assert invoke("resume", "../run.npz", "-o", "answer.npz").exit_code == 0
    assert np.load("answer.npz")["objective"] == answer["objective"]


def test_options_are_kept(invoke, files):
    invoke("solve", "cost.npy", "--unmatched-cost", "0.25", "--checkpoint", "run.npz", "--checkpoint-interval", "0.5")
    answer = json.loads(invoke("resume", "run.npz", "--json").stdout)
    assert answer["objective"] == pytest.approx(lw.solve(np.load("cost.npy"), unmatched_cost=0.25).objective)


def test_the_output_is_kept(invoke, files, monkeypatch):
    invoke("solve", "cost.npy", "--checkpoint", "run.npz", "-o", "answer.csv", "--duals", "--time-limit", "0")
    (files / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert invoke("resume", "../run.npz").exit_code == 0
    assert (files / "answer.csv").read_text().startswith("row,col,u,v\n")
    (files / "answer.csv").unlink()
    assert invoke("resume", "../run.npz", "-o", "other.json").exit_code == 0
    assert not (files / "answer.csv").exists() and json.loads((files / "elsewhere/other.json").read_text())["u"]


def test_changed_files_are_refused(invoke, files):
    assert invoke("solve", "cost.npy", "--checkpoint", "run.npz").exit_code == 0
    np.save("cost.npy", np.load("cost.npy") + 1)
    done = invoke("resume", "run.npz")
    assert done.exit_code == 1 and "its costs have changed" in done.stderr
    (files / "cost.npy").unlink()
    done = invoke("resume", "run.npz")
    assert done.exit_code == 1 and "cost.npy" in done.stderr


def test_what_cannot_be_resumed(invoke, files):
    done = invoke("resume", "none.npz")
    assert done.exit_code == 1 and "none.npz" in done.stderr
    done = invoke("resume", "cost.npy")
    assert done.exit_code == 1 and "cost.npy is no checkpoint" in done.stderr
    lw.solve(np.eye(3), checkpoint="python.npz")
    done = invoke("resume", "python.npz")
    assert done.exit_code == 1 and "not written by `lapwing solve`" in done.stderr
    assert "lapwing.solve(cost, checkpoint=...)" in done.stderr


@pytest.mark.parametrize(
    "changes",
    [
        {"file": 5},
        {"file": None},
        {"file": "a\0b"},
        {"memory_limit": "x"},
        {"metric": "zz"},
        {"threads": True},
        {"option": [1]},
        {"output": 3},
        {"duals": "yes"},
    ],
    ids=str,
)
def test_notes_that_somebody_has_changed(invoke, files, changes):
    assert invoke("solve", "cost.npy", "--checkpoint", "run.npz").exit_code == 0
    arrays = dict(np.load("run.npz"))
    about = json.loads(arrays["about"].tobytes())
    about["note"] = json.dumps(json.loads(about["note"]) | changes)
    np.savez("run.npz", **(arrays | {"about": np.frombuffer(json.dumps(about).encode(), np.uint8)}))
    done = invoke("resume", "run.npz")
    assert done.exit_code == 1 and "was not written by `lapwing solve`" in done.stderr
