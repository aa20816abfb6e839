import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PINNED = re.compile(r"(?P<name>[a-z0-9][a-z0-9-]*)==[\w.!]+( ; [\w.' <>=!]+)?")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def lock_entries(name: str) -> list[str]:
    text = (ROOT / name).read_text().replace("\\\n", "")
    return text.splitlines()


def locked_names(name: str) -> set[str]:
    matches = (PINNED.match(entry) for entry in lock_entries(name))
    return {match["name"] for match in matches if match is not None}


def required_names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=!~\[; ]", requirement, maxsplit=1)[0].lower() for requirement in requirements}


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-build.lock", "requirements-docs.lock"])
def test_locks_hold_pinned_versions_and_hashes_only(name: str) -> None:
    for entry in lock_entries(name):
        requirement, *hashes = re.split(r"\s+(?=--hash)", entry.rstrip())
        assert PINNED.fullmatch(requirement), entry
        assert hashes, entry
        assert all(HASH.fullmatch(word) for word in hashes), entry


def test_all_that_the_project_requires_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = required_names(project["project"]["dependencies"] + project["dependency-groups"]["dev"])
    assert needed <= locked_names("requirements.lock")
    building = required_names(project["build-system"]["requires"] + project["dependency-groups"]["build"])
    assert building <= locked_names("requirements-build.lock")
    site = required_names(project["dependency-groups"]["docs"])
    assert site <= locked_names("requirements-docs.lock")
