#!/usr/bin/env bash
# Runs the contract tests, and those with a broker, on each release of PySpark that is supported.
# Usage: versions.sh [VERSION...]
#
# Each release gets an environment of its own, .venv-pyspark-VERSION: the locked packages, but for PySpark and Py4J.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

if [ $# = 0 ]; then
    set -- 4.2.1 4.3.0
fi

# The lock file without two packages, each a line with a name and lines with hashes.
without_pyspark() {
    awk '/^[^ ]/ { is_left_out = /^(pyspark|py4j)==/ } !is_left_out' requirements.lock
}

create_environment() {
    local version="$1" environment="$2" others
    .venv/bin/python -m venv --clear "$environment"
    others="$(mktemp)"
    without_pyspark >"$others"
    "$environment/bin/python" -m pip install --quiet --require-hashes --requirement requirements-build.lock
    "$environment/bin/python" -m pip install --quiet --require-hashes --no-build-isolation --requirement "$others"
    "$environment/bin/python" -m pip install --quiet --no-build-isolation "pyspark==$version"
    "$environment/bin/python" -m pip install --quiet --no-deps --no-build-isolation --editable . --editable benchmarks
    rm -f "$others"
    environment_key >"$environment/.stamp"
}

environment_key() {
    pwd
    cksum requirements-build.lock requirements.lock pyproject.toml
}

for version in "$@"; do
    environment=".venv-pyspark-$version"
    if [ "$(cat "$environment/.stamp" 2>/dev/null)" != "$(environment_key)" ]; then
        echo "Creating $environment"
        create_environment "$version" "$environment"
    fi
    echo "PySpark $version: the contract tests, and those with a broker"
    "$environment/bin/python" -m pytest tests/spark/contracts tests/spark/kafka
done
