from pathlib import Path

import pytest

from streamshed.elasticity.settings import ElasticSettings
from streamshed.elasticity.thresholds import Thresholds
from streamshed.elasticity.workers import WorkerLimits
from streamshed.errors import InvalidDocumentError
from streamshed.network.document.document import parse_network
from streamshed.network.document.document_writer import network_to_document
from tests.unit.network.document.runs import DOCUMENT, run_of


def problems_of(text: str) -> list[str]:
    with pytest.raises(InvalidDocumentError) as caught:
        run_of(text)
    return [str(caught.value)]


def test_everything_is_read() -> None:
    settings = run_of(
        "headroom: 0.9\n"
        "elastic: {least: 2, most: 6, partitions: 12, controller: thresholds, start: 20 s, rescale_price: 5 s,"
        " add_after: 30 s, release_after: 5 minutes, look_ahead: 2 minutes, base_shed: 0.1, shed_shape: quadratic,"
        " thresholds: {release: 0.1, initial: 0.3, shed: 0.7, add: 0.9}}"
    )
    assert settings.elastic == ElasticSettings(
        limits=WorkerLimits(least=2, most=6, partitions=12),
        controller="thresholds",
        start_seconds=20.0,
        rescale_price_seconds=5.0,
        add_after_seconds=30.0,
        release_after_seconds=300.0,
        look_ahead_seconds=120.0,
        base_shed=0.1,
        shed_shape="quadratic",
        thresholds=Thresholds(release=0.1, initial=0.3, shed=0.7, add=0.9),
    )


def test_what_is_not_said_is_the_default() -> None:
    assert run_of("elastic: {}").elastic == ElasticSettings()
    assert run_of("headroom: 0.8").elastic is None


def test_it_is_written_as_it_is_read() -> None:
    document = parse_network(
        DOCUMENT + "  elastic: {most: 6, start: 20 s, base_shed: 0.2, shed_shape: quadratic}\n", folder=Path()
    )
    again = parse_network(network_to_document(document.network, document.run), folder=Path())
    assert again.run.elastic == document.run.elastic


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("elastic: {most: 0}", "the most there may be must be at least the fewest, 1"),
        ("elastic: {least: 4, most: 2}", "the most there may be must be at least the fewest, 4"),
        ("elastic: {controller: predictve}", 'did you mean "predictive"'),
        ("elastic: {thresholds: {shed: 0.8, add: 0.7}}", "0 < release < initial < shed < add <= 1"),
        ("elastic: {base_shed: 1.5}", "with a base in [0, 1]"),
        ("elastic: {shed_shape: quadric}", 'did you mean "quadratic"'),
        ("elastic: {release_after: 0 s}", "release_after_seconds must be finite and above 0"),
        ("headroom: 0.5\nelastic: {most: 3}", "set shed to the headroom"),
    ],
)
def test_each_problem_is_told_at_its_place(text: str, told: str) -> None:
    [problem] = problems_of(text)
    assert problem.startswith("run.elastic")
    assert told in problem
