"""What the page on deployment shows is of one piece with the image, the exit codes and the commands."""

from __future__ import annotations

import re
import subprocess
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from streamshed.cli.main import cli
from streamshed.cli.terminal.exit_code import ExitCode
from tests.lacking import lacking
from tests.unit.documentation import ROOT, page, pages

DEPLOY = page("docs/deploy.md")
(UNIT,) = DEPLOY.code("ini")
LEAST_SECONDS = 60
"""How long the end of a run may take, at least: a micro-batch ends."""


def settings(text: str) -> dict[str, str]:
    """Settings of Spark, as its own files have them: a name, spaces, a value."""
    return dict(line.split(maxsplit=1) for line in text.splitlines())


def understood(arguments: list[str]) -> dict[str, Any]:
    """What a command of streamshed takes from its arguments."""
    name, *options = arguments
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return command.make_context(name, options, parent=click.Context(cli)).params


def test_the_unit_of_systemd_starts_again_what_failed() -> None:
    unit = RawConfigParser()
    unit.optionxform = str  # type: ignore[assignment,method-assign] # letters keep their case
    unit.read_string(UNIT)
    service = unit["Service"]
    program, *arguments = service["ExecStart"].split()
    assert Path(program).name == "streamshed"
    assert understood(arguments)["metrics"] == ("127.0.0.1", 9464)
    refused = {ExitCode.REFUSED, ExitCode.USAGE}
    assert {ExitCode(int(code)) for code in service["RestartPreventExitStatus"].split()} == refused
    assert int(service["TimeoutStopSec"]) >= LEAST_SECONDS


def test_systemd_understands_its_unit(tmp_path: Path) -> None:
    unit = tmp_path / "packets.service"
    program, folder = tmp_path / "streamshed", "/opt/streamshed/bin/streamshed"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit.write_text(UNIT.replace(folder, str(program)).replace("User=streamshed\n", ""))
    try:
        checked = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        lacking("systemd-analyze is not installed: Debian's package systemd has it")
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.parametrize("text", [code for shown in pages() for code in shown.code("properties")])
def test_settings_of_spark_have_a_name_and_a_value(text: str) -> None:
    assert settings(text)
    assert all(name.startswith("spark.") and value for name, value in settings(text).items())


def test_services_of_compose_that_are_shown_are_there() -> None:
    services = yaml.safe_load((ROOT / "docker/compose.yaml").read_text())["services"]
    shown = re.findall(r"^docker compose --file docker/compose.yaml logs (\w+)", DEPLOY.text, re.MULTILINE)
    assert shown
    assert set(shown) <= services.keys()


@pytest.fixture
def manifest() -> dict[str, Any]:
    (text,) = (text for shown in pages() for text in shown.manifests)
    described: dict[str, Any] = yaml.safe_load(text)
    return described


def test_the_pod_of_kubernetes_is_the_image_and_its_command_is_understood(manifest: dict[str, Any]) -> None:
    pod = manifest["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    image = (ROOT / "docker/Dockerfile").read_text()
    assert f"--tag {container['image']} " in image
    assert f"--uid {pod['securityContext']['runAsUser']} " in image
    assert pod["terminationGracePeriodSeconds"] >= LEAST_SECONDS
    given = understood([word.replace("$(POD_IP)", "10.0.0.5") for word in container["args"]])
    variables = {variable["name"] for variable in container["env"]}
    assert set(re.findall(r"\$\((\w+)\)", " ".join(container["args"]))) <= variables
    folders = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert {str(given["file"].parent), *(v["value"] for v in container["env"] if "value" in v)} == folders


def test_names_in_kubernetes_are_of_one_piece(manifest: dict[str, Any]) -> None:
    name, spec = manifest["metadata"]["name"], manifest["spec"]
    pod = spec["template"]["spec"]
    assert (manifest["apiVersion"], manifest["kind"], spec["replicas"]) == ("apps/v1", "StatefulSet", 1)
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    assert [mount["name"] for mount in pod["containers"][0]["volumeMounts"]] == [v["name"] for v in pod["volumes"]]
    (text,) = DEPLOY.code("properties")
    assert settings(text)["spark.kubernetes.driver.pod.name"] == f"{name}-0"
    assert settings(text)["spark.driver.host"] == f"{name}-0.{spec['serviceName']}"
