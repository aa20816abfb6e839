"""Licenses of the locked packages: checked against the list of those that are allowed, and written as a table.

    python scripts/licenses.py           checks docs/licenses.md and the age of the lock file (`make lint`)
    python scripts/licenses.py --write   writes docs/licenses.md

They are read from the metadata of the packages that are installed here; nothing is fetched.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = ("requirements.lock", "requirements-build.lock")
PAGE = ROOT / "docs/licenses.md"

LONGEST_DAYS = 120
"""How old a lock file may be."""

ALLOWED = frozenset(
    {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "MIT", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Zlib"}
)
"""Licenses under which a package may be a requirement, by their SPDX identifiers."""

EXCEPTIONS: Mapping[str, str] = {
    "psycopg": "LGPL-3.0-only",  # the extra `postgres`: used as it is, and not distributed with streamshed
    "psycopg-binary": "LGPL-3.0-only",
}
"""Packages that may have another license."""

WRITTEN_OTHERWISE: Mapping[str, str] = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
"""What packages without an SPDX expression say, and what it is."""

_PINNED = re.compile(r"([a-z0-9][a-z0-9-]*)==")
_ROW = re.compile(r"^\| (.+) \| ([a-z0-9, -]+) \|$", re.MULTILINE)
_HEADER = """# Licenses

The licenses of the locked packages, with which streamshed is developed and tested. Users install fewer: the
`dependencies` in `pyproject.toml`, what these need, and the extras they ask for. `make lint` checks that each license
is allowed; `python scripts/licenses.py --write` writes this page.

The page of a run brings two libraries for the browser, unchanged, with their licenses beside them in
`src/streamshed/page/static`: uPlot 1.6.32 (MIT, https://github.com/leeoniya/uPlot), and elkjs 0.12.1 (EPL-2.0 or
GPL-3.0-or-later, https://github.com/kieler/elkjs, where its source is).

| license | packages |
|---|---|
"""


def locked_packages() -> list[str]:
    """Return the names of all locked packages."""
    lines = [line for lock in LOCKS for line in (ROOT / lock).read_text().splitlines()]
    return sorted({match[1] for match in map(_PINNED.match, lines) if match})


def license_of(package: str) -> str | None:
    """Return the license of a package as an SPDX expression, or as it says itself; None: it is not installed."""
    try:
        described = metadata(package)
    except PackageNotFoundError:
        return None
    if expression := described.get("License-Expression"):
        return str(expression)
    classifiers = [text.rpartition(" :: ")[2] for text in described.get_all("Classifier") or [] if "License ::" in text]
    texts = [(described.get("License") or "").strip().partition("\n")[0], *classifiers]
    named = [WRITTEN_OTHERWISE.get(text, text) for text in texts]
    return next((name for name in named if name in ALLOWED), next(filter(None, named), "none"))


def refused(licenses: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong with the licenses of packages.

    Args:
        licenses: An SPDX expression by package.
    """
    for package, expression in licenses.items():
        names = set(re.split(r"\s+(?:AND|OR)\s+|[()]", expression)) - {""}
        if not names <= ALLOWED and EXCEPTIONS.get(package) != expression:
            yield f"{package} has the license {expression}, which scripts/licenses.py does not allow"


def page_of(licenses: Mapping[str, str]) -> str:
    """Return the page of the documentation."""
    packages: dict[str, list[str]] = {}
    for package, expression in licenses.items():
        packages.setdefault(expression, []).append(package)
    return _HEADER + "".join(f"| {under} | {', '.join(names)} |\n" for under, names in sorted(packages.items()))


def differences(page: str, licenses: Mapping[str, str]) -> Iterator[str]:
    """Yield where a page differs from the licenses of the packages here; those for other systems are passed over."""
    rows = _ROW.findall(page.partition("|---|---|")[2])
    documented = {package: expression for expression, packages in rows for package in packages.split(", ")}
    for package, expression in licenses.items():
        if documented.get(package) != expression:
            yield f"docs/licenses.md lacks {package}, {expression}: python scripts/licenses.py --write"
    for package in documented.keys() - {*locked_packages()}:
        yield f"docs/licenses.md has {package}, which no lock file has: python scripts/licenses.py --write"


def lock_age_days(lock: str) -> int | None:
    """Return how long ago a lock file was changed last, by git; None: git does not tell."""
    command = ["git", "log", "-1", "--format=%ct", "--", lock]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if told.returncode or not told.stdout.strip():
        return None
    return (datetime.now(UTC) - datetime.fromtimestamp(int(told.stdout), UTC)).days


def stale(ages: Mapping[str, int | None]) -> Iterator[str]:
    """Yield which lock files nobody has renewed for too long: what was repaired in packages since is not in them.

    Args:
        ages: In days, by lock file; None: git does not tell.
    """
    for lock, age in ages.items():
        if age is not None and age > LONGEST_DAYS:
            yield f"{lock} is {age} days old, more than {LONGEST_DAYS}: renew it by `make lock`, and run `make test`"


def main() -> int:
    """Check, or write."""
    by_package = {package: license_of(package) for package in locked_packages()}
    licenses = {package: expression for package, expression in by_package.items() if expression is not None}
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page_of(licenses))
    ages = {lock: lock_age_days(lock) for lock in LOCKS}
    problems = [*refused(licenses), *differences(PAGE.read_text(), licenses), *stale(ages)]
    for problem in problems:
        sys.stderr.write(f"{problem}\n")
    told = ", ".join(f"{lock} is {age} days old" for lock, age in ages.items() if age is not None)
    sys.stdout.write(f"{len(licenses)} locked packages, licenses checked; {told}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
