"""δ and the fudge factor of [B04]: from `start` and documents to the rates of `explain`, of runs and of simulations."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from streamshed.control.loop import ControlLoop
from streamshed.control.settings import ControlSettings
from streamshed.dashboard.explained_network import explain_network
from streamshed.errors import InvalidDocumentError, InvalidNetworkError
from streamshed.network.document.document import parse_network
from streamshed.network.document.document_writer import network_to_document
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.run.load_prior import LoadPrior
from streamshed.network.run.settings import Settings
from streamshed.statistics.network_statistics import Moments, NetworkStatistics, QueryStatistics, StreamStatistics
from tests.unit.cli.command_line import streamshed
from tests.unit.control.examples import upcoming
from tests.unit.planning.networks import rows_of

ROWS_PER_SECOND, QUERY_SECONDS = 1000.0, 1e-3
DEVIATIONS = {"even": 0.0, "uneven": 7.0}


def _asked() -> QueryNetwork:
    rows = rows_of("s")
    sums = [rows.window("10 seconds").agg(v=f"sum(value + {n})").query(name) for n, name in enumerate(DEVIATIONS)]
    return network(*sums, rows.query("rows"))


def _known() -> NetworkStatistics:
    """Each query takes as much of a row; only how far values spread is different."""
    of_sums = {
        name: QueryStatistics(seconds_per_row=QUERY_SECONDS, moments={"v": Moments(mean=1.0, deviation=deviation)})
        for name, deviation in DEVIATIONS.items()
    }
    return NetworkStatistics(
        fixed_seconds=0.1,
        streams={"s": StreamStatistics(rows_per_second=ROWS_PER_SECOND)},
        queries={**of_sums, "rows": QueryStatistics(seconds_per_row=QUERY_SECONDS)},
    )


def _bounds(rows_per_second: float, *, confidence: float, fudge: float) -> dict[str, float]:
    """C + f of each query, by the paper's formula: P is in proportion to it ([B04] §3.1.1, §4.2)."""
    logarithm = math.log(2 / (1 - confidence))
    rows = rows_per_second * 10
    squares = {name: (deviation**2 + 1) / (2 * rows) for name, deviation in DEVIATIONS.items()}
    return {**{name: fudge + math.sqrt(square * logarithm) for name, square in squares.items()}, "rows": fudge + 1.0}


def _check(rates: dict[str, float], rows_per_second: float, *, confidence: float, fudge: float, within: float) -> None:
    bounds = _bounds(rows_per_second, confidence=confidence, fudge=fudge)
    assert max(rates.values()) < 1
    scales = [rates[name] / bound for name, bound in bounds.items()]
    assert max(scales) == pytest.approx(min(scales), rel=within)


SETTINGS = [(0.95, 0.0), (0.5, 0.0), (0.95, 0.2), (0.999, 1.0)]


@pytest.mark.parametrize(("confidence", "fudge"), SETTINGS)
def test_explained_rates_are_in_proportion_to_the_bounds(confidence: float, fudge: float) -> None:
    found = explain_network(
        _asked(), 4.0, statistics=_known(), policy="hoeffding", confidence=confidence, fudge=fudge
    ).explanation
    rates = {one.query: one.effective_sampling_rate for one in found.outlooks}
    _check(rates, found.rows_per_second, confidence=confidence, fudge=fudge, within=1e-9)
    assert found.hoeffding is not None
    assert (found.hoeffding.exceeded_share, found.hoeffding.fudge) == pytest.approx((1 - confidence, fudge))


@pytest.mark.parametrize(("confidence", "fudge"), SETTINGS)
def test_a_run_samples_by_the_settings_of_start(confidence: float, fudge: float) -> None:
    started = Settings(
        policy="hoeffding",
        confidence=confidence,
        fudge=fudge,
        prior=LoadPrior(fixed_seconds=0.1, seconds_per_row=3e-3, read_share=0.01, is_measured=True),
    )
    loop = ControlLoop(_asked(), ControlSettings.of(started, statistics=_known()), lambda: 0.0)
    decided = loop.plan(upcoming(0, {"s": 2 * 1600}))
    # Rates are rounded to steps of 10^(1/32); the rows of windows are those of the micro-batch that came.
    _check(decided.effective_sampling_rates, 1600, confidence=confidence, fudge=fudge, within=0.08)


