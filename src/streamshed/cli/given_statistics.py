"""The statistics that a command was given with `--statistics`, or a guess."""

from __future__ import annotations

from pathlib import Path

from streamshed.cli.terminal.group import show_note
from streamshed.errors import InvalidStatisticsError, SourceUnavailableError
from streamshed.network.model.network import QueryNetwork
from streamshed.network.run.run_settings import RunSettings
from streamshed.planning.load.network_load import strangers
from streamshed.statistics.guess import believed_statistics
from streamshed.statistics.join_sides import with_sides
from streamshed.statistics.network_statistics import NetworkStatistics


def statistics_for(network: QueryNetwork, file: Path | None) -> NetworkStatistics:
    """Return the statistics of a network; a note on standard error says what is guessed, or not of this network.

    Args:
        network: The network, of rows of streams only.
        file: A JSON file of statistics; None: all is guessed.

    Raises:
        SourceUnavailableError: The file cannot be read.
        InvalidStatisticsError: It holds no statistics.
    """
    if file is None:
        show_note("costs and selectivities are guessed (--statistics gives those that were measured)")
        return believed_statistics(network, None)
    given = _read(file)
    for stranger in strangers(network, given):
        show_note(f"{file}: {stranger}")
    note_unsure_costs(given)
    return with_sides(network, believed_statistics(network, given), given)


def file_of(run: RunSettings, given: Path | None) -> Path | None:
    """Return the file of statistics: that which was given, or else the document's."""
    return Path(run.statistics) if given is None and run.statistics is not None else given


def note_unsure_costs(statistics: NetworkStatistics) -> None:
    """Note on standard error the streams whose costs per row are still unsure."""
    for stream, factor in statistics.unsure_streams.items():
        show_note(
            f"what a row of stream {stream} costs may well be off by a factor of {factor:.1f}: micro-batches told too"
            " little of it (profile more rows, in files of different sizes, or for longer)"
        )


def _read(file: Path) -> NetworkStatistics:
    try:
        return NetworkStatistics.from_json(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceUnavailableError(f"statistics {file}: cannot be read: {error.strerror}") from error
    except InvalidStatisticsError as error:
        raise InvalidStatisticsError(f"{file}: {error}") from error
