#!/bin/sh
#
# Prints the BUILD that make fuzz takes: "fuzz" where clang comes with
# libFuzzer (Debian: clang and libclang-rt-dev), else "sanitize".

out=$(mktemp) || exit 1
trap 'rm -f "$out"' EXIT

if echo 'int LLVMFuzzerTestOneInput(const char *p, long n) { return 0; }' \
   | clang -fsanitize=fuzzer,address,undefined -x c -o "$out" - 2> /dev/null
then
    echo fuzz
else
    echo sanitize
fi
