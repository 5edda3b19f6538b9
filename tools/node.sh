#!/bin/sh
#
# node.sh path: prints the pinned Node of t/e2e, else the one on PATH.

here=$(cd "$(dirname "$0")/.." && pwd)

case $(uname -m) in
    x86_64)  cpu=x64 ;;
    aarch64) cpu=arm64 ;;
    *)       cpu=none ;;
esac

node=$here/t/e2e/node_modules/node-linux-$cpu/bin/node

if [ -x "$node" ]; then
    echo "$node"
else
    command -v node
fi
