"""Licenses of locked packages are allowed, and documented."""

from __future__ import annotations

import runpy

import pytest

from tests.unit.documentation import ROOT

SCRIPT = runpy.run_path(str(ROOT / "scripts/licenses.py"))
refused, differences, license_of, locked_packages, stale = (
    SCRIPT[name] for name in ("refused", "differences", "license_of", "locked_packages", "stale")
)
PAGE = (ROOT / "docs/licenses.md").read_text()


def test_every_locked_package_has_an_allowed_license_and_is_documented() -> None:
    licenses = {package: license_of(package) for package in locked_packages()}
    installed = {package: expression for package, expression in licenses.items() if expression is not None}
    assert {"pyspark", "psycopg", "ruff", "setuptools"} <= installed.keys()
    assert [*refused(installed), *differences(PAGE, installed)] == []


def test_libraries_of_the_page_have_their_license_beside_them_and_are_documented() -> None:
    static = ROOT / "src/streamshed/page/static"
    libraries = {path.stem for path in static.glob("*.LICENSE")}
    minified = [path for path in static.glob("*.js") if max(map(len, path.read_text().splitlines())) > 1000]
    assert {path.name.replace("-", ".").partition(".")[0] for path in minified} == libraries == {"uplot", "elk"}
    assert all(f"({name}" in PAGE.lower() or f" {name}" in PAGE.lower() for name in libraries)


def test_a_page_that_is_out_of_date_is_told() -> None:
    assert next(differences(PAGE, {"pyspark": "MIT"})).startswith("docs/licenses.md lacks pyspark, MIT: ")
    assert list(differences(f"{PAGE}| MIT | gone |\n", {})) == [
        "docs/licenses.md has gone, which no lock file has: python scripts/licenses.py --write"
    ]


@pytest.mark.parametrize("expression", ["GPL-3.0-only", "MIT AND GPL-2.0-only", "none", "LGPL-3.0-only"])
def test_another_license_is_refused(expression: str) -> None:
    assert list(refused({"a": expression})) == [
        f"a has the license {expression}, which scripts/licenses.py does not allow"
    ]


@pytest.mark.parametrize("expression", ["MIT", "Apache-2.0 OR BSD-2-Clause", "(MIT AND Zlib) OR PSF-2.0"])
def test_combinations_of_allowed_licenses_are_allowed(expression: str) -> None:
    assert list(refused({"a": expression, "psycopg": "LGPL-3.0-only"})) == []


def test_a_lock_file_that_nobody_renews_is_told() -> None:
    assert list(stale({"a.lock": 121, "b.lock": 120, "c.lock": None})) == [
        "a.lock is 121 days old, more than 120: renew it by `make lock`, and run `make test`"
    ]
