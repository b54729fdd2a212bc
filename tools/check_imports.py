"""Check that the package's stages import in one direction only (what they load: tests/test_import.py).

The flow is inputs -> Problem -> Plan -> method -> Certificate -> Result; the API alone sees all of it, the command line
sees the API. Every `import` of every module is read with `ast`, those inside functions included. Nor do modules of one
stage import each other in a circle. The folders of kernels/ include in one direction, too.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "lapwing"

# A module may import those of its own line and of the lines above it. A package is one stage, but for its modules that
# stand here by name.
STAGES = (
    ("errors", "_core", "atomic", "tensors"),
    ("gpu.runtime",),
    ("arrays", "matched"),
    ("costs", "progress"),
    ("images", "instances"),
    ("problem", "options", "prices", "methods"),
    ("inputs",),
    ("invalid",),
    ("plan",),
    ("certificate",),
    ("answer",),
    ("shortage", "shifted"),
    ("assignment", "unique"),
    ("result",),
    ("files", "request", "checkpoint"),
    ("cpu.large_costs",),
    ("cpu.solve",),
    ("cpu.rewritten", "cpu.held"),
    ("cpu.required_columns", "cpu.turned"),
    ("cpu.batch",),
    ("cpu.exact",),
    ("cpu.partial", "cpu.sparse_batch"),
    ("cpu", "gpu", "gpu.costs"),
    ("gpu.core",),
    ("gpu.certificate", "gpu.reference"),
    ("gpu.plan",),
    ("gpu.plan_several",),
    ("gpu.kinds",),
    ("gpu.backend", "gpu.early_end", "gpu.on_host"),
    ("gpu.batch",),
    ("backend", "torch_operator"),
    ("distributed",),
    ("api",),
    ("bipartite", "scaling"),
    ("compat", "jax", "torch"),
    ("__init__",),
    ("papers",),
    ("cli", "__main__"),
)
# The certificate stands on its own: it would prove little if it called what it has to judge.
_METHODS = {"plan", "methods", "cpu", "gpu.core", "gpu.reference"}
FORBIDDEN = {"certificate": _METHODS, "gpu.certificate": _METHODS}

# Folders of kernels/: a file may include those of its own folder and of these.
INCLUDES = {
    "common": set[str](),
    "costs": {"common"},
    "certificate": {"common", "costs"},
    "matching": {"common"},
    "batch": {"common", "matching"},
    "core": {"common", "costs", "matching"},
    "reference": {"common", "costs", "core"},
}
_INCLUDE = re.compile(r'^\s*#\s*include\s+"(\w+)/', re.M)

RANK = {name: rank for rank, names in enumerate(STAGES) for name in names}


def imported_stages(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, stage) for every import of a module of the package."""
    parent = ["lapwing", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = parent[: len(parent) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            # `from lapwing import inputs` names a stage in what is imported, `from lapwing.inputs import f` before it
            packages = ("lapwing", "lapwing.cpu", "lapwing.gpu")
            modules = [f"{origin}.{alias.name}" for alias in node.names] if origin in packages else [origin]
        else:
            continue
        for module in modules:
            head, _, rest = module.partition(".")
            if head == "lapwing":
                stage = stage_of(rest)
                yield node.lineno, stage if stage in RANK or (PACKAGE / f"{stage}.py").exists() else "__init__"


def circles() -> Iterator[str]:
    """Yield a message for every circle of modules, within a stage, too. Imports for types alone do not count."""
    files = {module_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
    imports = {module: _loaded_by(module, path, files.keys()) for module, path in files.items()}
    reach = {}
    for module in files:
        reached, ahead = set[str](), {module}
        while ahead:
            ahead = set[str]().union(*(imports[other] for other in ahead)) - reached
            reached |= ahead
        reach[module] = reached
    for circle in sorted({tuple(m for m in sorted(files) if m in reach[n] and n in reach[m]) for n in files}):
        if circle:
            yield f"{files[circle[0]]}: in a circle of imports: {', '.join(circle)}"


def module_of(path: Path) -> str:
    """The name of the module in a file of the package."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _loaded_by(module: str, path: Path, known: Collection[str]) -> set[str]:
    """The modules of the package that a module imports, at once or inside a function; all names are absolute."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing = [node for node in ast.walk(tree) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    skipped = {id(inner) for node in typing for inner in ast.walk(node)}
    loaded = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            loaded |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and id(node) not in skipped:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            extension = {name for name in names if name == "lapwing._core"}
            loaded |= names & set(known) or (set() if names == extension else {node.module})
    return (loaded & set(known)) - {module}


def stage_of(module: str) -> str:
    """The stage of a module, named from inside the package: a line of its own, or its package's."""
    own = ".".join(module.split(".")[:2])
    return own if own in RANK else own.partition(".")[0]


def backward_imports() -> Iterator[str]:
    """Yield a message for every import against the order, and for every module that the order does not know."""
    for path in sorted(PACKAGE.rglob("*.py")):
        stage = stage_of(".".join(path.relative_to(PACKAGE).with_suffix("").parts))
        if stage not in RANK:
            yield f"{path}: '{stage}' is no stage; give it a line in STAGES of {Path(__file__).name}"
            continue
        for line, other in imported_stages(path):
            if other not in RANK:
                yield f"{path}:{line}: imports '{other}', which is no stage"
            elif RANK[other] > RANK[stage]:
                yield f"{path}:{line}: '{stage}' imports '{other}', a later stage"
            elif other in FORBIDDEN.get(stage, ()):
                yield f"{path}:{line}: '{stage}' must not import '{other}'"


def backward_includes() -> Iterator[str]:
    """Yield a message for every `#include` of a kernel from a folder that is not its to use."""
    kernels = PACKAGE / "kernels"
    for path in sorted(kernels.rglob("*.cu*")):
        folder = path.relative_to(kernels).parts[0]
        for other in _INCLUDE.findall(path.read_text(encoding="utf-8")):
            if other != folder and other not in INCLUDES[folder]:
                yield f"{path}: '{folder}' includes '{other}'"


def main() -> int:
    """Print what is wrong; return the exit code."""
    problems = [*backward_imports(), *circles(), *backward_includes()]
    print("\n".join(problems) or "imports: in order")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
