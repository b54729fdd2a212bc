#!/usr/bin/env bash
# All that wants an NVIDIA GPU, which continuous integration has not: the tests, compute-sanitizer, the benchmarks.
#
#     tools/check_gpu.sh FOLDER [compile tests sanitizers single batches growth crossover sources papers]
#
# Without names, every step in this order. Each leaves a log, and benchmarks their results, in FOLDER; a line says how it
# ended and how long it took. Uses the Lapwing that $PYTHON (python3) imports, with $JOBS (4) processes side by side where
# that does not disturb a timing.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p "${1:?a folder for the logs}"
folder=$(realpath "$1")
shift
python=${PYTHON:-python3} jobs=${JOBS:-4} failures=0
export LAPWING_CACHE_DIR=${LAPWING_CACHE_DIR:-$folder/cache} PYTHONUNBUFFERED=1

# step NAME COMMAND...: runs it, with its output in FOLDER/NAME.log.
step() {
    local name=$1 began=$SECONDS
    shift
    if "$@" >"$folder/$name.log" 2>&1; then
        echo "$name: passed in $((SECONDS - began)) s"
    else
        echo "$name: FAILED after $((SECONDS - began)) s; the end of $folder/$name.log:"
        tail -25 "$folder/$name.log"
        failures=$((failures + 1))
    fi
}

# The compiler holds a lock, so programs are compiled faster by several processes than by several threads.
run_compile() {
    local dtypes=(float32 float64 float16 bfloat16 int32 int64 int8 int16 uint8 uint16 uint32)
    "$python" -m lapwing info && printf '%s\n' "${dtypes[@]}" |
        xargs -P "$(nproc)" -I {} "$python" -m lapwing warmup --dtype {} --jobs 2
}

run_tests() {
    "$python" -m pytest -m gpu -q -p no:cacheprovider --numprocesses="$jobs" --dist=worksteal --durations=10 tests/gpu tests/properties
}

# API calls that answer "no", like a query for memory that is not a GPU's, are no errors: only kernels are judged.
run_sanitizers() {
    for tool in memcheck racecheck initcheck synccheck; do
        echo "== $tool"
        timeout 300 compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 9 \
            "$python" tests/gpu/small_problems.py "$([ $tool = memcheck ] && echo 200 || echo 40)" || return 1
        timeout 300 compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 9 \
            "$python" tests/gpu/small_sparse_problems.py "$([ $tool = memcheck ] && echo 60 || echo 24)" || return 1
    done
}

run_single() { "$python" -m benchmarks.gpu_single --output "$folder/gpu_single.json"; }
run_batches() { "$python" -m benchmarks.gpu_batches --output "$folder/gpu_batches.json"; }
run_growth() { "$python" -m benchmarks.gpu_growth --output "$folder/gpu_growth.json" --picture "$folder/gpu_growth.png"; }
run_crossover() { "$python" -m benchmarks.gpu_crossover --output "$folder/gpu_crossover.json"; }
run_papers() { "$python" -m benchmarks.gpu_papers --output "$folder/gpu_papers.json"; }
run_sources() { "$python" -m benchmarks.gpu_sources --output "$folder/gpu_sources.json"; }

for name in "${@:-compile}" $([ $# = 0 ] && echo tests sanitizers single batches growth crossover sources papers); do
    step "$name" "run_$name"
done
exit $((failures > 0))
