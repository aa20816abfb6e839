"""Some stretches of a Parquet file, read without unpacking what lies between them.

Arrow reads row groups as a whole. DuckDB passes over the pages of which no row is asked for: for a tenth of the rows of
a row group, in stretches of 8,192, it takes a sixth of the time. Its values are used only where its types are those
that Arrow reads; for all others a file is read as ever.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache

import duckdb
import pyarrow as pa

from streamshed.columnar.row_file import joined

_PLAIN = frozenset(
    {
        pa.bool_(),
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
        *(pa.uint8(), pa.uint16(), pa.uint32()),
        *(pa.float32(), pa.float64()),
        *(pa.string(), pa.binary(), pa.date32()),
        pa.timestamp("us", "UTC"),
    }
)
"""The types whose values both read alike."""
_AT_ONCE = 10
"""With more conditions than these, DuckDB unpacks all pages."""
_NUMBER = "file_row_number"
_WILD = frozenset("*?[]{}")


def scattered_rows(path: str, types: Mapping[str, pa.DataType], stretches: Sequence[range]) -> pa.RecordBatch | None:
    """Return the rows of some stretches of a file, in order; None: what is there may not be read alike.

    Args:
        path: Of a Parquet file on this machine.
        types: The columns to read, as the file spells them, and the types in which Arrow reads them, which they get.
        stretches: The numbers of rows, ascending, within the file.

    Example:
        >>> import tempfile
        >>> from pyarrow import parquet
        >>> path = tempfile.mkdtemp() + "/rows.parquet"
        >>> parquet.write_table(pa.table({"size": pa.array(range(100), pa.int32())}), path)
        >>> scattered_rows(path, {"size": pa.int32()}, [range(3, 5), range(90, 92)]).to_pydict()
        {'size': [3, 4, 90, 91]}
        >>> scattered_rows(path, {"size": pa.decimal128(9, 2)}, [range(3)]) is None
        True
    """
    wanted = {name: kind.value_type if pa.types.is_dictionary(kind) else kind for name, kind in types.items()}
    if not wanted or not _PLAIN.issuperset(wanted.values()) or _WILD.intersection(path) or not stretches:
        return None
    neighbors = joined(stretches)
    try:
        rows = pa.concat_tables(
            _read(path, list(wanted), neighbors[first : first + _AT_ONCE])
            for first in range(0, len(neighbors), _AT_ONCE)
        )
    except duckdb.Error:
        return None
    if rows.schema.types != list(wanted.values()) or rows.num_rows != sum(map(len, stretches)):
        return None
    [together] = rows.combine_chunks().to_batches(max_chunksize=rows.num_rows)
    columns = [
        column.dictionary_encode() if pa.types.is_dictionary(kind) else column
        for kind, column in zip(types.values(), together.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, together.schema.names)


def _read(path: str, columns: Sequence[str], stretches: Sequence[range]) -> pa.Table:
    source = "read_parquet(?, file_row_number = true, hive_partitioning = false, binary_as_string = false)"
    within = f"{_NUMBER} >= {stretches[0].start} AND {_NUMBER} < {stretches[-1].stop}"
    of_any = " OR ".join(f"({_NUMBER} >= {one.start} AND {_NUMBER} < {one.stop})" for one in stretches)
    query = f"SELECT {', '.join(map(_quoted, columns))} FROM {source} WHERE {within} AND ({of_any})"
    return _connection(os.getpid()).sql(query, params=[path]).to_arrow_table()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@cache
def _connection(_pid: int) -> duckdb.DuckDBPyConnection:
    """One for each process, which may have been forked: with one thread, as a task has one core."""
    connection = duckdb.connect(config={"threads": "1", "autoinstall_known_extensions": "false"})
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET enable_external_file_cache = false")  # files may be written anew
    connection.execute("SET disable_parquet_prefetching = true")  # it reads pages, too, that are passed over
    return connection
