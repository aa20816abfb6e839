"""The staging job of `streamshed replay`, from its options."""

from pathlib import Path

from streamshed.cli.replay_plan import ReplayPlan, ReplayRequest, plan_replay
from streamshed.cli.staging import StagingJob
from streamshed.cli.terminal.consoles import waiting
from streamshed.traces.errors import InvalidReplayError
from streamshed.traces.kafka_shape import KafkaShape
from streamshed.traces.repeat import Pacing
from streamshed.traces.stage import StagingOptions
from streamshed.traces.trace import read_trace

_TOPIC, _PARTITIONS = "trace", 4


def replay_job(  # noqa: PLR0913 - one argument per option of the command
    trace: Path,
    folder: Path,
    *,
    shape: str,
    time_column: str,
    topic: str | None,
    key: str | None,
    partitions: int | None,
    speed: float | None,
    rows_per_second: float | None,
    profile: str | None,
    rates: Path | None,
    duration: int | None,
    repeat: bool,
    pacing: str,
    interval: int,
    name: str,
    workers: int,
) -> tuple[StagingJob, ReplayPlan]:
    """Read the trace and settle what is to be staged.

    Raises:
        StreamshedError: The trace cannot be read, or the options contradict each other.
    """
    topic_shape = _topic_shape(shape, topic=topic, key=key, partitions=partitions)
    with waiting(f"reading {trace}"):
        rows = read_trace(trace, time=time_column)
    request = ReplayRequest(
        speed=speed,
        rows_per_second=rows_per_second,
        profile=profile,
        rates=rates,
        duration_microseconds=duration,
        repeat=repeat,
    )
    plan = plan_replay(rows, request)
    options = StagingOptions(
        shape=topic_shape, pacing=Pacing(pacing), interval_microseconds=interval, name=name, workers=workers
    )
    job = StagingJob(
        trace=rows, profile=plan.profile, rows_per_second=plan.rows_per_second, watched=folder, options=options
    )
    return job, plan


def _topic_shape(shape: str, *, topic: str | None, key: str | None, partitions: int | None) -> KafkaShape | None:
    if shape == "kafka":
        return KafkaShape(
            topic=_TOPIC if topic is None else topic,
            key=key,
            partitions=_PARTITIONS if partitions is None else partitions,
        )
    options = {"--topic": topic, "--key": key, "--partitions": partitions}
    if given := [option for option, value in options.items() if value is not None]:
        raise InvalidReplayError(
            f"{', '.join(given)}: rows of --format {shape} have nothing of the kind (was --format kafka meant?)"
        )
    return None
