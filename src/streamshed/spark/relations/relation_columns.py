"""The columns of a stored relation in files or a table of Iceberg, where its schema does not say them.

Rests on Spark's internals: tests/spark/batch/test_relations.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyarrow import parquet
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from streamshed.columnar.avro_files import AvroFile
from streamshed.errors import SourceUnavailableError
from streamshed.network.model.relation import Relation
from streamshed.network.source.iceberg_source import IcebergSource
from streamshed.network.source.sources import FileFormat
from streamshed.network.words.columns import Column
from streamshed.network.words.footer import spark_type
from streamshed.spark.relations.iceberg_reader import IcebergReader
from streamshed.spark.relations.relation_files import file_system, relation_files


def relation_columns(spark: SparkSession, relation: Relation) -> Sequence[Column]:
    """Return the columns of a relation that is read here: as declared, as its files or table say, or as Spark infers.

    Raises:
        SourceUnavailableError: There are no files or there is no table, or Spark cannot tell.
    """
    if relation.columns is not None:
        return relation.columns
    if isinstance(relation.source, IcebergSource):
        return IcebergReader.here(relation.name, relation.source, ()).columns()
    location = str(relation.source)
    try:
        files = relation_files(location)
        system, _ = file_system(location)
        if (schema := _SCHEMAS.get(FileFormat(str(relation.format)))) is None:
            return _inferred(spark, relation, location)
        with system.open_input_file(files[0].path) as file:
            return [Column(field.name, spark_type(field.type)) for field in schema(file)]
    except SourceUnavailableError as error:
        raise SourceUnavailableError(f'relation "{relation.name}": {error}') from error
    except (pa.ArrowException, OSError, ValueError, PySparkException, Py4JJavaError) as error:
        raise SourceUnavailableError(
            f'relation "{relation.name}": the columns of "{location}" cannot be told, say them (schema=...):'
            f" {error}".partition("\n")[0]
        ) from error


_SCHEMAS: Mapping[FileFormat, Callable[[pa.NativeFile], Iterable[pa.Field]]] = {
    FileFormat.PARQUET: parquet.read_schema,
    FileFormat.AVRO: lambda file: AvroFile(file.read()).columns,
}
"""How the first file tells the columns, by format; Spark infers those of others."""


def _inferred(spark: SparkSession, relation: Relation, location: str) -> Sequence[Column]:
    """What Spark infers, with the header that is there unless said otherwise."""
    header = {"header": "true"} if relation.format is FileFormat.CSV else {}
    options = {"inferSchema": "true", **header, **{name.lower(): value for name, value in relation.options}}
    rows = spark.read.format(str(relation.format)).options(**options).load(location)
    return [Column(name, kind) for name, kind in rows.dtypes]
