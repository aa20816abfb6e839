"""Whatever a document says, or a function is given: it works or is refused in words of ours (`scripts/fuzz.py`)."""

import random

from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.document.document import Language
from tests.odd_calls import odd_call, targets
from tests.odd_documents import EXAMPLES, document_fault, odd_document, odd_statements
from tests.thoroughness import examples

SEEDS = st.integers(0, 2**32)
SOUND = [(EXAMPLES / name).read_text(encoding="utf-8") for name in ("alerts_joined.yaml", "network_monitor.yaml")]
STATEMENTS = [(EXAMPLES / name).read_text(encoding="utf-8") for name in ("alerts_joined.sql", "network_monitor.sql")]


def test_what_is_called_oddly_can_be_called_rightly() -> None:
    for target in targets():
        if target.name != "load_network":
            target.function(**target.arguments)
    assert [document_fault(text) for text in SOUND] == [None] * len(SOUND)
    assert [document_fault(text, Language.SQL) for text in STATEMENTS] == [None] * len(STATEMENTS)


@examples(600)
@given(SEEDS)
def test_an_odd_call_gives_a_value_or_an_error_of_ours(seed: int) -> None:
    said, fault = odd_call(random.Random(seed))
    assert fault is None, said


@examples(30)
@given(SEEDS)
def test_an_odd_document_is_a_network_or_an_error_of_ours(seed: int) -> None:
    text = odd_document(random.Random(seed), SOUND)
    assert document_fault(text) is None, text


@examples(60)
@given(SEEDS)
def test_odd_statements_are_a_network_or_an_error_of_ours(seed: int) -> None:
    text = odd_statements(random.Random(seed), STATEMENTS)
    assert document_fault(text, Language.SQL) is None, text
