"""Names that users of Spark look for get an answer."""

from __future__ import annotations

import copy
import pickle

import pytest

from streamshed.network.model.declared_stream import stream
from streamshed.network.source.sources import rate
from streamshed.network.words.words_of_spark import IN_PLACE_OF
from tests.unit.network.examples import packets


@pytest.mark.parametrize("name", IN_PLACE_OF)
def test_it_says_what_to_write(name: str) -> None:
    nodes = [packets(), packets().filter("size > 3"), packets().window("1 minute")]
    lacking = [node for node in nodes if not hasattr(type(node), name)]
    assert lacking
    for node in lacking:
        with pytest.raises(AttributeError, match=f'has no "{name}": ') as refused:
            getattr(node, name)
        assert IN_PLACE_OF[name] in str(refused.value)


def test_other_names_are_absent_as_ever() -> None:
    node = stream("ticks", rate(10), time="timestamp").filter("value > 3")
    assert not hasattr(node, "whirl")
    assert copy.copy(node) == pickle.loads(pickle.dumps(node)) == node
