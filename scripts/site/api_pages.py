"""The API reference as Markdown: the public names, and the classes with which users go on from there."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import griffe


@dataclass(frozen=True)
class ApiPage:
    """What one page of the reference shows: the public names of a module, then some of the classes they return."""

    name: str
    title: str
    purpose: str
    module: str
    returned: tuple[str, ...] = ()


PAGES = (
    ApiPage(
        name="networks",
        title="API: networks",
        purpose="`import streamshed as ss`: describe streams, operators and queries, and put them together.",
        module="streamshed",
        returned=(
            "streamshed.network.model.rows.Windowed",
            "streamshed.network.model.rows.Answers",
            "streamshed.network.document.document_reader.NetworkDocument",
            "streamshed.planning.explain.explanation.Explanation",
        ),
    ),
    ApiPage(
        name="runs",
        title="API: runs",
        purpose="`streamshed.spark`: run a network on Spark, look at it, and choose where its answers go.",
        module="streamshed.spark",
        returned=(
            "streamshed.spark.hand_over.HandOver",
            "streamshed.spark.loop.run_status.RunStatus",
            "streamshed.spark.loop.run_status.QueryStatus",
            "streamshed.spark.loop.run_status.JoinStatus",
            "streamshed.spark.cluster.scaling_status.ScalingStatus",
            "streamshed.page.serving.PageServer",
        ),
    ),
    ApiPage(
        name="errors",
        title="API: errors",
        purpose="`streamshed.errors`: what streamshed raises on purpose.",
        module="streamshed.errors",
    ),
)


def api_texts(sources: Path) -> Iterator[tuple[ApiPage, str]]:
    """Write the reference; functions come first, then classes, each sorted by name.

    Args:
        sources: The folder that holds the package.

    Yields:
        Each page, and its Markdown: a directive of mkdocstrings per name. No name is on two pages.
    """
    modules = griffe.load("streamshed", search_paths=[sources]).modules_collection
    for page in PAGES:
        others = {other.module for other in PAGES} - {page.module}
        paths = _public_paths(modules[page.module])
        entries = [modules[path] for path in paths if path.rpartition(".")[0] not in others]
        entries.sort(key=lambda entry: (entry.is_class, entry.name))
        paths = [*(entry.path for entry in entries), *(modules[path].path for path in page.returned)]
        yield page, "\n\n".join([f"# {page.title}", page.purpose, *(f"::: {path}" for path in paths)]) + "\n"


def _public_paths(module: griffe.Module) -> Iterator[str]:
    """Where the public names are defined: those of `__all__`, else the classes of the module."""
    defined_here = (name for name, member in module.members.items() if not member.is_alias and member.is_class)
    for name in map(str, module.exports or defined_here):
        if not name.startswith("_"):
            yield module.imports.get(name, f"{module.path}.{name}")
