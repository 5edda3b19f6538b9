#!/bin/sh
#
# run.sh [FILE...]: the tests of this folder, with the Node and the clients
# that package-lock.json pins.

set -eu
cd "$(dirname "$0")/../.."
. tools/install.sh

install_npm
node=$(tools/node.sh path)

[ $# -gt 0 ] || set -- t/e2e/*.test.mjs t/e2e/mock-llm/*.test.mjs

exec "$node" --test --test-reporter=tap --test-concurrency=1 --test-timeout=600000 "$@"
