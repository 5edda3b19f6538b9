#!/bin/sh
#
# Embeds a text in a C header:
#
#     embed.sh OUT.h NAME FILE
#
# defines the string NAME.  What needs no escape in C11 is passed on.

set -eu

LC_ALL=C        # bytes, whatever they mean
export LC_ALL

[ $# -eq 3 ] || { echo "usage: embed.sh OUT.h NAME FILE" >&2; exit 1; }

tmp=$1.$$
trap 'rm -f "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

{
    echo "/* Made by embed.sh from ${3##*/}, which is what to edit. */"
    echo
    echo "static const char  $2[] ="
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/?/\\?/g' -e 's/^/    "/' -e 's/$/\\n"/' "$3"
    echo "    ;"
} > "$tmp"

mv "$tmp" "$1"
