"""Every table of the papers, with the counterpart of each of its columns.

Instances are of `lapwing.instances`, drawn anew. Sizes, ranges and numbers of instances are the papers'.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from lapwing.options import STAGES, Auction, Munkres, Ssp
from lapwing.papers.tables import Column, Table, grid, lines

CORE: Final = Column("core", "core")
RANGES: Final = ("int:0.001", "int:0.01", "int:0.1", "int:1", "int:10", "int:100", "int:1000")
CLASSES: Final = ("uniform", "geometric", "disjoint", "sanity", "lowrank:1", "lowrank:2", "lowrank:4", "lowrank:8")

#: Algorithm 1015 as its text has it, but for the comparison that would switch epsilon off (`Ssp`).
AS_PRINTED: Final = Ssp(text=("least_v", "picked_v", "last_v", "whole_gap", "any_gap", "in_order", "stop_early"))
_PLAIN: Final = Ssp(pricing=False)
_SEVERAL_GPUS: Final = "several GPUs"


def _date_nagi() -> tuple[Table, ...]:
    key, tree, classical = "date-nagi", "hungarian-tree", "hungarian-bfs"
    node = "AMD 6276 (8 cores), NVIDIA K20X"
    omp = tuple(
        Column(f"tree, {threads} thread{'s' if threads > 1 else ''}", tree, f"omp{threads}", device="cpu",
               threads=threads)
        for threads in (1, 8)
    )  # fmt: skip
    cuda = (
        Column("classical, GPU", classical, "cu_class", device="cuda"),
        Column("tree, GPU", tree, "cu_tree", device="cuda"),
    )
    groups = tuple(
        Column(f"iterations {k - 4}-{k}", tree, f"{k - 4}-{k}", f"statistic matched_by_{k}") for k in range(5, 36, 5)
    )

    def steps(label: str, printed: str, method: str, device: str, threads: int = 0) -> tuple[Column, ...]:
        names = {"compression": "compression", "forward": "forward", "dual": "dual_update"}
        kept = [name for name in names if name != "compression" or method == classical]
        within = "dual" if (method, device) == (tree, "cuda") else ""  # found with the next columns to enter
        return (
            *(Column(f"{label}: {name}", None if name == within else method, f"{printed}_{name}",
                     f"seconds {names[name]}", device, threads, remark="in forward") for name in kept),
            Column(f"{label}: all", method, f"{printed}_total", device=device, threads=threads),
        )  # fmt: skip

    scaling = tuple(
        Column(f"{name}, {part}{' efficiency' if efficiency else ''}",
               method if part == "overall" and not efficiency else None,
               f"{printed}_{part}{'_efficiency' if efficiency else ''}", device="cuda", remark=_SEVERAL_GPUS)
        for name, printed, method, parts in (("classical", "class", classical, ("compression", "search", "overall")),
                                             ("tree", "tree", tree, ("search", "overall")))
        for efficiency in (False, True) for part in parts
    )  # fmt: skip
    scaling = (*scaling, replace(CORE, device="cuda", remark=_SEVERAL_GPUS))
    timing = "theirs with set-up and cleanup, mean of 15 runs; ours the solve"
    one = "ours on one GPU; benchmarks/papers_over_ranks.py has several"
    return (
        Table("date-nagi-1", key, "Table 1: small instances, [0, n]", "s",
              (Column("objective", "core", "objective", "objective"), *omp, *cuda, CORE), lines(key, "1", 3), 1500, "1",
              node, timing),
        Table("date-nagi-2", key, "Table 2: rows assigned at the start and by five iterations each", "count",
              (Column("before the first dual update", tree, "initial", "statistic matched_before_update"), *groups),
              lines(key, "2"), 2000, "2", "",
              "their initial assignments are a largest matching of the zeros after the reduction; iterations are "
              "counted from there"),
        Table("date-nagi-3", key, "Table 3: large instances on one GPU", "s",
              (Column("objective", "core", "objective", "objective"),
               Column("before the first dual update", tree, "initial_assignments", "statistic matched_before_update"),
               *steps("tree, 8 threads", "omp8", tree, "cpu", 8), *steps("classical, GPU", "class", classical, "cuda"),
               *steps("tree, GPU", "tree", tree, "cuda"), CORE),
              lines(key, "3", 3), 5000, "3", node,
              f"{timing}; on a GPU our tree finds the next dual update in its forward pass; for [0, 10n] the paper "
              "prints the objectives of [0, n] again, which are left out"),
        Table("date-nagi-4", key, "Table 4: weak scaling, [0, 10n]", "s", scaling, lines(key, "4"), 0, "4",
              f"1 to 16 x {node}", one),
        Table("date-nagi-5", key, "Table 5: strong scaling, [0, 10n]", "s", scaling, lines(key, "5"), 0, "5",
              f"1 to 16 x {node}", one),
    )  # fmt: skip


def _lopes() -> tuple[Table, ...]:
    key = "lopes"
    cuda, c = Column("CUDA", "munkres", "cuda", device="cuda"), Column("C", "munkres", "cpu", device="cpu", threads=1)
    steps = tuple(f"step_{k}" for k in range(1, 7))
    hidden = tuple(
        Column(f"{step} {column.label}", "munkres", "", f"seconds {step}", column.device, column.threads, shown=False)
        for step in steps for column in (c, cuda)
    )  # fmt: skip
    by_step = tuple(
        Column(step.replace("_", " "), None, step, formed=("quotient", f"{step} C", f"{step} CUDA")) for step in steps
    )
    unseen = (replace(c, printed="", shown=False), replace(cuda, printed="", shown=False))
    whole = Column("global", None, "global", formed=("quotient", "C", "CUDA"))
    others = (
        Column("tree (O3)", "hungarian-tree"),
        Column("shortest paths (SP)", _PLAIN),
        Column("auction (A)", "auction"),
    )
    over = tuple(
        Column(f"{column.label} / O4", None, formed=("quotient", column.label, "munkres (O4)")) for column in others
    )
    on_cpu = tuple(replace(each, device="cpu", threads=1) for each in (Column("munkres (O4)", "munkres"), *others))
    on_gpu = (Column("munkres (O4)", "munkres", device="cuda"), replace(others[0], device="cuda"))
    plot, a_cpu = "the paper has a plot alone", "a CPU that is not named"
    return (
        Table("lopes-1", key, "Table 1: CUDA and C", "ms", (cuda, c, CORE), lines(key, "1"), 1024, "1",
              "GTX 970; Intel i7-6700K for C"),
        Table("lopes-2", key, "Table 2: time of C over time of CUDA", "factor",
              (*unseen, replace(whole, label="speedup", printed="speedup")), lines(key, "2"), 512, "2",
              "GTX 970 against Intel i7-6700K"),
        Table("lopes-3", key, "Table 3: the same by step, range n", "factor", (*hidden, *unseen, *by_step, whole),
              lines(key, "3"), 512, "3", "GTX 970 against Intel i7-6700K"),
        Table("lopes-4", key, "Table 4: CUDA on a Tesla K20c", "ms", (cuda, CORE), lines(key, "4"), 512, "4",
              "Tesla K20c"),
        Table("lopes-figure-4", key, "Figure 4: CPU methods over the classical one, range n", "factor",
              (*on_cpu, *over), grid(("int:1",), (512, 1024, 2048, 4096, 8192)), 1024,
              machine=a_cpu, note=f"{plot}; sizes are those of its tables", device="cpu"),
        Table("lopes-figure-5", key, "Figure 5: the same by range", "factor", (*on_cpu, *over),
              grid(RANGES, (2048,)), 0, machine=a_cpu,
              note=f"{plot}; the ranges are those of the report of 2022", device="cpu"),
        Table("lopes-figure-6", key, "Figure 6: the tree over the classical method in CUDA", "factor",
              (*on_gpu, Column("tree (O3) / O4", None, formed=("quotient", "tree (O3)", "munkres (O4)"))),
              grid(("int:0.1", "int:1", "int:10"), (512, 1024, 2048, 4096, 8192)), 0, machine="GTX 970",
              note=plot),
        *(Table(f"lopes-figure-{number}", key, f"Figure {number}: the share of each step, {cls}", "share",
                (Column("munkres", "munkres", quantity="shares"),), grid((cls,), (512, 1024, 2048, 4096, 8192)), 1024,
                machine="GTX 970", note=f"{plot}, of the steps in CUDA")
          for number, cls in zip((10, 11, 12), ("int:0.1", "int:1", "int:10"), strict=True)),
    )  # fmt: skip


def _report_2021() -> tuple[Table, ...]:
    key, machine = "report-2021", "RTX 2080 Ti"
    labels = ("no stage", *(f"to ({k})" for k in range(len(STAGES))))
    sets = [Column(label, Munkres(stages=STAGES[:k]), "baseline" if k == 0 else f"opt{k - 1}")
            for k, label in enumerate(labels)]  # fmt: skip
    gains = [Column(f"gain of ({k})", None, f"gain{k}", formed=("difference", labels[k], labels[k + 1]))
             for k in range(len(STAGES))]  # fmt: skip
    unseen = [replace(column, printed="", shown=False) for column in sets]
    steps = [Column(f"by ({k})", None, f"increment{k}", formed=("quotient", labels[k], labels[k + 1]))
             for k in range(len(STAGES))]  # fmt: skip
    totals = [Column(f"up to ({k})", None, f"total{k}", formed=("quotient", labels[0], labels[k + 1]))
              for k in range(len(STAGES))]  # fmt: skip
    note = ("each stage on top of those before it; on a CPU (1) and (2) alone mean something; their costs are float64 "
            "(whether whole is not stated), ours int32")  # fmt: skip
    profile = tuple(
        Column(f"{kernel}: {label}", None, f"{kernel}_{figure}", remark="needs a profiler")
        for kernel in ("step_6_add_sub", "compress_matrix", "add_sub_compress_matrix")
        for figure, label in (("l1", "hits in L1"), ("compute", "compute"), ("memory", "memory"))
    )
    return (
        Table("report-2021-1", key, "Table I: profile of the kernels before and after fusion", "percent", profile,
              lines(key, "I"), 0, "I", machine, "hits in the first cache, and throughput of the peak's"),
        Table("report-2021-2", key, "Table II: each optimisation, range 1000n", "ms", (*sets, *gains, CORE),
              lines(key, "II"), 512, "II", machine, note),
        Table("report-2021-3", key, "Table III: its speedup, over the one before and over none", "factor",
              (*unseen, *steps, *totals), lines(key, "III"), 512, "III", machine, note),
    )  # fmt: skip


def _report_2022() -> tuple[Table, ...]:
    key, machine = "report-2022", "RTX 2080 Ti; Intel i7-4790 for Gurobi and JVC_cpu"
    counts = {
        "step_1": "one",
        "step_2": "one",
        "step_3": "covers",
        "step_4": "statistic levels",
        "step_5": "statistic iterations",
        "step_6": "statistic dual_updates",
    }
    step_counts = tuple(Column(step.replace("_", " "), "munkres", step, counts[step]) for step in counts)
    unstated = lines(key, "III")  # no n is printed
    solvers = (
        Column("Gurobi", None, "gurobi"),
        Column("LAP16", None, "lap16"),
        Column("LAP19", Munkres(stages=()), "lap19", device="cuda"),
        Column("JVC_cpu", "jv", "jvc_cpu", device="cpu", threads=1),
        Column("JVC_gpu", "ssp", "jvc_gpu", device="cuda"),
        Column("Our code", "munkres", "ours"),
        CORE,
    )
    by_range = zip(range(4, 11), ("IV", "V", "VI", "VII", "VIII", "IX", "X"), RANGES, strict=True)
    return (
        Table("report-2022-3", key, "Table III: how often each step runs", "count", step_counts,
              tuple(replace(line, n=n) for line in unstated for n in (512, 8192)), 512, "III", "",
              "n is not stated; ours is beside the same figures for both sizes, of which 8192 is likelier; step 4 "
              "counts levels of the search"),
        *(Table(f"report-2022-{number}", key, f"Table {roman}: six solvers, range {cls.removeprefix('int:')}n", "ms",
                solvers, lines(key, roman), 1024, roman, machine,
                "LAP16 is Date and Nagi's program, of which the reports do not agree whether it is classical; Gurobi "
                "ran out of memory at 8192; their costs are whole numbers in float64, ours int32, with R n rounded to "
                "the nearest")
          for number, roman, cls in by_range),
    )  # fmt: skip


def _algorithm_1015() -> tuple[Table, ...]:
    key, rows = "algorithm-1015", "rows"
    machine = "2 x Xeon E5-2650 v2 (16 cores)"
    program = Column("with epsilon, program", "ssp", quantity=rows)
    counted = (
        Column("without epsilon", _PLAIN, "without_epsilon", rows),
        Column("with epsilon", AS_PRINTED, "with_epsilon", rows, device="cpu"),
    )
    others = tuple(
        Column(label, None, printed) for label, printed in (("Date and Nagi, 8 threads", "date_nagi_omp8"),
                                                            ("Date and Nagi, GPU", "date_nagi_gpu"),
                                                            ("Date and Nagi, 8 GPUs", "date_nagi_8gpu"))
    )  # fmt: skip
    threads = tuple(
        Column(f"{count} threads", "ssp", f"omp{count}", device="cpu", threads=count) for count in (8, 16, 32)
    )
    gpus = (
        Column("GTX 980", "ssp", "gtx980", device="cuda"),
        Column("T4", "ssp", "t4", device="cuda"),
        Column("number of GTX 980", None, "gtx980_gpus"),
        Column("number of T4", None, "t4_gpus"),
    )
    by_threads = tuple(
        Column("1 thread" if count == 1 else f"{count} threads", "ssp", device="cpu", threads=count)
        for count in (1, 2, 4, 8, 16, 32)
    )
    hard = ("uniform", "geometric", "disjoint", "sanity")
    huge = grid(hard, (1024000,))
    plot = "the paper has a plot alone"
    unstated = ("the number of threads is not stated; ours has one unless --threads says otherwise; five of their "
                "times are printed with two commas, of which the last stands for the decimal point")  # fmt: skip
    return (
        Table("algorithm-1015-1", key, "Table 1: rows evaluated", rows,
              (*counted, program, replace(CORE, quantity=rows)), lines(key, "1", 5), 1000, "1", "",
              "the reads of the start do not count; 'with epsilon' is as the text has it, 'program' as the authors' "
              "published program has it", "cpu"),
        Table("algorithm-1015-2", key, "Table 2: against the auction", "s",
              (Column("auction, plain", Auction("plain"), "auction"), Column("auction", "auction", "optimised_auction"),
               Column("Algorithm 1015", "ssp", "ours"), CORE), lines(key, "2"), 1000, "2", machine, unstated),
        Table("algorithm-1015-3", key, "Table 3: against Date and Nagi", "s", (*others, *threads, *gpus, CORE),
              tuple(replace(line, seeds=1) for line in lines(key, "3")), 0, "3",
              f"{machine}; 1 to 8 GTX 980; 1 to 8 Tesla T4",
              "their times of Date and Nagi on GPUs are those of the augmenting path search alone, and for 8 GPUs of "
              "16 at 10000 to 20000 and 40000; the whole took 11.07, 18.25, 28.50 s on one, 7.17, 9.50, 12.03, 18.58, "
              "23.59 s; their 8 threads at 14142 are those of 15000"),
        Table("algorithm-1015-figure-4", key, "Figure 4: Table 1, drawn", rows, counted, lines(key, "1", 5), 1000, "1",
              device="cpu"),
        Table("algorithm-1015-figure-5", key, "Figure 5: run time by class, one thread", "s",
              (replace(counted[0], printed="", quantity="time", device="cpu", threads=1),
               replace(program, label="with epsilon", quantity="time", device="cpu", threads=1), CORE),
              grid(CLASSES, (1000, 2000, 4000, 8000, 16000, 32000)), 1000, machine=machine, note=plot, device="cpu"),
        Table("algorithm-1015-figure-6", key, "Figure 6: run time by threads", "s", by_threads,
              grid(hard, (1000, 2000, 4000, 8000, 16000, 32000)), 2000, machine=machine,
              note=f"{plot}, up to 1,024,000 with a cache of rows; ours has the costs in memory", device="cpu"),
        *(Table(f"algorithm-1015-figure-{number}", key, f"Figure {number}: run time on eight {gpu}", "s",
                (Column(f"eight {gpu}", None, remark=_SEVERAL_GPUS),), huge, 0, machine=f"8 x {gpu}", note=plot)
          for number, gpu in ((7, "GTX 980"), (8, "Tesla T4"))),
    )  # fmt: skip


#: Every table, by the name that `lapwing papers --table` takes.
TABLES: Final[dict[str, Table]] = {
    table.name: table for table in (*_date_nagi(), *_lopes(), *_report_2021(), *_report_2022(), *_algorithm_1015())
}
