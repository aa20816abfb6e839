"""How a join is to be shed: what can be said, what cannot, and that it is no part of what the join asks."""

import pickle

import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.joins.choose.join_policies import JOIN_POLICIES, SAMPLING
from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import network
from streamshed.network.model.render import snapshot, to_text
from streamshed.network.model.rows import Rows
from streamshed.network.model.stream import Stream
from streamshed.network.source.sources import folder
from streamshed.network.terms.join_condition import overlap
from streamshed.network.terms.join_shedding import (
    DEFAULT_JOIN_POLICY_NAME,
    DEFAULT_SAMPLING,
    JOIN_POLICY_NAMES,
    JoinMode,
    JoinShedding,
)

SCHEMA = "ts timestamp, host string, severity int, tags array<string>"
FLOWS, ALERTS = (
    stream(name, folder(f"data/{name}", "json", schema=SCHEMA), time="ts", watermark="2 seconds")
    for name in ("flows", "alerts")
)


def _joined(on: object = "host", **settings: object) -> Rows:
    return FLOWS.join(ALERTS, on=on, within="30 s", **settings)  # type: ignore[arg-type]


def _shedding(joined: Stream) -> JoinShedding:
    assert joined.joined is not None
    return joined.joined.shedding


def test_the_registry_is_that_of_the_policies() -> None:
    assert tuple(policy.name for policy in JOIN_POLICIES) == JOIN_POLICY_NAMES
    assert DEFAULT_JOIN_POLICY_NAME in JOIN_POLICY_NAMES
    assert DEFAULT_SAMPLING == SAMPLING
    assert _shedding(_joined().stream) == JoinShedding(DEFAULT_JOIN_POLICY_NAME, JoinMode.SUBSET, None, None, SAMPLING)


def test_all_that_is_said_of_shedding_is_kept() -> None:
    said = _joined(policy="direction", weight="FLOWS_SEVERITY + alerts_severity", memory="512 MB", sampling=0.5)
    shedding = _shedding(said.stream)
    assert (shedding.policy, shedding.mode, shedding.memory_bytes, shedding.sampling) == (
        "direction",
        JoinMode.SUBSET,
        512_000_000,
        0.5,
    )
    assert shedding.weight is not None
    assert shedding.weight.columns == {"flows_severity", "alerts_severity"}
    assert pickle.loads(pickle.dumps(said)) == said
    assert _shedding(_joined(mode="exact").stream).mode is JoinMode.EXACT


@pytest.mark.parametrize(
    "settings",
    [
        {"policy": "random_drop"},
        {"mode": "exact"},
        {"mode": "sample"},
        {"mode": "sample", "sampled_side": "right"},
        {"weight": "flows_severity"},
        {"memory": "1 GiB"},
        {"sampling": 0.2},
    ],
)
def test_how_a_join_is_shed_is_no_part_of_what_is_asked_but_of_what_is_there(settings: dict[str, object]) -> None:
    joined, other = _joined(), _joined(**settings)
    assert joined.query("pairs").definition_id == other.query("pairs").definition_id
    assert joined != other
    with pytest.raises(InvalidNetworkError, match='two different streams are named "flows_alerts": they differ in'):
        network(joined.query("a"), other.filter("flows_severity > 1").query("b"))


def test_weights_are_compared_by_what_they_say() -> None:
    assert _joined(weight="flows_severity  +  1") == _joined(weight="(Flows_Severity + 1)")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"policy": "greedly"}, r'unknown policy "greedly", known are: .*\(did you mean "greedy"\?\)'),
        ({"mode": "sampled"}, r'unknown mode of a join "sampled", known are: .*\(did you mean "sample"\?\)'),
        ({"mode": "approximate"}, r'unknown mode of a join "approximate", known are: exact, subset, sample'),
        ({"mode": "sample", "sampled_side": "lef"}, r'unknown side of a join "lef", .* \(did you mean "left"\?\)'),
        ({"sampled_side": "right"}, r"its mode is subset: no rows are drawn, leave sampled_side out"),
        (
            {"weight": "flows_severty"},
            r'its weight: unknown column "flows_severty" \(did you mean "flows_severity"\?\)',
        ),
        ({"weight": "flows_host"}, r'its weight "flows_host" is a string, expected a number'),
        ({"weight": "flows_severity +"}, r'cannot parse "flows_severity \+"'),
        ({"weight": "sum(flows_severity)"}, r"is no expression over one row"),
        ({"weight": "flows_severity", "mode": "exact"}, r"its mode is exact: there is nothing to choose"),
        ({"weight": "flows_severity", "mode": "sample"}, r"its mode is sample: rows are drawn by chance"),
        ({"memory": "512 parsecs"}, r'unknown unit "parsecs"'),
        ({"memory": 512}, r"a size is a number with a unit"),
        ({"memory": "0 B"}, r"memory is a number of bytes of at least 1, got 0"),
        ({"memory": "1 GB", "mode": "exact"}, r"its mode is exact: a limit of memory makes it forget rows"),
        ({"memory": "1 GB", "mode": "sample"}, r"its mode is sample: results would be missing for other reasons"),
        *[({"sampling": bad}, r"sampling is the share .* in \(0, 1\]") for bad in (0, 1.5, float("nan"), True, "0.1")],
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidNetworkError, match=message):
        _joined(**settings)


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(InvalidNetworkError) as raised:
        _joined(mode="most", policy="best", sampling=2, memory="much", weight="(")
    assert len(raised.value.problems) == 5


def test_pictures_tell_what_is_not_the_default() -> None:
    plain = to_text(snapshot(network(_joined().query("pairs"))))
    assert "flows_alerts (flows join alerts on host within 30 seconds)\n" in plain
    said = _joined(policy="direction", weight="flows_severity", memory="512 MiB", sampling=0.2)
    assert (
        "(flows join alerts on host within 30 seconds, shed by direction, results worth flows_severity,"
        " windows of at most 512 MiB, 0.2 of it to learn)"
    ) in to_text(snapshot(network(said.query("pairs"))))
    assert "30 seconds, never shed)" in to_text(snapshot(network(_joined(mode="exact").query("pairs"))))
    drawn = _joined(overlap("tags", at_least=2), mode="sample", sampled_side="right")
    assert "30 seconds, shed by a sample of right rows)" in to_text(snapshot(network(drawn.query("pairs"))))
