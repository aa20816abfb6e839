"""A row passes a gate iff somebody behind the gate may have it: brute force over levels."""

from hypothesis import given
from hypothesis import strategies as st

from streamshed.network.model.declared_stream import stream
from streamshed.network.model.network import QueryNetwork, network
from streamshed.network.source.sources import rate
from streamshed.sharing.gating import LEVELS, STEP, Gating, gates
from streamshed.sharing.instructions import Call, Define
from streamshed.sharing.stream_work import StreamWork, stream_work
from tests.oracles.intakes import intake_count

CODES = st.integers(0, 255)


@st.composite
def gatings(draw: st.DrawFn) -> tuple[Gating, list[int]]:
    sizes = draw(st.lists(st.integers(1, 5), max_size=4))
    count = sum(sizes)
    classes = tuple(tuple(range(sum(sizes[:n]), sum(sizes[: n + 1]))) for n in range(len(sizes)))
    rows = draw(st.integers(0 if count else 1, 2))
    row_queries = {10 + n: count + n for n in range(rows)}
    users = st.sets(st.integers(0, count + rows - 1)).map(lambda found: tuple(sorted(found)))
    instructions = tuple(draw(st.lists(users, max_size=4)))
    return Gating(classes, row_queries, instructions), draw(
        st.lists(CODES, min_size=count + rows, max_size=count + rows)
    )


@given(gatings(), CODES)
def test_a_row_passes_iff_an_intake_behind_the_gate_takes_it(known: tuple[Gating, list[int]], level: int) -> None:
    gating, codes = known
    found = gates(gating, codes)
    taken = {intake for intake, code in enumerate(codes) if level >= code}
    assert (level >= found.streams[0]) == bool(taken)
    if level < found.streams[0]:
        return

    def passes(place: tuple[int, int]) -> bool:
        word, bit = place
        return found.passes is None or bool(found.passes[0][level][word] >> bit & 1)

    for index, users in enumerate(gating.instructions):
        assert passes(gating.instruction_place(index)) == bool(taken & set(users) if users else taken)
    for definition_id, intake in gating.row_queries.items():
        assert passes(gating.row_query_place(definition_id)) == (intake in taken)
    for word, bits in enumerate(gating.classes):
        assert {bit for bit in range(len(bits)) if passes((word, bit))} == {
            bit for bit, intake in enumerate(bits) if intake in taken
        }


@given(gatings())
def test_codes_are_written_in_the_order_of_the_intakes(known: tuple[Gating, list[int]]) -> None:
    gating, codes = known
    written = gates(gating, codes).codes
    if written is None:
        assert not any(codes)
    else:
        [only] = written
        pairs = [int(only[index : index + 2], 16) for index in range(0, len(only), 2)]
        assert pairs == [min(codes), *codes]


def test_many_gates_take_several_words() -> None:
    gating = Gating(((0,),), {7: 1}, tuple((n % 2,) for n in range(130)))
    found = gates(gating, (0, 32))
    assert found.passes is not None
    for index in range(130):
        word, bit = gating.instruction_place(index)
        assert bool(found.passes[0][31][word] >> bit & 1) == (index % 2 == 0)
        assert found.passes[0][31][word] < 2**63


def slow(values: object) -> object:
    return values


def a_network() -> QueryNetwork:
    ticks = stream("ticks", rate(10), time="timestamp")
    judged = ticks.filter("value > 3").apply(slow, columns=["value"], into="verdict", returns="bigint")
    return network(
        ticks.filter("value > 3").window("10 seconds").agg(n="count(*)").query("cheap"),
        judged.filter("verdict = 1").window("10 seconds").agg(n="count(*)").query("judged"),
        judged.map(hashed="sha2(CAST(verdict AS STRING), 256)").query("rows"),
        judged.window("10 seconds").by("verdict").agg(n="count(*)").query("by_verdict"),
    )


def the_work() -> StreamWork:
    asked = a_network()
    return stream_work(asked.streams[0], asked.queries)


def test_a_gate_is_as_wide_as_the_widest_query_behind_it() -> None:
    work = the_work()
    of_query = {query: n for n, intake in enumerate(work.intakes) for query in intake.queries}
    assert set(of_query) == {"cheap", "judged", "rows", "by_verdict"}
    users = dict(zip(work.program.instructions, work.gating.instructions, strict=True))
    [call] = [users[one] for one in users if isinstance(one, Call)]
    [hashed] = [users[one] for one in users if isinstance(one, Define)]
    assert set(call) == {of_query[name] for name in ("judged", "rows", "by_verdict")}
    assert hashed == (of_query["rows"],)


def test_every_share_of_every_query_has_one_intake() -> None:
    work = the_work()
    shares = [share for intake in work.intakes for share in intake.shares]
    assert len(shares) == len(set(shares)) == 6
    assert [slot for _, slot in sorted(shares)].count(0) == 4
    assert intake_count(work.gating) == len(work.intakes)
    assert LEVELS == 256


@given(gatings(), st.data())
def test_a_larger_row_passes_what_a_row_of_a_higher_level_would(
    known: tuple[Gating, list[int]], data: st.DataObject
) -> None:
    gating, codes = known
    sized = data.draw(st.sets(st.integers(0, len(codes) - 1), min_size=1))
    found = gates(gating, codes, sized)
    if found.passes is None or found.codes is None:
        assert not any(codes)
        return
    assert max(codes[n] for n in sized) <= STEP * (len(found.passes) - 1), "the largest rows are kept surely"
    level, size = data.draw(CODES), data.draw(st.integers(0, len(found.passes) - 1))
    taken = {n for n, code in enumerate(codes) if (level + STEP * size if n in sized else level) >= code}
    words = found.passes[size][level]

    def passes(place: tuple[int, int]) -> bool:
        word, bit = place
        return bool(words[word] >> bit & 1)

    for index, users in enumerate(gating.instructions):
        if users:
            assert passes(gating.instruction_place(index)) == bool(taken & set(users))
    for definition_id, intake in gating.row_queries.items():
        assert passes(gating.row_query_place(definition_id)) == (intake in taken)
    for word, bits in enumerate(gating.classes):
        assert {bit for bit in range(len(bits)) if passes((word, bit))} == {
            bit for bit, intake in enumerate(bits) if intake in taken
        }
    assert bool(taken) == (level >= found.streams[size])
    written = found.codes[size]
    pairs = [int(written[index : index + 2], 16) for index in range(0, len(written), 2)]
    assert pairs[1:] == [max(0, code - STEP * size) if n in sized else code for n, code in enumerate(codes)]
    assert pairs[0] == min(pairs[1:]) == found.streams[size]
