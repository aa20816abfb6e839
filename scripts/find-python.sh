#!/usr/bin/env bash
# Prints the path of a Python interpreter that streamshed runs on (3.11 or newer).
#
# $PYTHON, where set, is the only candidate: an explicit choice is never overridden in silence.
set -euo pipefail

# Prints the absolute path behind a command if it starts and is new enough. Version managers leave
# launchers on the PATH that fail, so being found is not enough.
usable_interpreter() {
    "$1" -c 'import sys; sys.version_info >= (3, 11) or sys.exit(1); print(sys.executable)' 2>/dev/null
}

if [ -n "${PYTHON:-}" ]; then
    candidates=("$PYTHON")
else
    candidates=(python3.11 python3.12 python3.13 python3 python)
fi

for candidate in "${candidates[@]}"; do
    if usable_interpreter "$candidate"; then
        exit 0
    fi
done

cat >&2 <<EOF
streamshed needs Python 3.11 or newer; none of these is: ${candidates[*]}
  Debian, Ubuntu:  sudo apt-get install python3 python3-venv   (Debian 12, Ubuntu 24.04 or later)
  Fedora:          sudo dnf install python3.12
  macOS:           brew install python@3.12
Another place:     make setup PYTHON=/path/to/python3
EOF
exit 1
