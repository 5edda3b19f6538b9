#!/bin/sh
#
# test.sh: installs what the tests need, builds, and runs every suite; then
# unit tests, fuzz targets, t/helper, t/*.t and t/chaos under ASan and UBSan.  The
# last line is "N passed, N failed".
#
#   test.sh SUITE...   only these: lint unit fuzz lua helper nginx e2e chaos asan

set -u
cd "$(dirname "$0")"
. tools/install.sh

[ $# -gt 0 ] || set -- lint unit lua helper nginx e2e chaos asan

started=$(date +%s)
budget=${TEST_BUDGET:-3300}
out=$(mktemp)
trap 'rm -f "$out"' EXIT

install_packages test

case " $* " in
    *' e2e '*) install_npm ;;
esac

passed=0
failed=0


run()
{
    BUILD=$1
    shift
    TEST_BUDGET=$((budget - $(date +%s) + started))
    export BUILD TEST_BUDGET

    if [ "$TEST_BUDGET" -lt 30 ]; then
        say "no time left for: $*"
        failed=$((failed + 1))
        return
    fi

    if ! make --no-print-directory build; then
        say "the build failed"
        failed=$((failed + 1))
        return
    fi

    # its last line is for this script

    t/run "$@" 2>&1 | tee "$out" | grep -a --line-buffered -v -E '^[0-9]+ passed, [0-9]+ failed$'
    set -- $(tail -n 1 "$out")

    case "${1:-} ${2:-} ${3:-} ${4:-}" in
        [0-9]*" passed, "[0-9]*" failed")
            passed=$((passed + $1))
            failed=$((failed + $3)) ;;
        *)
            failed=$((failed + 1)) ;;
    esac
}


suites=
asan=

for suite in "$@"; do
    case $suite in
        asan) asan=1 ;;
        lint) if tools/lint.sh; then passed=$((passed + 1)); else failed=$((failed + 1)); fi ;;
        *)    suites="$suites $suite" ;;
    esac
done

[ -z "$suites" ] || run release $suites
[ -z "$asan" ] || run sanitize unit fuzz helper nginx chaos

# what is left in build/ is what people use

[ -z "$asan" ] || make -s build BUILD=release

echo
echo "$passed passed, $failed failed"

[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
