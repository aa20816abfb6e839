import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.model.declared_stream import stream
from streamshed.network.source.identity import Identity, IdentityKind
from streamshed.network.source.sources import folder, rate
from streamshed.network.terms.parsing import parse_csv, parse_json
from tests.unit.network.examples import PACKET_COLUMNS, FakeFrame, packets

BROKER_FRAME = FakeFrame(
    [("key", "binary"), ("value", "binary"), ("topic", "string"), ("partition", "int"), ("offset", "bigint")]
)
PACKET_JSON = parse_json("value", "ts timestamp, size int")


def test_the_columns_are_those_of_the_source() -> None:
    assert dict(packets().columns) == dict(PACKET_COLUMNS)


def test_text_gives_way_to_what_is_parsed_out_of_it() -> None:
    logs = stream("logs", BROKER_FRAME, time="ts", parse=PACKET_JSON)
    assert list(logs.columns) == ["key", "topic", "partition", "offset", "ts", "size"]
    assert [column.name for column in logs.stream.schema] == ["key", "value", "topic", "partition", "offset"]


def test_the_declared_spelling_of_the_time_wins() -> None:
    assert stream("p", FakeFrame([("Ts", "timestamp")]), time="TS").stream.time == "Ts"


def test_durations_become_microseconds() -> None:
    ticks = stream("ticks", rate(1), time="timestamp", watermark="2 s", idle_after="1 minute")
    assert (ticks.stream.watermark_microseconds, ticks.stream.idle_after_microseconds) == (2_000_000, 60_000_000)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (rate(1), Identity(IdentityKind.COLUMNS, ("value",))),
        (folder("x", "parquet", schema="timestamp timestamp"), Identity(IdentityKind.FILE_ROW)),
        (folder("x", "json", schema="timestamp timestamp"), Identity(IdentityKind.NONE)),
        (FakeFrame([("timestamp", "timestamp")]), Identity(IdentityKind.NONE)),
        (
            FakeFrame([*BROKER_FRAME.dtypes, ("timestamp", "timestamp")]),
            Identity(IdentityKind.COLUMNS, ("topic", "partition", "offset")),
        ),
    ],
)
def test_rows_are_told_apart_by_what_the_source_offers(source: object, expected: Identity) -> None:
    assert stream("s", source, time="timestamp").stream.identity == expected


def test_an_identity_can_be_declared() -> None:
    assert stream("t", rate(1), time="timestamp", identity="none").stream.identity == Identity(IdentityKind.NONE)
    declared = stream("p", BROKER_FRAME, time="ts", parse=PACKET_JSON, identity=["value", "size"]).stream.identity
    assert declared == Identity(IdentityKind.COLUMNS, ("value", "size"))


def test_equal_streams_are_one() -> None:
    assert packets() == packets()
    assert hash(packets()) == hash(packets())
    assert packets() != packets(watermark="2 seconds")
    assert packets() != packets(max_ahead="2 seconds")
    assert packets() != packets(frame=FakeFrame(PACKET_COLUMNS))


def test_all_that_is_wrong_is_told() -> None:
    with pytest.raises(InvalidNetworkError) as caught:
        stream("my packets", FakeFrame(PACKET_COLUMNS), time="tss", identity=["ofset"], clock="")
    assert len(caught.value.problems) == 4
    assert caught.value.problems[2] == 'stream "my packets": its time: unknown column "tss" (did you mean "ts"?)'


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"time": "size"}, 'its time "size" is a int, expected a timestamp'),
        ({"time": "ts", "watermark": "1 sekond"}, 'unknown unit "sekond"'),
        ({"time": "ts", "idle_after": "0 s"}, "idle_after must be longer than nothing"),
        ({"time": "ts", "max_ahead": "0 s"}, "max_ahead must be longer than nothing"),
        ({"time": "ts", "max_ahead": "soon"}, "soon"),
        ({"number": "size", "max_ahead": "1 day"}, "numbers have no clock"),
        ({"time": "ts", "identity": "file_rows"}, 'did you mean "file_row"'),
        ({"time": "ts", "identity": "size"}, r"for one column write \['size'\]"),
        ({"time": "ts", "identity": []}, "an identity is columns"),
        ({"time": "ts", "parse": parse_json("flag", "a int")}, 'unknown column "flag" .did you mean "flags"'),
        ({"time": "ts", "parse": parse_csv("size", "a int")}, 'only text can be parsed, "size" is a int'),
        (
            {"time": "ts", "parse": parse_csv("src_host", "Proto int")},
            '"Proto" is parsed out of "src_host" but',
        ),
    ],
)
def test_streams_that_cannot_be(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(InvalidNetworkError, match=problem):
        stream("packets", FakeFrame(PACKET_COLUMNS), **settings)  # type: ignore[arg-type]


def test_only_parquet_numbers_its_rows() -> None:
    with pytest.raises(InvalidNetworkError, match="needs Parquet files"):
        stream("t", rate(1), time="timestamp", identity="file_row")


def test_parsing_needs_columns() -> None:
    with pytest.raises(InvalidNetworkError, match="a schema is text"):
        parse_json("value", "")


def test_the_lines_of_a_json_folder_are_not_parsed_again() -> None:
    source = folder("/in", "json", schema="ts timestamp, value string")
    with pytest.raises(InvalidNetworkError, match=r"its source is a folder of JSON.*from_json"):
        stream("events", source, time="ts", parse=parse_json("value", "v int"))


def test_columns_named_like_those_of_the_engine_are_refused() -> None:
    columns = [*PACKET_COLUMNS, ("__open", "int")]
    with pytest.raises(InvalidNetworkError) as of_a_frame:
        packets(frame=FakeFrame(columns))
    assert str(of_a_frame.value) == (
        'stream "packets": its source: the column "__open" begins with two underscores, as only columns of streamshed'
        " itself may: rename it (.withColumnRenamed)"
    )
    with pytest.raises(InvalidNetworkError, match="or leave it out of the schema"):
        stream("p", folder("x", "json", schema="ts timestamp, __OPEN int"), time="ts")
    parse = parse_json("value", "__time timestamp, size int")
    with pytest.raises(InvalidNetworkError, match='what is parsed: the column "__time" begins with two underscores'):
        stream("p", FakeFrame([("value", "string")]), time="__time", parse=parse)


def test_one_underscore_keeps_nothing_apart() -> None:
    assert "_open" in packets(frame=FakeFrame([*PACKET_COLUMNS, ("_open", "int")])).columns
