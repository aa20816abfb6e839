import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "ensure-java.sh"
TOOLS = ("bash", "cat", "cp", "sed")
FIRST_LINES = {
    8: 'openjdk version "1.8.0_412"',
    11: 'openjdk version "11.0.24" 2024-07-16',
    17: 'openjdk version "17.0.15" 2025-04-15',
    21: 'java version "21" 2023-09-19 LTS',
    22: 'openjdk version "22-ea" 2024-03-19',
}


class Machine:
    """A computer whose PATH holds only what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.commands = folder / "bin"
        self.commands.mkdir()
        self.environment = {"PATH": str(self.commands)}
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found is not None
            (self.commands / tool).symlink_to(found)

    def add_command(self, path: Path, *, body: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!{shutil.which('bash')}\n{body}\n")
        path.chmod(0o755)

    def add_java(self, version: int, *, home: Path | None = None) -> None:
        folder = self.commands if home is None else home / "bin"
        self.add_command(folder / "java", body=f"cat >&2 <<'EOF'\n{FIRST_LINES[version]}\nEOF")

    def add_user(self, user_id: int) -> None:
        self.add_command(self.commands / "id", body=f"echo {user_id}")

    def add_apt_get(self, *, offered: str) -> None:
        """Notes its calls; knows one package, which holds Java 17."""
        self.add_java(17, home=self.folder / "package")
        packaged = self.folder / "package" / "bin" / "java"
        body = f"""
            echo "$@" >>"{self.folder}/calls"
            case "$*" in
                update*) ;;
                *{offered}) cp "{packaged}" "{self.commands}/java" ;;
                *) exit 100 ;;
            esac"""
        self.add_command(self.commands / "apt-get", body=body)

    @property
    def apt_get_calls(self) -> list[str]:
        calls = self.folder / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    def run(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.commands / "bash", SCRIPT],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("version", [17, 21, 22])
def test_a_recent_java_is_enough(machine: Machine, version: int) -> None:
    machine.add_java(version)
    result = machine.run()
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_java_home_comes_before_the_path(machine: Machine) -> None:
    machine.add_java(8)
    machine.add_java(21, home=machine.folder / "jdk")
    machine.environment["JAVA_HOME"] = str(machine.folder / "jdk")
    assert machine.run().returncode == 0


@pytest.mark.parametrize("version", [None, 8, 11])
def test_root_on_debian_gets_java(machine: Machine, version: int | None) -> None:
    if version is not None:
        machine.add_java(version)
    machine.add_user(0)
    machine.add_apt_get(offered="openjdk-17-jre-headless")
    result = machine.run()
    assert result.returncode == 0, result.stderr
    assert [call.split()[0] for call in machine.apt_get_calls] == ["update", "install"]


def test_the_next_package_is_tried_where_the_first_is_unknown(machine: Machine) -> None:
    machine.add_user(0)
    machine.add_apt_get(offered="openjdk-21-jre-headless")
    assert machine.run().returncode == 0
    assert len(machine.apt_get_calls) == 3


def test_a_failed_installation_is_explained(machine: Machine) -> None:
    machine.add_user(0)
    machine.add_apt_get(offered="something-else")
    result = machine.run()
    assert result.returncode == 1
    assert "Spark needs Java 17 or newer; on the PATH: none." in result.stderr


def test_others_get_instructions_and_nothing_is_installed(machine: Machine) -> None:
    machine.add_java(11)
    machine.add_user(1000)
    machine.add_apt_get(offered="openjdk-17-jre-headless")
    result = machine.run()
    assert result.returncode == 1
    assert machine.apt_get_calls == []
    assert "Spark needs Java 17 or newer; on the PATH: Java 11." in result.stderr
    for system in ("Debian, Ubuntu:", "Fedora:", "macOS:"):
        assert system in result.stderr


@pytest.mark.parametrize(("version", "found"), [(8, "holds Java 8."), (None, "holds none.")])
def test_a_wrong_java_home_is_named_and_not_installed_over(machine: Machine, version: int | None, found: str) -> None:
    home = machine.folder / "jdk"
    if version is not None:
        machine.add_java(version, home=home)
    machine.add_java(17)
    machine.add_user(0)
    machine.add_apt_get(offered="openjdk-17-jre-headless")
    machine.environment["JAVA_HOME"] = str(home)
    result = machine.run()
    assert result.returncode == 1
    assert f"JAVA_HOME={home} {found}" in result.stderr
    assert machine.apt_get_calls == []
