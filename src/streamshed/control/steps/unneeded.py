"""What no network downstream needs of the coming rows and windows."""

from streamshed.control.decision import Upcoming
from streamshed.control.known_needs import unneeded_by_definition
from streamshed.control.settings import ControlSettings
from streamshed.network.model.network import QueryNetwork


def unneeded_times(
    network: QueryNetwork, settings: ControlSettings, upcoming: Upcoming, *, of_windows: bool
) -> dict[int, tuple[tuple[int, int], ...]]:
    """Times of rows, or starts of windows, that no network downstream needs; none in advisory mode."""
    unneeded = upcoming.needs.unneeded
    if settings.advisory or not unneeded:
        return {}
    asking = [query for query in network.queries if (query.aggregate is not None) is of_windows]
    return unneeded_by_definition(asking, unneeded)
