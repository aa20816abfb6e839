#!/usr/bin/env bash
# A Kafka broker on loopback for tests, benchmarks and examples, without installing one.
#
# Usage: kafka.sh start FOLDER [PORT]   starts a broker that keeps its topics in FOLDER, and waits until it listens
#        kafka.sh stop FOLDER           stops it
#        kafka.sh kill FOLDER           stops it as a crash would
#
# Settings in FOLDER/more.properties replace its own.
# Its jars come by jars.sh. Exit code 69: they cannot be had.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

# `exec`: what runs it in the background notes its process id.
broker_java() {
    exec java -Xms64m -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp "$(bash "$here/jars.sh" broker | tr , :)" \
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
    bash "$here/jars.sh" broker >/dev/null
    mkdir -p "$folder"
    folder="$(cd "$folder" && pwd)"
    write_properties "$folder" "$port" >"$folder/server.properties"
    # Of a setting that is there twice, Java takes the last one.
    [ ! -e "$folder/more.properties" ] || cat "$folder/more.properties" >>"$folder/server.properties"
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
    sed -n '3,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
    exit 64
}

case "${1:-}" in
start) start "${2:?FOLDER}" "${3:-19092}" ;;
stop) stop "${2:?FOLDER}" TERM ;;
kill) stop "${2:?FOLDER}" KILL ;;
*) usage ;;
esac
