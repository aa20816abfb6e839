#!/usr/bin/env bash
# A Kafka broker on loopback for tests, benchmarks and examples, without installing one.
#
# Usage: kafka.sh start FOLDER [PORT]   starts a broker that keeps its topics in FOLDER, and waits until it listens
#        kafka.sh stop FOLDER           stops it
#        kafka.sh kill FOLDER           stops it as a crash would
#        kafka.sh connector             prints the jars of Spark's connector, as `spark.jars` takes them
#
# Jars come by Maven, by the coordinates in kafka_jars.txt, and are checked by their hashes. They are kept in
# ~/.cache/streamshed, or in $STREAMSHED_CACHE. Exit code 69: they cannot be had.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
list="$here/kafka_jars.txt"
key="$(sha256sum "$list" | cut -c1-12)"
cache="${STREAMSHED_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/streamshed}/kafka-$key"
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
    command -v mvn >/dev/null || { echo "kafka.sh: Maven (mvn) is not installed, which brings the jars" >&2; exit $unavailable; }
    mkdir -p "$cache"
    scratch="$(mktemp -d "$cache/.$folder.XXXXXX")"
    pom_of "$folder" >"$scratch/pom.xml"
    if ! mvn --quiet --batch-mode --file "$scratch/pom.xml" dependency:copy-dependencies \
        "-DoutputDirectory=$scratch/jars" >"$scratch/maven.log" 2>&1; then
        echo "kafka.sh: Maven cannot fetch the jars of the $folder:" >&2
        tail -n 3 "$scratch/maven.log" >&2
        rm -rf "$scratch"
        exit $unavailable
    fi
    check_jars "$folder" "$scratch/jars" || { echo "kafka.sh: jars differ from those of $list" >&2; exit 1; }
    # Another process may have come first; its jars are the same.
    mv -T "$scratch/jars" "$cache/$folder" 2>/dev/null || true
    rm -rf "$scratch"
}

# `exec`: what runs it in the background notes its process id.
broker_java() {
    exec java -Xms64m -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$cache/broker/*" \
        -Dorg.slf4j.simpleLogger.defaultLogLevel=warn "$@"
}

write_properties() {
    local folder="$1" port="$2"
    cat <<EOF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$((port + 1))
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1))
advertised.listeners=PLAINTEXT://127.0.0.1:$port
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=$folder/logs
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
EOF
}

start() {
    local folder="$1" port="$2"
    fetch broker
    mkdir -p "$folder"
    folder="$(cd "$folder" && pwd)"
    write_properties "$folder" "$port" >"$folder/server.properties"
    if [ ! -e "$folder/logs/meta.properties" ]; then
        (broker_java kafka.tools.StorageTool format --config "$folder/server.properties" \
            --cluster-id MkU3OEVBNTcwNTJENDM2Qk) >"$folder/format.log" 2>&1
    fi
    (
        trap '' HUP
        broker_java kafka.Kafka "$folder/server.properties"
    ) >"$folder/broker.log" 2>&1 </dev/null &
    echo $! >"$folder/pid"
    await_broker "$folder" "$port"
}

await_broker() {
    local folder="$1" port="$2"
    for _ in $(seq 1 600); do
        if (echo >"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "127.0.0.1:$port"
            return 0
        fi
        kill -0 "$(cat "$folder/pid")" 2>/dev/null || break
        sleep 0.1
    done
    echo "kafka.sh: the broker does not listen on port $port:" >&2
    tail -n 20 "$folder/broker.log" >&2
    return 1
}

stop() {
    local folder="$1" signal="$2" process
    process="$(cat "$folder/pid" 2>/dev/null)" || return 0
    kill "-$signal" "$process" 2>/dev/null || true
    while kill -0 "$process" 2>/dev/null; do sleep 0.1; done
    rm -f "$folder/pid"
}

usage() {
    sed -n '3,10s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 64
}

case "${1:-}" in
start) start "${2:?FOLDER}" "${3:-19092}" ;;
stop) stop "${2:?FOLDER}" TERM ;;
kill) stop "${2:?FOLDER}" KILL ;;
connector)
    fetch connector
    jars_of connector | while read -r _ artifact version _; do
        echo "$cache/connector/$artifact-$version.jar"
    done | paste --serial --delimiters=,
    ;;
*) usage ;;
esac
