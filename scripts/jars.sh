#!/usr/bin/env bash
# Jars that Spark does not bring, for tests, benchmarks and examples.
#
# Usage: jars.sh FOLDER   fetches the jars of a folder of jars.txt (broker, kafka, avro, delta), unless they are there, and
#                         prints them as `spark.jars` takes them
#
# Jars come by Maven, by the coordinates in jars.txt, and are checked by their hashes. They are kept in
# ~/.cache/streamshed, or in $STREAMSHED_CACHE. Exit code 69: they cannot be had.
set -euo pipefail

list="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/jars.txt"
key="$(sha256sum "$list" | cut -c1-12)"
cache="${STREAMSHED_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/streamshed}/jars-$key"
unavailable=69

# Lines "group artifact version hash" of a folder.
jars_of() {
    awk -v folder="$1" '$1 == folder { split($2, part, ":"); print part[1], part[2], part[3], $3 }' "$list"
}

# What Maven is asked for: these jars, and nothing that they ask for.
pom_of() {
    echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    echo "<groupId>streamshed</groupId><artifactId>$1</artifactId><version>1</version><dependencies>"
    jars_of "$1" | while read -r group artifact version _; do
        echo "<dependency><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$version</version>"
        echo '<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>'
    done
    echo '</dependencies></project>'
}

check_jars() {
    jars_of "$1" | while read -r _ artifact version hash; do
        echo "$hash  $2/$artifact-$version.jar"
    done | sha256sum --check --quiet --strict
}

# Fetches the jars of a folder, unless they are there, whole or not at all.
fetch() {
    local folder="$1" scratch
    [ -d "$cache/$folder" ] && return 0
    command -v mvn >/dev/null || { echo "jars.sh: Maven (mvn) is not installed, which brings the jars" >&2; exit $unavailable; }
    mkdir -p "$cache"
    scratch="$(mktemp -d "$cache/.$folder.XXXXXX")"
    pom_of "$folder" >"$scratch/pom.xml"
    if ! mvn --quiet --batch-mode --file "$scratch/pom.xml" dependency:copy-dependencies \
        "-DoutputDirectory=$scratch/jars" >"$scratch/maven.log" 2>&1; then
        echo "jars.sh: Maven cannot fetch the jars of the $folder:" >&2
        tail -n 3 "$scratch/maven.log" >&2
        rm -rf "$scratch"
        exit $unavailable
    fi
    check_jars "$folder" "$scratch/jars" || { echo "jars.sh: jars differ from those of $list" >&2; exit 1; }
    # Another process may have come first; its jars are the same.
    mv -T "$scratch/jars" "$cache/$folder" 2>/dev/null || true
    rm -rf "$scratch"
}

folder="${1:?FOLDER}"
[ -n "$(jars_of "$folder")" ] || { echo "jars.sh: jars.txt has no folder $folder" >&2; exit 64; }
fetch "$folder"
printf '%s\n' "$cache/$folder"/*.jar | paste -sd,
