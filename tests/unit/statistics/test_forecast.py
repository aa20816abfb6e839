import pytest

from streamshed.network.run.load_prior import LoadPrior
from streamshed.statistics.forecast import Statistics
from streamshed.statistics.load_model import LoadModel


def test_work_is_what_dropping_everything_saves() -> None:
    statistics = Statistics(
        offered_rows={"packets": 1000, "flows": 50},
        load_model=LoadModel.initial(["packets", "flows"], LoadPrior()),
        correction=1.3,
    )
    saved = statistics.seconds({}) - statistics.seconds({"packets": 0.0})
    assert statistics.work_seconds("packets") == pytest.approx(saved)
