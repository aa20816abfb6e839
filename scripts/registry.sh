#!/usr/bin/env bash
# A registry of schemas on loopback for tests: Apicurio, which also speaks as Confluent's does. It keeps all in memory.
#
# Usage: registry.sh start FOLDER PORT   starts one, waits until it answers, and prints its address
#        registry.sh stop FOLDER         stops it
#
# Maven brings it, checked by its hash; it is kept in ~/.cache/streamshed, or in $STREAMSHED_CACHE. Exit code 69: it
# cannot be had.
set -euo pipefail

version=3.0.9 # the last that Java 17 runs
hash=2b28181501a20cbf6efcd77f9b7153908fc01f3d3a7c32024c0bd9e1b04c8a43
cache="${STREAMSHED_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/streamshed}/apicurio-$version"
unavailable=69
patience_seconds=300

fetch() {
    local scratch archive
    [ -d "$cache" ] && return 0
    command -v mvn >/dev/null || { echo "registry.sh: Maven (mvn) is not installed, which brings it" >&2; exit $unavailable; }
    mkdir -p "$(dirname "$cache")"
    scratch="$(mktemp -d "$cache.XXXXXX")"
    if ! mvn --quiet --batch-mode org.apache.maven.plugins:maven-dependency-plugin:2.8:copy \
        "-Dartifact=io.apicurio:apicurio-registry-app:$version:tar.gz:all" "-DoutputDirectory=$scratch" >"$scratch/maven.log" 2>&1; then
        echo "registry.sh: Maven cannot fetch Apicurio $version:" >&2
        tail -n 3 "$scratch/maven.log" >&2
        rm -rf "$scratch"
        exit $unavailable
    fi
    archive="$scratch/apicurio-registry-app-$version-all.tar.gz"
    echo "$hash  $archive" | sha256sum --check --quiet --strict || { echo "registry.sh: Apicurio is another one" >&2; exit 1; }
    mkdir "$scratch/whole"
    tar -xzf "$archive" -C "$scratch/whole"
    # Another process may have come first; what it has is the same.
    mv -T "$scratch/whole" "$cache" 2>/dev/null || true
    rm -rf "$scratch"
}

start() {
    local folder="$1" port="$2" address
    fetch
    mkdir -p "$folder"
    (
        trap '' HUP
        QUARKUS_HTTP_PORT="$port" QUARKUS_HTTP_HOST=127.0.0.1 exec java -Xmx256m -XX:+UseSerialGC \
            -XX:TieredStopAtLevel=1 -jar "$cache/apicurio-registry-app-$version-runner.jar"
    ) >"$folder/registry.log" 2>&1 </dev/null &
    echo $! >"$folder/pid"
    address="http://127.0.0.1:$port/apis/ccompat/v7"
    for _ in $(seq $((patience_seconds * 2))); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "$address"
            return 0
        fi
        kill -0 "$(cat "$folder/pid")" 2>/dev/null || break
        sleep 0.5
    done
    echo "registry.sh: Apicurio does not listen:" >&2
    tail -n 5 "$folder/registry.log" >&2
    exit 1
}

stop() {
    [ -e "$1/pid" ] || return 0
    kill "$(cat "$1/pid")" 2>/dev/null || true
    rm -f "$1/pid"
}

case "${1:-}" in
start) start "${2:?FOLDER}" "${3:?PORT}" ;;
stop) stop "${2:?FOLDER}" ;;
*)
    echo "usage: registry.sh start FOLDER PORT | stop FOLDER" >&2
    exit 64
    ;;
esac
