"""Where networks tell each other what they need: small files, each written as a whole."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace

import pyarrow as pa

from streamshed.control.known_needs import Published
from streamshed.control.needs import InvalidNeedsError, NetworkNeeds
from streamshed.errors import SinkUnavailableError
from streamshed.spark.checkpoint.storage import Storage

_log = logging.getLogger(__name__)


class NeedsFile:
    """What a network publishes, all of its time domains together.

    Args:
        location: Path or URI of the file.

    Raises:
        SinkUnavailableError: It cannot be written, or it is a folder.
    """

    def __init__(self, location: str) -> None:
        folder, self._name = _split(location)
        if not self._name:
            raise SinkUnavailableError(
                f'needs are published in a file, such as "out/needs.json", but "{location}" names a folder'
            )
        self._location = location
        self._storage = Storage.at(folder)
        self._lock = threading.Lock()
        self._needs_by_clock: dict[str, NetworkNeeds] = {}

    def tell(self, clock: str, needs: NetworkNeeds) -> None:
        """Publish what a time domain needs, beside the others. The next write makes up for a failed one."""
        with self._lock:
            self._needs_by_clock[clock] = needs
            try:
                self._storage.write_text(self._name, _together(list(self._needs_by_clock.values())).to_json())
            except SinkUnavailableError as error:
                _log.warning("what is needed cannot be published: %s", error)


def read_needs(location: str) -> Published:
    """Return what is published at a path or URI; an error where it cannot be read, as a run goes on without it."""
    folder, name = _split(location)
    try:
        text = Storage.reached(folder).read_text(name)
        return None if text is None else NetworkNeeds.from_json(text)
    except InvalidNeedsError as error:
        return error
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        return InvalidNeedsError(str(error))


def _together(needs_of_domains: list[NetworkNeeds]) -> NetworkNeeds:
    """The needs of all time domains as one document, which expires with the first of them."""
    streams = {name: one for needs in needs_of_domains for name, one in needs.streams.items()}
    oldest = min(needs_of_domains, key=lambda needs: needs.told_at_seconds + needs.lifetime_seconds)
    return replace(oldest, streams=streams)


def _split(location: str) -> tuple[str, str]:
    folder, _, name = location.rpartition("/")
    return folder or "/", name
