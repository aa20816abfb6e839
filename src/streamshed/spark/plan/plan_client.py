"""A task's end of the plan table: asks the driver for the plan of a micro-batch."""

from __future__ import annotations

import functools
import http.client
import json
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field

from streamshed.errors import StreamshedError
from streamshed.spark.common.running_task import micro_batch_id
from streamshed.spark.plan.plan_row import PlanRow

TOKEN_HEADER = "X-Streamshed-Token"  # noqa: S105 - the name of the header, not what is in it

_TIMEOUT_SECONDS = 60
_MOST_PLANS = 4
_PAUSES_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6, None)
"""Before the next attempt, after the first one and so on; none after the last."""


class PlanUnavailableError(StreamshedError):
    """A micro-batch could not get its plan from the driver."""


@dataclass(frozen=True)
class PlanClient:
    """Asks for plans. A Python worker remembers the latest of them, and asks for each once.

    Attributes:
        url: Where the driver answers.
        token: What it wants to see before it does.
    """

    url: str
    token: str = field(repr=False)

    def plan(self, micro_batch_id: int) -> PlanRow:
        """Return the plan of a micro-batch.

        Raises:
            PlanUnavailableError: The driver cannot be reached, or has none.
        """
        return _fetched_plan(self.url, self.token, micro_batch_id)

    def current(self) -> PlanRow:
        """Return the plan of the micro-batch that the running task belongs to.

        Raises:
            OutsideMicroBatchError: The task belongs to none.
            PlanUnavailableError: The driver cannot be reached, or has none.
        """
        return self.plan(micro_batch_id())


@functools.lru_cache(maxsize=_MOST_PLANS)
def _fetched_plan(url: str, token: str, micro_batch_id: int) -> PlanRow:
    for pause_seconds in _PAUSES_SECONDS:
        try:
            return PlanRow.from_json(_answer(url, token, micro_batch_id))
        except urllib.error.HTTPError as error:
            raise PlanUnavailableError(f"no plan for micro-batch {micro_batch_id}: {_explanation(error)}") from error
        except (OSError, http.client.HTTPException) as error:
            if pause_seconds is None or not _is_cut_off(error):
                raise PlanUnavailableError(
                    f"no plan from the driver at {url}: {error}; can executors reach that address?"
                ) from error
            time.sleep(pause_seconds)
    raise AssertionError("the last pause is none")


def _answer(url: str, token: str, micro_batch_id: int) -> str:
    request = urllib.request.Request(f"{url}?micro_batch_id={micro_batch_id}", headers={TOKEN_HEADER: token})  # noqa: S310 - the driver's own address
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
        answer: str = response.read().decode()
        return answer


def _is_cut_off(error: Exception) -> bool:
    """Whether the driver was reached, and let the connection go: it does so where many come at the same time."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return isinstance(reason, ConnectionResetError | BrokenPipeError | http.client.HTTPException)


def _explanation(error: urllib.error.HTTPError) -> str:
    """What the driver says of it."""
    try:
        return str(json.loads(error.read())["error"])
    except (ValueError, KeyError, TypeError, OSError):
        return str(error)
