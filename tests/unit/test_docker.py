"""The image and the compose file fit the project: commands, files, extras, addresses."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import click
import pytest
import yaml

from streamshed.cli.main import cli
from streamshed.network.document.document import load_network
from tests.unit.documentation import ROOT

DOCKERFILE = (ROOT / "docker/Dockerfile").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())
HOME = "/home/streamshed/"


def test_the_image_copies_what_is_there_and_is_let_in() -> None:
    copied = [name for line in re.findall(r"^COPY (.+)$", DOCKERFILE, re.MULTILINE) for name in line.split()[:-1]]
    let_in = (ROOT / ".dockerignore").read_text().splitlines()
    assert copied
    for name in copied:
        assert (ROOT / name).exists()
        assert f"!{name}" in let_in


def test_the_image_has_extras_of_the_project_and_its_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (extras,) = re.findall(r'"\.\[([a-z,]+)\]"', DOCKERFILE)
    assert set(extras.split(",")) == project["optional-dependencies"].keys() - {"bench"}
    assert f"FROM python:{project['requires-python'].removeprefix('>=')}-" in DOCKERFILE


def test_the_command_of_the_network_exists_and_its_document_is_valid() -> None:
    name, *arguments = COMPOSE["services"]["network"]["command"]
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    given = command.make_context(name, list(arguments), parent=click.Context(cli)).params
    document = load_network(ROOT / given["file"])
    environment = COMPOSE["services"]["broker"]["environment"]
    assert f"PLAINTEXT://{document.run.sink.address}" == environment["KAFKA_ADVERTISED_LISTENERS"]
    assert {f"127.0.0.1:{port}:{port}" for port in (given["page"][1], 9090)} == set(
        COMPOSE["services"]["broker"]["ports"]
    )
    scraped = yaml.safe_load((ROOT / "examples/monitoring/prometheus.yml").read_text())["scrape_configs"]
    host, port = given["metrics"]
    assert scraped[0]["static_configs"] == [{"targets": [f"{host}:{port}"]}]


@pytest.mark.parametrize("service", COMPOSE["services"])
def test_folders_and_programs_of_a_service_are_there(service: str) -> None:
    described = COMPOSE["services"][service]
    for volume in described.get("volumes", ()):
        source = volume.partition(":")[0]
        assert source in COMPOSE["volumes"] or (ROOT / "docker" / source).is_dir()
    for word in described.get("entrypoint", ()):
        assert not word.endswith(".py") or (ROOT / word).exists()
