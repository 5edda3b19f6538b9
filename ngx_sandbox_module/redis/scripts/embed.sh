#!/bin/sh
#
# Embeds Lua scripts for Redis in a C header:
#
#     embed.sh OUT.h FILE.lua...
#
# A file is named NAME-KEYS.lua, KEYS being the number of its keys, and becomes
# the index NGX_SANDBOX_SCRIPT_NAME and a row of ngx_sandbox_redis_scripts[]:
# name, number of keys, SHA-1 digest, body.  The table is defined where
# NGX_SANDBOX_REDIS_SCRIPTS_DEFINE is, which is one .c file.

set -eu

LC_ALL=C        # bytes, whatever they mean
export LC_ALL

fail()
{
    echo "embed.sh: $1" >&2
    exit 1
}

[ $# -ge 2 ] || fail "usage: embed.sh OUT.h FILE.lua..."

out=$1
shift

tmp=$out.$$
trap 'rm -f "$tmp" "$tmp.rows"' EXIT
trap 'exit 1' HUP INT TERM

# A line of Lua becomes a line of C.  What needs no escape in C11 is passed on;
# "?" does, because of trigraphs.

tab=$(printf '\t')
cr=$(printf '\r')

body()
{
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/?/\\?/g' -e "s/$tab/\\\\t/g" -e "s/$cr/\\\\r/g" "$1" \
        | awk '{ if (NR > 1) { print "\\n\"" } printf "                 \"%s", $0 }'

    # awk does not tell whether the last line was ended

    if [ -n "$(tail -c 1 "$1")" ]; then
        printf '"'
    else
        printf '\\n"'
    fi
}

n=0
names=" "

{
    echo "/* Made by embed.sh from Lua files, which are what to edit. */"
    echo
    echo "#ifndef _NGX_SANDBOX_REDIS_SCRIPTS_H_INCLUDED_"
    echo "#define _NGX_SANDBOX_REDIS_SCRIPTS_H_INCLUDED_"
    echo
    echo "#include \"ngx_sandbox_redis.h\""
    echo
    echo
} > "$tmp"

: > "$tmp.rows"

for file in "$@"; do

    [ -s "$file" ] || fail "\"$file\" is missing or empty"

    base=${file##*/}

    echo "$base" | grep -Eq '^[a-z][a-z0-9_]*-(0|[1-9][0-9]*)\.lua$' \
        || fail "\"$file\" is not named NAME-KEYS.lua"

    name=${base%-*}
    keys=${base##*-}
    keys=${keys%.lua}

    case $names in
    *" $name "*)
        fail "two scripts are named \"$name\""
        ;;
    esac

    names="$names$name "

    [ "$(tr -d '\000' < "$file" | wc -c)" -eq "$(wc -c < "$file")" ] \
        || fail "\"$file\" holds a null byte"

    digest=$(sha1sum < "$file")
    digest=${digest%% *}

    macro=$(echo "$name" | tr 'a-z' 'A-Z')

    printf '#define NGX_SANDBOX_SCRIPT_%-20s %d\n' "$macro" "$n" >> "$tmp"

    {
        printf '    { ngx_string("%s"), %s,\n' "$name" "$keys"
        printf '      ngx_string("%s"),\n' "$digest"
        printf '      ngx_string(\n'
        body "$file"
        printf ') },\n\n'
    } >> "$tmp.rows"

    n=$((n + 1))
done

{
    printf '\n#define NGX_SANDBOX_SCRIPTS  %d\n' "$n"
    echo
    echo
    echo "#ifdef NGX_SANDBOX_REDIS_SCRIPTS_DEFINE"
    echo
    echo "const ngx_sandbox_redis_script_t  ngx_sandbox_redis_scripts[] = {"
    echo
    cat "$tmp.rows"
    echo "    { ngx_null_string, 0, ngx_null_string, ngx_null_string }"
    echo "};"
    echo
    echo
    echo "const ngx_uint_t  ngx_sandbox_redis_nscripts = NGX_SANDBOX_SCRIPTS;"
    echo
    echo "#endif"
    echo
    echo
    echo "#endif /* _NGX_SANDBOX_REDIS_SCRIPTS_H_INCLUDED_ */"
} >> "$tmp"

mv "$tmp" "$out"
