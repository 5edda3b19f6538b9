#!/bin/sh
#
# lint.sh: rules of the house that a machine can check; clang-tidy too when it
# is installed (CLANG_TIDY=off leaves it out).

cd "$(dirname "$0")/.." || exit 1

bad=0
sources=$(find src ngx_sandbox_module t/unit t/fuzz -name '*.[ch]' | sort)


complain()
{
    echo "$*" >&2
    bad=1
}


# prints nothing when all is well

found()
{
    what=$1
    shift
    lines=$("$@" | head -n 20)

    if [ -n "$lines" ]; then
        complain "$what:
$lines"
    fi
}


for list in SBX_SRCS SANDBOXCTL_SRCS NGX_SANDBOX_SRCS SANDBOX_HELPER_SRCS; do
    for file in $(make -s --no-print-directory -f src/sources.mk \
                  -f ngx_sandbox_module/sources.mk --eval "p: ; @echo \$($list)" p)
    do
        [ -f "$file" ] || complain "$list names $file, which does not exist"
    done
done

found "two .c files of one base name (nginx would build one of them)" \
    sh -c "find src ngx_sandbox_module -name '*.c' | sed 's#.*/##' | sort | uniq -d"

found "files over 600 lines" \
    sh -c "wc -l $(echo $sources) | awk '\$1 > 600 && \$2 != \"total\"'"

found "tabs, or blanks at the end of a line" grep -nE "$(printf '\t')|[ ]+\$" $sources
found "// comments" grep -nE '^[^"]*[^:"]//' $sources
found "lines over 160 columns" awk 'length > 160 { print FILENAME ":" FNR }' $sources

found "src/ knows nothing of nginx, hiredis or libcurl" \
    grep -nE '#include.*(ngx_|hiredis|curl)' $(find src -name '*.[ch]')

found "paths of one machine, or names of registries" \
    git grep --untracked -nIE '(/work|/root)/|/tmp/s/|"resolved":' -- . ':!tools/lint.sh'

if ! tools/nginx-conf.sh | cmp -s - conf/nginx.conf.example; then
    complain "conf/nginx.conf.example is not what its template gives: tools/nginx-conf.sh > conf/nginx.conf.example"
fi

for script in run.sh test.sh .ci/run tools/*.sh t/e2e/run.sh t/run-unit t/fuzz/run; do
    sh -n "$script" || bad=1
done

for script in demo/agent t/run t/fuzz/seeds; do
    perl -c "$script" 2> /dev/null || complain "$script does not compile"
done

if [ "${CLANG_TIDY:-on}" != off ] && command -v clang-tidy > /dev/null; then
    incs=$(find src ngx_sandbox_module/provider/helper -type d | sed 's/^/-I/')

    clang-tidy --quiet --warnings-as-errors='*' \
        --checks='-*,clang-analyzer-*,bugprone-*,-bugprone-easily-swappable-parameters,-bugprone-narrowing-conversions,-bugprone-assignment-in-if-condition,-bugprone-multi-level-implicit-pointer-conversion,-bugprone-implicit-widening-of-multiplication-result,-bugprone-not-null-terminated-result,-clang-analyzer-security.insecureAPI.*,-clang-analyzer-security.FloatLoopCounter,-clang-analyzer-valist.Uninitialized' \
        $(find src -name '*.c') -- -std=c11 -D_GNU_SOURCE $incs 2> /dev/null || bad=1
fi

[ $bad -eq 0 ] && echo "lint: nothing to complain about"
exit $bad
