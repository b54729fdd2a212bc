"""`lapwing solve`: what it prints and writes, and its exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import lapwing
from lapwing import files, instances
from lapwing.checkpoint import read_checkpoint
from lapwing.cli.options import METRICS
from support.checks import hard_cost, hear_interrupts

COST = "4,1,3\n2,0,5\n3,2,2\n"  # optimum 5: 0 -> 1, 1 -> 0, 2 -> 2


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_text(COST)
    return path


def one_line(text: str) -> str:
    assert text.startswith("lapwing: ") and text.count("\n") == 1 and text.endswith("\n")
    return text


def test_text_for_people(invoke, csv: Path) -> None:
    result = invoke("solve", csv)
    assert result.exit_code == 0
    assert result.stderr == ""
    for words in ("3 x 3 int64", "minimised", "optimal", "objective:   5", "gap 0", "0 -> 1, 1 -> 0, 2 -> 2"):
        assert words in result.stdout


def test_json(invoke, csv: Path) -> None:
    answer = json.loads(invoke("solve", csv, "--json", "--maximize", "--duals").stdout)
    cost = np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2]])
    assert (answer["status"], answer["objective"], answer["rows"], answer["maximize"]) == ("optimal", 11, 3, True)
    assert answer["certificate"]["exact"] is True and answer["certificate"]["gap"] == 0
    assert cost[range(3), answer["row_to_col"]].sum() == 11
    assert sum(answer["u"]) + sum(answer["v"]) == 11
    assert (np.add.outer(answer["u"], answer["v"]) >= cost).all()
    assert isinstance(answer["objective"], int)


@pytest.mark.parametrize("metric", list(METRICS))
def test_points_in_two_files(invoke, tmp_path: Path, metric: str) -> None:
    sources, targets = np.random.default_rng(0).random((2, 60, 2))
    np.save(tmp_path / "a.npy", sources)
    np.savetxt(tmp_path / "b.csv", targets[:50], delimiter=",")
    answer = json.loads(invoke("solve", "--metric", metric, "a.npy", "b.csv", "--json").stdout)
    expected = lapwing.solve(METRICS[metric](sources, targets[:50]).read(slice(None)))
    assert answer["objective"] == pytest.approx(expected.objective, rel=1e-12)
    assert (answer["rows"], answer["cols"], answer["file"]) == (60, 50, "a.npy and b.csv")
    shown = invoke("solve", "--metric", metric, "a.npy", "b.csv").stdout
    assert f"60 x 50 float64 from a.npy and b.csv ({metric} of points), minimised" in shown
    assert "float64, computed" in invoke("plan", "--metric", metric, "a.npy", "b.csv").stdout


def test_points_take_two_files_and_a_metric(invoke, csv: Path) -> None:
    for arguments in (("--metric", "cosine", csv), (csv, csv)):
        result = invoke("solve", *arguments)
        assert result.exit_code == 2 and "--metric takes two files of points" in result.stderr
    result = invoke("solve", "--metric", "cosine", csv, "missing.npy")
    assert result.exit_code == 1 and "missing.npy" in result.stderr
    result = invoke("solve", "--metric", "hamming", csv, csv)
    assert result.exit_code == 2 and "squared_euclidean" in result.stderr


def test_a_file_above_the_memory_limit_is_streamed(invoke, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.random.default_rng(0).random((200, 300)))
    whole = json.loads(invoke("solve", "a.npy", "--json").stdout)
    streamed = json.loads(invoke("solve", "a.npy", "--json", "--memory-limit", "0.0001").stdout)
    assert streamed["objective"] == whole["objective"] and streamed["certificate"]["bound"] < 1e-12
    assert "200 x 300 float64, streamed" in invoke("plan", "a.npy", "--memory-limit", "0.0001").stdout


def test_unmatched_cost_stays_an_integer(invoke, csv: Path) -> None:
    answer = json.loads(invoke("solve", csv, "--json", "--unmatched-cost", "1").stdout)
    assert answer["objective"] == 2 and isinstance(answer["objective"], int)
    assert answer["row_to_col"].count(-1) >= 1
    assert json.loads(invoke("solve", csv, "--json", "--unmatched-cost", "0.5").stdout)["objective"] == 1.0
    assert invoke("solve", csv, "--unmatched-cost", "x").exit_code == 2


@pytest.mark.parametrize("method", ["auto", "core", "jv", "ssp"])
def test_methods_and_threads(invoke, method: str) -> None:
    cost = instances.generate("int:10", 60, 1)
    files.write_cost("a.npy", cost)
    answer = json.loads(invoke("solve", "a.npy", "--json", "--method", method, "--threads", 2).stdout)
    assert answer["objective"] == lapwing.solve(cost).objective
    assert answer["certificate"]["bound"] == 0


@pytest.mark.parametrize("duals", [False, True])
def test_output(invoke, csv: Path, tmp_path: Path, duals: bool) -> None:
    for suffix in (".npz", ".json", ".csv"):
        result = invoke("solve", csv, "--output", tmp_path / f"out{suffix}", *(["--duals"] if duals else []))
        assert result.exit_code == 0 and f"out{suffix}" in result.stdout
    with np.load(tmp_path / "out.npz", allow_pickle=False) as arrays:
        assert arrays["row_to_col"].tolist() == [1, 0, 2]
        assert (arrays["objective"], arrays["certificate_exact"], arrays["status"]) == (5, True, "optimal")
        assert ("u" in arrays) == duals
    answer = json.loads((tmp_path / "out.json").read_text())
    assert (answer["row_to_col"], answer["objective"], "v" in answer) == ([1, 0, 2], 5, duals)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == ("row,col,u,v" if duals else "row,col")
    assert [line.split(",")[:2] for line in lines[1:]] == [["0", "1"], ["1", "0"], ["2", "2"]]
    if duals:
        assert sum(float(x) for line in lines[1:] for x in line.split(",")[2:]) == 5
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "out.csv", "out.json", "out.npz"]


def test_csv_output_of_free_rows(invoke, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1\n9\n")
    assert invoke("solve", "a.csv", "--unmatched-cost", 3, "-o", "out.csv", "--duals").exit_code == 0
    assert (tmp_path / "out.csv").read_text().splitlines()[2].startswith("1,-1,3")


def test_unwritable_output_is_found_before_solving(invoke, csv: Path) -> None:
    result = invoke("solve", csv, "-o", "a.txt")
    assert result.exit_code == 1 and ".npz, .json, .csv" in one_line(result.stderr) and result.stdout == ""
    result = invoke("solve", csv, "-o", "absent/a.json")
    assert result.exit_code == 1 and "absent/a.json cannot be written: there is no folder" in one_line(result.stderr)
    assert result.stdout == ""


def test_answers_replace_nothing_that_is_read_or_written_too(invoke, tmp_path: Path) -> None:
    costs = np.random.default_rng(0).random((6, 6))
    np.savez("a.npz", cost=costs)
    before = Path("a.npz").read_bytes()
    Path("link.npz").symlink_to("a.npz")
    Path("same.npz").hardlink_to("a.npz")
    for output in ("a.npz", "./a.npz", "link.npz", "same.npz"):
        result = invoke("solve", "a.npz", "-o", output)
        assert result.exit_code == 1 and "would replace a.npz" in one_line(result.stderr), output
    result = invoke("solve", "a.npz", "--checkpoint", "a.npz")
    assert result.exit_code == 1 and "would replace a.npz" in one_line(result.stderr)
    result = invoke("solve", "a.npz", "--checkpoint", "c.npz", "-o", "c.npz")
    assert result.exit_code == 1 and "would replace c.npz" in one_line(result.stderr)
    assert Path("a.npz").read_bytes() == before and not Path("c.npz").exists()


def test_a_memory_limit_is_a_number(invoke, csv: Path) -> None:
    for limit in ("nan", "inf", "1e300"):
        result = invoke("solve", csv, "--memory-limit", limit)
        assert result.exit_code == 2 and "must be a finite number of GiB" in result.stderr


def test_empty_and_rectangular(invoke, tmp_path: Path) -> None:
    np.save(tmp_path / "empty.npy", np.empty((0, 3)))
    assert json.loads(invoke("solve", "empty.npy", "--json").stdout)["row_to_col"] == []
    (tmp_path / "tall.csv").write_text("5,1\n1,5\n0,0\n")
    answer = json.loads(invoke("solve", "tall.csv", "--json").stdout)
    assert (answer["objective"], sorted(answer["row_to_col"])) == (1, [-1, 0, 1])


def test_sparse_file_forbids_in_both_senses(invoke, tmp_path: Path) -> None:
    (tmp_path / "a.mtx").write_text("%%MatrixMarket matrix coordinate integer general\n2 2 3\n1 1 9\n1 2 1\n2 1 1\n")
    assert json.loads(invoke("solve", "a.mtx", "--json").stdout)["row_to_col"] == [1, 0]
    assert json.loads(invoke("solve", "a.mtx", "--json", "--maximize").stdout)["row_to_col"] == [1, 0]


# --- exit codes -------------------------------------------------------------------------------------------------------


def test_infeasible(invoke, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,inf,inf\n2,inf,inf\n1,1,1\n")
    result = invoke("solve", "a.csv", "--json")
    assert result.exit_code == 3
    assert "infeasible" in one_line(result.stderr)
    proof = json.loads(result.stdout)
    assert (proof["status"], sorted(proof["hall_rows"]), proof["hall_cols"]) == ("infeasible", [0, 1], [0])


def test_bad_input(invoke, tmp_path: Path) -> None:
    for name, content, words in (
        ("nan.csv", "1,nan\n2,3\n", "cost[0, 1] is nan"),
        ("bad.csv", "1,2\n3,x\n", "bad.csv, line 2: 'x' is not a number"),
        ("minus.csv", "1,-inf\n2,3\n", "cost[0, 1] is -inf"),
    ):
        (tmp_path / name).write_text(content)
        result = invoke("solve", name)
        assert (result.exit_code, result.stdout) == (1, "")
        assert words in one_line(result.stderr)
    result = invoke("solve", "absent.csv")
    assert (result.exit_code, one_line(result.stderr)) == (1, "lapwing: absent.csv: No such file or directory\n")
    assert invoke("solve", tmp_path).exit_code == 1


def test_usage(invoke, csv: Path) -> None:
    for arguments in (["solve"], ["solve", csv, "--method", "magic"], ["solve", csv, "--threads", 0], ["fly"]):
        assert invoke(*arguments).exit_code == 2


def test_time_limit(invoke) -> None:
    files.write_cost("a.npy", instances.generate("geometric", 3000, 1, dtype=np.float32))
    result = invoke("solve", "a.npy", "--time-limit", "0.001", "--json", "--output", "out.json")
    assert result.exit_code == 4
    answer = json.loads(result.stdout)
    assert answer["status"] == "time_limit"
    assert answer["lower_bound"] <= 1.81  # the optimum is about 1.8
    assert json.loads(Path("out.json").read_text())["status"] == "time_limit"


def test_errors_are_told_apart(invoke, csv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for error, code, words in (
        (MemoryError("no 8 GiB"), 1, "out of memory"),
        (lapwing.InternalError("u and v disagree"), 5, "bug in Lapwing"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ):

        def fail(*_: object, error: BaseException = error, **__: object) -> None:
            raise error

        monkeypatch.setattr(lapwing, "solve", fail)
        result = invoke("solve", csv)
        assert result.exit_code == code and words in one_line(result.stderr)


def test_help_tells_the_exit_codes(invoke) -> None:
    for arguments in (["--help"], ["solve", "--help"]):
        text = invoke(*arguments).stdout
        assert "infeasible" in text and "130  interrupted" in text


# --- processes of their own -------------------------------------------------------------------------------------------


def test_process_prints_and_fails_without_traceback(run_process, csv: Path) -> None:
    done = run_process("solve", csv)
    assert done.returncode == 0 and "objective:   5" in done.stdout and done.stderr == ""
    done = run_process("solve", "absent.npy")
    assert done.returncode == 1 and "Traceback" not in one_line(done.stderr)


def test_progress_goes_to_standard_error(run_process, tmp_path: Path) -> None:
    files.write_cost(tmp_path / "a.npy", instances.generate("disjoint", 1500, 1))
    done = run_process("solve", "a.npy", "--method", "jv", "--progress", "--json")
    assert json.loads(done.stdout)["status"] == "optimal"
    assert "matched" in done.stderr


def test_closed_pipe_is_quiet(csv: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "lapwing", "solve", str(csv), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way")
def test_interrupt(tmp_path: Path) -> None:
    files.write_cost(tmp_path / "a.npy", instances.generate("disjoint", 6000, 1))
    with subprocess.Popen(
        [sys.executable, "-m", "lapwing", "solve", "a.npy", "--method", "jv", "--progress"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_interrupts,
    ) as process:
        assert process.stderr is not None
        process.stderr.readline()  # the first line of progress: the solve is running
        start = time.perf_counter()
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=30)
        assert time.perf_counter() - start < 5
    assert process.returncode == 130
    assert rest.endswith("lapwing: interrupted\n") and "Traceback" not in rest


@pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way")
def test_terminated_by_a_scheduler(invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cost = hard_cost(4000)
    files.write_cost("a.npy", cost)
    solve_in_python = lapwing.solve

    def ended_by_a_signal(*arguments: object, **options: object) -> lapwing.Result:
        def end(progress: lapwing.Progress) -> None:
            if progress.objective < np.inf:  # not in a sample, of which nothing is kept
                os.kill(os.getpid(), signal.SIGTERM)

        return solve_in_python(*arguments, **options | {"progress": end})

    monkeypatch.setattr(lapwing, "solve", ended_by_a_signal)
    before = signal.getsignal(signal.SIGTERM)
    result = invoke("solve", "a.npy", "--method", "core", "--checkpoint", "run.npz")
    assert result.exit_code == 143 and result.stderr == "lapwing: terminated\n"
    assert read_checkpoint("run.npz").about["status"] == "running"
    assert signal.getsignal(signal.SIGTERM) is before
    monkeypatch.undo()
    assert solve_in_python(cost, checkpoint=tmp_path / "run.npz").status == "optimal"


def test_standard_input(run_process, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", [[4.0, 1], [2, 0]])
    for name, text in (("a.npy", None), ("b.csv", "4,1\n2,0\n")):
        if text is not None:
            (tmp_path / name).write_text(text)
        with (tmp_path / name).open("rb") as stream:
            done = subprocess.run(
                [sys.executable, "-m", "lapwing", "solve", "-", "--json"],
                stdin=stream,
                capture_output=True,
                cwd=tmp_path,
            )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["objective"] == 3 and json.loads(done.stdout)["file"] == "-"
    done = run_process("solve", "-", "--checkpoint", "run.npz")
    assert done.returncode == 2 and "standard input is none" in " ".join(done.stderr.split())
    done = run_process("solve", "-", "-", "--metric", "euclidean")
    assert done.returncode == 2 and "not both" in done.stderr


def test_devices(invoke, csv: Path) -> None:
    assert json.loads(invoke("plan", csv, "--json", "--device", "auto").stdout)["device"] == "cpu"
    assert "on the CPU: " in invoke("plan", csv, "--device", "auto").stdout
    assert invoke("solve", csv, "--device", "auto").exit_code == 0
    result = invoke("solve", csv, "--device", "tpu")
    assert result.exit_code == 1 and "'cuda:N' or 'auto', got 'tpu'" in one_line(result.stderr)


def test_tables_of_named_points(invoke, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("cell,x,y\nA,0,0\nB,1,1\n")
    (tmp_path / "b.tsv").write_text("y\tx\tcell\n1\t1\tq\n0\t0.5\tp\n")
    asked = ("solve", "--metric", "euclidean", "--x", "x,y", "--id", "cell", "a.csv", "b.tsv")
    assert "A -> p, B -> q" in invoke(*asked).stdout
    assert invoke(*asked, "-o", "answer.csv", "--checkpoint", "run.npz").exit_code == 0
    expected = "row,col,row_id,col_id,cost\n0,1,A,p,0.5\n1,0,B,q,0.0\n"
    assert (tmp_path / "answer.csv").read_text() == expected
    (tmp_path / "answer.csv").unlink()
    assert invoke("resume", "run.npz").exit_code == 0
    assert (tmp_path / "answer.csv").read_text() == expected
    for wrong in (("solve", "--x", "x", "a.csv"), ("solve", "--metric", "cosine", "--id", "cell", "a.csv", "b.tsv")):
        assert invoke(*wrong).exit_code == 2


def test_labels(invoke, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("task,wash,dry\nanna,4,1\nbert,2,0\n")
    assert "anna -> dry, bert -> wash" in invoke("solve", "--labels", "a.csv").stdout
    assert json.loads(invoke("solve", "--labels", "a.csv", "--json").stdout)["col_ids"] == ["wash", "dry"]
    result = invoke("solve", "a.csv")
    assert result.exit_code == 1 and "--labels" in result.stderr
