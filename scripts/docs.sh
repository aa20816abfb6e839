#!/usr/bin/env bash
# Makes the documentation a site, out/site, with the tools in .venv-docs, which is created or renewed where needed.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

environment=.venv-docs
key="$(pwd; cksum requirements-docs.lock)"

if [ "$(cat "$environment/.stamp" 2>/dev/null)" != "$key" ]; then
    "$(bash scripts/find-python.sh)" -m venv --clear "$environment"
    "$environment/bin/python" -m pip install --quiet --require-hashes --requirement requirements-docs.lock
    echo "$key" >"$environment/.stamp"
fi
"$environment/bin/python" scripts/site/build.py
