#!/usr/bin/env bash
# Makes what is published, in dist: the wheels of streamshed and of its benchmarks, the sources of the last commit, the
# documentation as a site, and a list of hashes.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

version="$(.venv/bin/python -c 'import streamshed; print(streamshed.__version__)')"
rm -rf dist
mkdir dist
# From a copy, so that nothing that is not committed gets in, and no build folder stays here.
sources="$(mktemp -d)"
trap 'rm -rf "$sources"' EXIT
git archive HEAD | tar -x -C "$sources"
.venv/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist "$sources" "$sources/benchmarks"
git archive --format=tar.gz --prefix="streamshed-$version/" --output="dist/streamshed-$version.tar.gz" HEAD
bash scripts/docs.sh
tar -czf "dist/streamshed-$version-site.tar.gz" --transform "s,^site,streamshed-$version-site," -C out site
(cd dist && sha256sum -- *.whl *.tar.gz >SHA256SUMS)
ls -l dist
