#!/bin/sh
#
# nginx-wrapper.sh BUILD NGINX CC: prints the script build/nginx, which the
# tests run in place of nginx: the one of the source tree when there was one,
# and with the sanitizers' runtime preloaded when nginx itself lacks it.

build=$1
nginx=$2
cc=$3
stock=

if [ -z "$nginx" ]; then
    nginx=$(command -v nginx || command -v /usr/sbin/nginx || echo /usr/sbin/nginx)
    stock=1
fi

echo '#!/bin/sh'

if [ "$build" = sanitize ]; then

    # pools are freed by leaving: leaks of a worker are valgrind's part

    cat << 'END'
ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0:abort_on_error=0:detect_odr_violation=0}
UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export ASAN_OPTIONS UBSAN_OPTIONS
END

    if [ -n "$stock" ]; then
        asan=$($cc -print-file-name=libasan.so)
        ubsan=$($cc -print-file-name=libubsan.so)

        # a program that was compiled without them starts with the real files,
        # not with the linker scripts of the same names

        echo "LD_PRELOAD=\"$(readlink -f "$asan") $(readlink -f "$ubsan")\${LD_PRELOAD:+ \$LD_PRELOAD}\""
        echo 'export LD_PRELOAD'
    fi
fi

echo "exec $nginx \"\$@\""
