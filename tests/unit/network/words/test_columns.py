import pytest

from streamshed.errors import InvalidNetworkError
from streamshed.network.words.columns import Column, declared_name, format_schema, normal_type, parse_schema


@pytest.mark.parametrize(
    ("written", "normal"),
    {
        "INTEGER": "int",
        "long": "bigint",
        "real": "float",
        "decimal": "decimal(10,0)",
        "Numeric( 10 , 2 )": "decimal(10,2)",
        "varchar(5)": "varchar(5)",
        "array< map<string, LONG> >": "array<map<string,bigint>>",
        "struct<a: int, B: string NOT NULL>": "struct<a:int,B:string>",
        "struct<`a b`: int>": "struct<`a b`:int>",
        "interval day to second": "interval day to second",
        "timestamp_ntz": "timestamp_ntz",
        "string collate UTF8_LCASE": "string collate utf8_lcase",
    }.items(),
)
def test_types_have_one_spelling(written: str, normal: str) -> None:
    assert normal_type(written) == normal
    assert normal_type(normal) == normal


def test_schemas_are_read() -> None:
    ddl = "ts TIMESTAMP NOT NULL, `a,b` decimal(10, 2) COMMENT 'x, y', c array<string>, s struct<x: int,y int>"
    assert parse_schema(ddl) == (
        Column("ts", "timestamp"),
        Column("a,b", "decimal(10,2)"),
        Column("c", "array<string>"),
        Column("s", "struct<x:int,y:int>"),
    )


def test_schemas_are_written_as_they_are_read() -> None:
    columns = parse_schema("a int, `b c` string, `d``e` array<int>")
    assert parse_schema(format_schema(columns)) == columns


def test_all_problems_of_a_schema_are_told() -> None:
    with pytest.raises(InvalidNetworkError) as caught:
        parse_schema("a itn, b, c int, C int")
    assert caught.value.problems == (
        'column "a": unknown type "itn" (did you mean "int"?)',
        '"b" is no column: write a name and a type, such as "size int"',
        'the columns "c" and "C" have the same name for Spark',
    )


@pytest.mark.parametrize("ddl", ["", "  ", "a array<nothing>", "a int(", "a decimal(x)", "int<string> a", "a int<int>"])
def test_what_is_no_schema_is_refused(ddl: str) -> None:
    with pytest.raises(InvalidNetworkError):
        parse_schema(ddl)


def test_a_column_needs_a_name() -> None:
    with pytest.raises(InvalidNetworkError, match="a column's name is text"):
        Column("", "int")


def test_the_declared_spelling_wins() -> None:
    assert declared_name("SIZE", {"ts": None, "Size": "int"}) == "Size"
    assert declared_name("weight", {"ts": None, "Size": "int"}) is None
