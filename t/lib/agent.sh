# What a scripted agent says and does; read by the agents of t/*.t and of t/e2e.
# It lies beside the agent, and so do its gates (t/lib/SandboxRun.pm).

gates=${0%/*}
number=0

init() { printf '{"type":"system","subtype":"init","session_id":"%s","model":"m"}\n' "$1"; }

say() {
    number=$((number + 1))
    printf '{"type":"assistant","message":{"id":"m%d","role":"assistant","content":[{"type":"text","text":"%s"}]},"parent_tool_use_id":null}\n' "$number" "$1"
}

result() { printf '{"type":"result","subtype":"success","is_error":false,"result":"done","usage":{"input_tokens":3,"output_tokens":2}}\n'; }

hold() {
    tries=0
    until [ -e "$gates/gate-$1" ]; do
        tries=$((tries + 1))
        [ $tries -lt 10000 ] || exit 1
        sleep 0.02
    done
}

alive() { sh -c 'echo $PPID' > "$gates/.pid-$1"; mv "$gates/.pid-$1" "$gates/pid-$1"; }
