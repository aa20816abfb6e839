"""How long the demo waits for what may take longer than it should, by the time that is left."""

import time
from collections.abc import Callable
from dataclasses import dataclass

_SECONDS_BEHIND_CALIBRATION = 110.0
_LONGEST_CALIBRATION_SECONDS, _SHORTEST_CALIBRATION_SECONDS = 55.0, 15.0
_CATCH_UP_SHARE = 0.4
_LONGEST_CATCH_UP_SECONDS, _SHORTEST_CATCH_UP_SECONDS = 30.0, 6.0
_LONGEST_DRAIN_SECONDS, _SHORTEST_DRAIN_SECONDS = 45.0, 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait behind a load, at most.

    Args:
        catch_up_seconds: Until all rows are taken.
        drain_seconds: Until all open windows are answered.
    """

    catch_up_seconds: float
    drain_seconds: float


def calibration_seconds(seconds_left: float) -> float:
    """Say how long calibration should take; it may take twice as long, and the rest is for load and comparison.

    Args:
        seconds_left: Until the demo has to be over.

    Example:
        >>> calibration_seconds(250.0), calibration_seconds(190.0), calibration_seconds(0.0)
        (55.0, 40.0, 15.0)
    """
    wanted = (seconds_left - _SECONDS_BEHIND_CALIBRATION) / 2
    return min(_LONGEST_CALIBRATION_SECONDS, max(_SHORTEST_CALIBRATION_SECONDS, wanted))


def patience(seconds_left: float) -> Patience:
    """Divide the time behind a load.

    Args:
        seconds_left: From the end of the load until the demo has to be over, without the comparison.

    Example:
        >>> patience(200.0)
        Patience(catch_up_seconds=30.0, drain_seconds=45.0)
        >>> patience(30.0)
        Patience(catch_up_seconds=12.0, drain_seconds=18.0)
        >>> patience(-5.0)
        Patience(catch_up_seconds=6.0, drain_seconds=10.0)
    """
    catch_up, drain = _CATCH_UP_SHARE * seconds_left, (1 - _CATCH_UP_SHARE) * seconds_left
    return Patience(
        catch_up_seconds=min(_LONGEST_CATCH_UP_SECONDS, max(_SHORTEST_CATCH_UP_SECONDS, catch_up)),
        drain_seconds=min(_LONGEST_DRAIN_SECONDS, max(_SHORTEST_DRAIN_SECONDS, drain)),
    )


def waiting_until(
    end_seconds: float, *, clock: Callable[[], float] = time.time, sleep: Callable[[float], object] = time.sleep
) -> Callable[[float], bool]:
    """Return what waits for some seconds, and tells whether it is too late to go on.

    Args:
        end_seconds: By the clock, after which it is.
        clock: Seconds since 1970.
        sleep: Waits for seconds.
    """

    def wait(seconds: float) -> bool:
        sleep(seconds)
        return clock() > end_seconds

    return wait