def test_rates_follow_the_load_where_something_is_added_to_the_bounds() -> None:
    """C shrinks as more rows come, and what is added does not: a plan that was made for another load does not do."""
    settings = ControlSettings(
        trigger_interval_seconds=2.0,
        policy="hoeffding",
        fudge=0.05,
        statistics=_known(),
        prior=LoadPrior(fixed_seconds=0.1, seconds_per_row=3e-3, read_share=0.01, is_measured=True),
    )
    sums = network(*[query for query in _asked().queries if query.name in DEVIATIONS])
    loop = ControlLoop(sums, settings, lambda: 0.0)
    for micro_batch_id, rows in enumerate((2 * 2000, 2 * 20_000)):
        decided = loop.plan(upcoming(micro_batch_id, {"s": rows}))
        bounds = _bounds(rows / 2, confidence=0.95, fudge=0.05)
        rates = decided.effective_sampling_rates
        assert rates["uneven"] / rates["even"] == pytest.approx(bounds["uneven"] / bounds["even"], rel=0.08)


DOCUMENT = """
streamshed: 1
streams: {s: {source: {folder: rows, schema: "at timestamp, v bigint"}, time: at}}
queries:
  even: {from: s, window: {size: 10 seconds}, aggregates: {v: sum(v)}}
  uneven: {from: s, window: {size: 10 seconds}, aggregates: {v: sum(v + 1)}}
  rows: {from: s}
"""


def test_a_document_says_it_and_explain_shows_it(tmp_path: Path) -> None:
    file, statistics = tmp_path / "network.yaml", tmp_path / "statistics.json"
    file.write_text(f"{DOCUMENT}run: {{policy: hoeffding, confidence: 0.9, fudge: 0.25}}\n")
    statistics.write_text(_known().to_json())
    given = ("explain", file, "--load", 4, "--statistics", statistics)
    assert "policy hoeffding (δ = 0.1, C + 0.25): " in streamshed(*given).output
    plan = streamshed(*given, "--json").object
    rates = {one["query"]: one["effective_sampling_rate"] for one in plan["outlooks"]}
    _check(rates, plan["rows_per_second"], confidence=0.9, fudge=0.25, within=1e-9)
    other = streamshed(*given, "--json", "--fudge", 0, "--confidence", 0.5).object
    _check(
        {one["query"]: one["effective_sampling_rate"] for one in other["outlooks"]},
        other["rows_per_second"],
        confidence=0.5,
        fudge=0.0,
        within=1e-9,
    )
    document = parse_network(file.read_text(), folder=tmp_path)
    assert parse_network(network_to_document(document.network, document.run)).run.fudge == 0.25


def test_a_simulation_goes_by_it(tmp_path: Path) -> None:
    statistics = tmp_path / "statistics.json"
    statistics.write_text(_known().to_json())

    def spread(fudge: float) -> float:
        """How many times the error of the one query is that of the other."""
        file = tmp_path / "network.yaml"
        file.write_text(f"{DOCUMENT}run: {{policy: hoeffding, fudge: {fudge}}}\n")
        given = ("--statistics", statistics, "--load", "4x:20s", "--workers", 1, "--json")
        told = {one["query"]: one for one in streamshed("simulate", file, *given).object["queries"]}
        return float(told["uneven"]["mean_error"] / told["even"]["mean_error"])

    at_one_rate = math.sqrt(DEVIATIONS["uneven"] ** 2 + 1)
    assert spread(1e4) == pytest.approx(at_one_rate, rel=0.02)
    assert spread(0.0) < at_one_rate / 2


@pytest.mark.parametrize("policy", ["least_error", "equal_error", "uniform"])
def test_no_other_policy_takes_it(policy: str) -> None:
    told = f"by the policy hoeffding, but the policy is {policy}"
    with pytest.raises(InvalidNetworkError, match=told):
        Settings(policy=policy, fudge=0.1)
    with pytest.raises(InvalidNetworkError, match=told):
        explain_network(_asked(), policy=policy, fudge=0.1)
    with pytest.raises(InvalidDocumentError, match=f"run.fudge: .*{told}"):
        parse_network(f"{DOCUMENT}run: {{policy: {policy}, fudge: 0.1}}")
    with pytest.raises(ValueError, match=f"but the policy is {policy}"):
        ControlSettings(trigger_interval_seconds=2.0, policy=policy, fudge=0.1)


@pytest.mark.parametrize("fudge", [-0.1, math.nan, math.inf])
def test_what_cannot_be_added_is_refused(fudge: float) -> None:
    with pytest.raises(InvalidNetworkError, match="finite and at least 0"):
        Settings(policy="hoeffding", fudge=fudge)
