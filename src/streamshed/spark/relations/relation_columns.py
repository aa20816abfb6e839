"""The columns of a stored relation in files, where its schema does not say them.

Rests on Spark's internals: tests/spark/batch/test_relations.py.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyarrow import parquet
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from streamshed.errors import SourceUnavailableError
from streamshed.network.model.relation import Relation
from streamshed.network.source.sources import FileFormat
from streamshed.network.words.columns import Column
from streamshed.network.words.footer import spark_type
from streamshed.spark.relations.relation_files import file_system, relation_files


def relation_columns(spark: SparkSession, relation: Relation) -> Sequence[Column]:
    """Return the columns of a relation in files: as declared, as in its Parquet files, or as Spark infers them.

    Raises:
        SourceUnavailableError: There are no files, or Spark cannot tell.
    """
    if relation.columns is not None:
        return relation.columns
    location = str(relation.source)
    try:
        files = relation_files(location)
        if relation.format is FileFormat.PARQUET:
            system, _ = file_system(location)
            schema = parquet.read_schema(files[0].path, filesystem=system)
            return [Column(field.name, spark_type(field.type)) for field in schema]
        return _inferred(spark, relation, location)
    except SourceUnavailableError as error:
        raise SourceUnavailableError(f'relation "{relation.name}": {error}') from error
    except (pa.ArrowException, OSError, PySparkException, Py4JJavaError) as error:
        raise SourceUnavailableError(
            f'relation "{relation.name}": the columns of "{location}" cannot be told, say them (schema=...):'
            f" {error}".partition("\n")[0]
        ) from error


def _inferred(spark: SparkSession, relation: Relation, location: str) -> Sequence[Column]:
    """What Spark infers, with the header that is there unless said otherwise."""
    header = {"header": "true"} if relation.format is FileFormat.CSV else {}
    options = {"inferSchema": "true", **header, **{name.lower(): value for name, value in relation.options}}
    rows = spark.read.format(str(relation.format)).options(**options).load(location)
    return [Column(name, kind) for name, kind in rows.dtypes]
