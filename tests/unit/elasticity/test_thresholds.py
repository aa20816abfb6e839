import pytest

from streamshed.elasticity.errors import InvalidElasticityError
from streamshed.elasticity.thresholds import Thresholds
from streamshed.errors import StreamshedError


def test_the_message_says_which_two_are_the_wrong_way_round() -> None:
    with pytest.raises(InvalidElasticityError, match=r"are release and initial the wrong way round\?"):
        Thresholds(release=0.5, initial=0.4)


def test_percents_are_recognized() -> None:
    with pytest.raises(InvalidElasticityError, match=r"is one of them in percent\?"):
        Thresholds(release=20, initial=40, shed=80, add=95)


def test_what_is_refused_can_be_caught_as_any_other_error() -> None:
    with pytest.raises(StreamshedError):
        Thresholds(add=1.1)
