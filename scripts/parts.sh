#!/usr/bin/env bash
# Runs targets of the Makefile one after the other, and says in the end how long each took.
# Usage: parts.sh TITLE TARGET...
# PARTS_LOG: a file to which the times are added, one line a target; a caller that is a part itself prints it.
set -euo pipefail

title=$1
shift
log=${PARTS_LOG:-$(mktemp)}
own=$(mktemp)
trap 'rm -f "$own"' EXIT

say_times() {
    echo "$title: how long each part took"
    awk -F '\t' '{ printf "  %-14s %3d min %2d s  %s\n", $1, $2 / 60, $2 % 60, $3 }' "$own"
}

for target in "$@"; do
    begin=$SECONDS
    if PARTS_LOG=$log make --no-print-directory "$target"; then ending=passed; else ending=FAILED; fi
    printf '%s\t%d\t%s\n' "$target" "$((SECONDS - begin))" "$ending" | tee -a "$own" >> "$log"
    if [ "$ending" = FAILED ]; then
        say_times >&2
        echo "$title: make $target FAILED" >&2
        exit 1
    fi
done
say_times
echo "$title: all passed"
