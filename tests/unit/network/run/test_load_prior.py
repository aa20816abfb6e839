import pytest

from streamshed.network.run.load_prior import LoadPrior


@pytest.mark.parametrize("fixed_seconds", [0.0, -1.0, float("inf"), float("nan")])
def test_costs_are_positive(fixed_seconds: float) -> None:
    with pytest.raises(ValueError, match="fixed_seconds must be finite and more than 0"):
        LoadPrior(fixed_seconds=fixed_seconds)


@pytest.mark.parametrize("read_share", [0.0, 1.0, -0.1, 2.0])
def test_reading_is_a_part_of_a_row(read_share: float) -> None:
    with pytest.raises(ValueError, match="read_share must be between 0 and 1"):
        LoadPrior(read_share=read_share)
