#!/bin/sh
#
# port-holder.sh PORT: prints who listens on a TCP port; fails when nobody does.

port=$(printf '%04X' "$1")
inode=$(cat /proc/net/tcp /proc/net/tcp6 2> /dev/null \
        | awk -v port="$port" '$4 == "0A" && $2 ~ ":" port "$" { print $10; exit }')

if [ -z "$inode" ]; then
    exit 1
fi

for fd in /proc/[0-9]*/fd/*; do
    if [ "$(readlink "$fd" 2> /dev/null)" = "socket:[$inode]" ]; then
        pid=${fd#/proc/}
        pid=${pid%%/*}
        echo "process $pid: $(tr '\0' ' ' < "/proc/$pid/cmdline")"
        exit 0
    fi
done

echo "a process of another user"
