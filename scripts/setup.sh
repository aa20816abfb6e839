#!/usr/bin/env bash
# Creates .venv with exactly the locked packages, streamshed itself and its benchmarks (editable). Does nothing when up to date.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages_stamp=.venv/.packages-stamp
project_stamp=.venv/.project-stamp

# What the caller's shell carries must not redirect, add or leave out packages.
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV SPARK_HOME
unset PIP_TARGET PIP_PREFIX PIP_ROOT PIP_USER PIP_CONSTRAINT PIP_REQUIREMENT PIP_REQUIRE_HASHES PIP_NO_DEPS
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

# An environment holds absolute paths, so one that was moved or copied is out of date.
packages_key() {
    pwd
    cksum requirements-build.lock requirements.lock
}

project_key() {
    packages_key
    cksum pyproject.toml benchmarks/pyproject.toml
}

is_current() {
    [ -x .venv/bin/python ] && [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]
}

may_install_venv_module() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null
}

create_environment() {
    local python="$1"
    if "$python" -m venv --clear .venv; then
        return 0
    fi
    # Debian and Ubuntu package the module that creates environments apart from Python.
    if may_install_venv_module; then
        { apt-get update -qq && apt-get install -y -qq python3-venv; } >&2 || true
        if "$python" -m venv --clear .venv; then
            return 0
        fi
    fi
    echo "$python cannot create environments. Debian, Ubuntu: sudo apt-get install python3-venv" >&2
    return 1
}

# PySpark comes as source: what builds it is installed first, by hash, and building is not isolated, so that
# pip fetches nothing which is not locked.
install_packages() {
    .venv/bin/python -m pip install --quiet --require-hashes --requirement requirements-build.lock
    .venv/bin/python -m pip install --quiet --require-hashes --no-build-isolation --requirement requirements.lock
}

install_project() {
    .venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable . --editable benchmarks
}

bash scripts/ensure-java.sh

# Two commands started at the same time must not build one environment together.
if command -v flock >/dev/null; then
    exec 9>.venv.lock
    flock 9
fi

if ! is_current "$packages_stamp" "$(packages_key)"; then
    python="$(bash scripts/find-python.sh)"
    echo "Creating .venv with $python (PySpark is large, this takes some minutes the first time)"
    create_environment "$python"
    install_packages
    packages_key >"$packages_stamp"
fi
if ! is_current "$project_stamp" "$(project_key)"; then
    install_project
    project_key >"$project_stamp"
    echo "The environment is ready: .venv"
fi
