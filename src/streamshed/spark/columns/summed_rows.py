"""A stream's rows by columns: a step behind its source that lets only sums go on, and what it is not sure of.

Rests on Spark's internals: tests/spark/contracts/test_arrow_schemas.py.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from streamshed.columnar.column_work import ColumnWork, column_work, line_types
from streamshed.columnar.expressions.compiled import compiled
from streamshed.columnar.expressions.dialect import ASSUMED_SETTINGS, Dialect
from streamshed.columnar.file_way import check_files
from streamshed.columnar.text_rows import PACKED
from streamshed.columnar.untranslatable import Untranslatable
from streamshed.network.model.stream import Stream
from streamshed.network.source.identity import IdentityKind
from streamshed.network.source.sources import FolderSource
from streamshed.network.words.footer import spark_type
from streamshed.sharing.instructions import Match
from streamshed.sharing.stream_work import StreamWork
from streamshed.spark.admit.retained_rows import whole_words
from streamshed.spark.admit.sampled_rows import Admission, admitting_names, is_parsed
from streamshed.spark.columns.span_rows import SPAN_BYTES, SPAN_ROWS, SpanRows
from streamshed.spark.columns.taking import SUMS_STRUCT, LookupFiles, Taking
from streamshed.spark.common.far_ahead import most_ahead
from streamshed.spark.common.in_arrow import in_arrow
from streamshed.spark.common.internal_names import (
    BLOCK_CUT,
    BYTES,
    COHORT,
    FILE_PATH,
    FILE_ROW,
    FOLDERS,
    NOW,
    PARTITION_VALUES,
    PASSES,
    RAW_TEXT,
    READ_ROWS,
    SAMPLING_CODES,
    SUMS,
    TAKEN_ROWS,
    TAKEN_TIME,
)
from streamshed.spark.plan.plan_columns import with_plan
from streamshed.spark.relations.relation_columns import relation_columns
from streamshed.spark.relations.relation_frame import stored_relation
from streamshed.spark.source.file_identity import file_path
from streamshed.spark.source.partition_values import partition_values, with_folders

SUMS_TYPE = T.StructType(from_arrow_schema(pa.schema(list(SUMS_STRUCT))).fields)
"""The type of `SUMS`."""


class SparkRows(IntEnum):
    """How much Spark does for each row of a source, least first."""

    NOTHING = 0
    """Tasks find the rows in text files, and sum them up."""

    NUMBERED = 1
    """Spark numbers the rows of Parquet files, and tasks read them."""

    ALL = 2
    """Spark reads the rows."""


@dataclass(frozen=True)
class ColumnWay:
    """How the rows of a stream are taken by columns.

    Attributes:
        stream: The stream.
        work: What is done with its rows.
        lookups: Where lookups find their relations.
        word_count: How many words tell what a row passes, see `Gates.passes`.
        reads_files: Whether tasks read the rows themselves, see `span_rows`; if not, Spark sends them.
        admission: How rows are admitted.
        files: The text files whose lines the rows are, where tasks read those.
        tasks: How many tasks do; 0: as many as can run now.
    """

    stream: Stream
    work: ColumnWork
    lookups: dict[str, LookupFiles]
    word_count: int
    reads_files: bool
    admission: Admission
    files: DataFrame | None = None
    tasks: int = 0

    @property
    def skips_blocks(self) -> bool:
        """Whether blocks may be left unread, where state tells cohorts apart: no query asks for groups of rows.

        Of those each would take sixteen times the state.
        """
        is_plain = not (self.admission.whole_words or any(one.keys for one in self.work.classes))
        return self.reads_files and self.admission.samples and is_plain

    @property
    def _tells_cohorts(self) -> bool:
        return self.skips_blocks and self.admission.cohorts and self.admission.plan is not None

    @property
    def spark_rows(self) -> SparkRows:
        """What is left to Spark."""
        if not self.reads_files:
            return SparkRows.ALL
        return SparkRows.NUMBERED if self.files is None else SparkRows.NOTHING

    def rows(self, source: DataFrame, admitted: DataFrame) -> DataFrame:
        """Return the rows that are left, and those that stand for many: these have `SUMS`, `TAKEN_TIME`, `TAKEN_ROWS`.

        Of text files that tasks read, there is also a row of each task that has `READ_ROWS`.

        Args:
            source: The rows.
            admitted: The rows as they are admitted, not parsed yet. Where tasks read and admit rows themselves, it only
                says which columns these have.

        Returns:
            The columns of the source that anything further up reads, the others null; `PASSES`; and those three.
        """
        rows = self._with_place(admitted)
        needed = self._needed()
        sent = [name for name in rows.columns if name.lower() in needed]
        given = rows.select(*[self._sent(name) for name in sent])
        handed_on = [field for field in given.schema.fields if field.name not in {NOW, SAMPLING_CODES}]
        schema = T.StructType(
            [
                *[T.StructField(field.name, field.dataType) for field in handed_on],
                T.StructField(SUMS, SUMS_TYPE),
                T.StructField(TAKEN_TIME, T.LongType()),
                T.StructField(TAKEN_ROWS, T.LongType()),
                *([] if self.files is None else [T.StructField(READ_ROWS, T.LongType())]),
                *([T.StructField(COHORT, T.StringType())] if self._tells_cohorts else []),
            ]
        )
        taking = Taking(
            work=pickle.dumps(self.work),
            lookups=self.lookups,
            schema=to_arrow_schema(schema, timezone="UTC"),
            furthest_ahead=most_ahead(self.stream),
        )
        if self.reads_files:
            spans = self._spans(source) if self.files is None else self._text_spans(self.files)
            taken = in_arrow(spans, self._span_rows(taking, given.schema).rows, schema)
        else:
            taken = in_arrow(given, taking.rows, schema)
        missing = [field for field in admitted.schema.fields if field.name not in schema.names]
        of_source = {column.name.lower() for column in self.stream.schema}
        nothing = {field.name: F.lit(None).cast(field.dataType) for field in missing if field.name.lower() in of_source}
        words = F.array(*[F.col(PASSES)[f"word_{index}"] for index in range(self.word_count)])
        back = {PASSES: F.when(F.col(PASSES).isNotNull(), words)}
        back |= {FOLDERS: F.split(FOLDERS, "/")} if FOLDERS in sent else {}
        return taken.withColumns(nothing | back)

    def _spans(self, source: DataFrame) -> DataFrame:
        """The first row of each span of rows, with what `SpanRows` asks for."""
        begins = source.where(F.col(FILE_ROW).bitwiseAND(F.lit(SPAN_ROWS - 1)) == 0)
        begins = begins.withColumn(FILE_PATH, file_path(begins))
        constants = {
            name: F.struct(partition.is_told.alias("is_told"), partition.value.alias("value"))
            for name, partition in partition_values(self._folder).items()
        }
        return self._with_plan(begins, constants)

    def _text_spans(self, files: DataFrame) -> DataFrame:
        """The first byte of each span of text files, likewise; a packed file is one span."""
        is_packed = F.lower(FILE_PATH).rlike(f"({'|'.join(map(re.escape, PACKED))})$")
        first = F.lit(0).cast("bigint")
        firsts = F.when(is_packed, F.array(first)).otherwise(F.sequence(first, F.col(BYTES) - 1, F.lit(SPAN_BYTES)))
        begins = files.where(F.col(BYTES) > 0).select(FILE_PATH, F.explode(firsts).alias(FILE_ROW))
        tasks = self.tasks or files.sparkSession.sparkContext.defaultParallelism
        folders = F.struct(F.lit(True).alias("is_told"), self._sent(FOLDERS).alias("value"))
        return self._with_plan(begins.repartition(tasks), {FOLDERS: folders})

    def _with_plan(self, begins: DataFrame, constants: Mapping[str, Column]) -> DataFrame:
        """First rows of spans, with what all rows are told, and what the folders of their file say."""
        plan, names = self.admission.plan or self.admission.clock, admitting_names(self.admission)
        names += [BLOCK_CUT] if self._tells_cohorts else []
        begins = with_folders(begins, self._folder)
        begins = begins if plan is None else with_plan(begins, plan, names)
        of_folders = F.struct(*[constant.alias(name) for name, constant in constants.items()])
        return begins.select(FILE_PATH, FILE_ROW, of_folders.alias(PARTITION_VALUES), *names)

    @property
    def _folder(self) -> FolderSource:
        source = self.stream.source
        if not isinstance(source, FolderSource):
            raise TypeError(f"{source} has no files")
        return source

    def _span_rows(self, taking: Taking, given: T.StructType) -> SpanRows:
        schema = to_arrow_schema(given, timezone="UTC")
        schema = schema.append(pa.field(COHORT, pa.string())) if self._tells_cohorts else schema
        salt, whole_words = self.stream.name, self.admission.whole_words
        if self.files is not None:
            types = {RAW_TEXT: pa.string()}
            return SpanRows(
                taking=taking,
                is_text=True,
                span=SPAN_BYTES,
                schema=schema,
                types=types,
                salt=salt,
                whole_words=whole_words,
            )
        delivered = {column.name.lower() for column in self.stream.schema}
        types = {field.name: field.type for field in schema if field.name.lower() in delivered}
        instant_columns = self.stream.attribute.expression.columns if whole_words else ()
        cohort_columns = frozenset[str]().union(*(keys.columns for keys in taking.kernel.cohort_keys))
        return SpanRows(
            taking=taking,
            schema=schema,
            types=types,
            instant_columns=_as_named(instant_columns, types),
            cohort_columns=_as_named(sorted(cohort_columns), types),
            identity=_as_named(self.stream.identity.columns if self.admission.samples else (), types),
            salt=salt,
            whole_words=whole_words,
        )

    def _sent(self, name: str) -> Column:
        """A column as it is sent: to send an array takes Spark 10 µs a row, be it null."""
        if name == FOLDERS:
            return F.array_join(FOLDERS, "/").alias(FOLDERS)
        if name != PASSES:
            return F.col(f"`{name}`")
        words = [F.get(PASSES, F.lit(index)).alias(f"word_{index}") for index in range(self.word_count)]
        return F.when(F.col(PASSES).isNotNull(), F.struct(*words)).alias(PASSES)

    def _with_place(self, rows: DataFrame) -> DataFrame:
        """Add what Spark tells of a row's file: behind a function in Python it no longer knows."""
        source = self.stream.source
        if self.stream.identity.kind is IdentityKind.FILE_ROW:
            rows = rows.withColumn(FILE_PATH, file_path(rows))
        is_text_folder = self.stream.parse is None and self.work.text is not None
        return with_folders(rows, source) if isinstance(source, FolderSource) and is_text_folder else rows

    def _needed(self) -> frozenset[str]:
        """The columns that are sent, in lower case: what is read outside the text, the text, and what identifies it."""
        names = {NOW, SAMPLING_CODES, PASSES, FOLDERS}
        names |= {FILE_PATH, FILE_ROW} if self.stream.identity.kind is IdentityKind.FILE_ROW else set()
        names |= {column.lower() for column in self.stream.identity.columns}
        read, text = self.work.needed_columns(), self.work.text
        if text is None:
            return read | names
        return read - {column.name.lower() for column in text.schema} | {text.column.lower()} | names


def _as_named(columns: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    """Columns as they are called here, where upper and lower case are the same."""
    here = {name.lower(): name for name in names}
    return tuple(here[name.lower()] for name in columns)


def column_way(
    source: DataFrame,
    work: StreamWork,
    types: Mapping[str, T.DataType],
    admission: Admission,
    files: DataFrame | None = None,
    tasks: int = 0,
) -> ColumnWay:
    """Lay out how the rows of a stream are taken by columns.

    Args:
        source: The rows.
        work: What is done with them.
        types: What Spark makes of keys and values, by SQL text.
        admission: How rows are admitted.
        files: The files that the rows are lines of, if tasks may read them.
        tasks: How many tasks do; 0: as many as can run now.

    Raises:
        Untranslatable: They go through Spark one by one: why.
    """
    spark, stream = source.sparkSession, work.stream
    if stream.text is not None and stream.parse is None and is_parsed(source, stream):
        raise Untranslatable("its texts are parsed already")
    dialect = _dialect(spark)
    matches = [one for one in work.program.instructions if isinstance(one, Match)]
    stored = {match.relation.name: match.relation for match in matches if not match.relation.is_read_by_spark}
    relations = {
        name: {column.name: column.type for column in relation_columns(spark, relation)}
        for name, relation in stored.items()
    }
    samples, drops = admission.plan is not None and admission.samples, bool(admission.whole_words)
    columns = column_work(work, relations, dialect, samples=samples, drops=drops)
    columns.texts()
    _check_types(columns, types)
    lookups = {match.matched: _lookup_files(spark, match) for match in matches}
    files = files if _reads_as_said(spark) else None
    reads_files = files is not None or _reads_files(source, work, samples=samples, drops=drops)
    return ColumnWay(stream, columns, lookups, len(whole_words(work)), reads_files, admission, files, tasks)


def _reads_as_said(spark: SparkSession) -> bool:
    """Whether files are read as Spark reads them with its usual settings."""
    try:
        _check_settings(spark, _AS_FILES_SAY)
    except Untranslatable:
        return False
    return True


_AS_FILES_SAY: Mapping[str, str] = {
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.parquet.binaryAsString": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.enableVectorizedReader": "true",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96TimestampConversion": "false",
}
"""Settings of Spark at which `FileRows` reads what Spark reads: its defaults."""


def _reads_files(source: DataFrame, work: StreamWork, *, samples: bool, drops: bool) -> bool:
    """Return whether tasks read the rows themselves; if not, Spark has to send texts.

    Raises:
        Untranslatable: They cannot, and there are no texts: typed columns are dear to send.
    """
    try:
        check_files(work, samples=samples, drops=drops)
        if FILE_ROW not in source.columns or FILE_PATH in source.columns:
            raise Untranslatable("they come in a DataFrame")
        _check_settings(source.sparkSession, _AS_FILES_SAY)
    except Untranslatable:
        if work.stream.text is None:
            raise
        return False
    return True


_ASSUMED = {**ASSUMED_SETTINGS, "spark.sql.execution.arrow.useLargeVarTypes": "false"}


def _dialect(spark: SparkSession) -> Dialect:
    if str(spark.conf.get("spark.sql.legacy.timeParserPolicy")).upper() == "LEGACY":
        raise Untranslatable("the session parses times as Spark 2 did")
    _check_settings(spark, _ASSUMED)
    return Dialect(
        ansi=str(spark.conf.get("spark.sql.ansi.enabled")).lower() == "true",
        time_zone=str(spark.conf.get("spark.sql.session.timeZone")),
    )


def _check_settings(spark: SparkSession, settings: Mapping[str, str]) -> None:
    for name, assumed in settings.items():
        setting = str(spark.conf.get(name))
        if setting.lower() != assumed.lower():
            raise Untranslatable(f"the session has {name}={setting}")


def _check_types(columns: ColumnWork, types: Mapping[str, T.DataType]) -> None:
    """Make sure that keys and values are to us of the types that they are to Spark."""
    line = line_types(columns)
    for sql in {sql for one in columns.classes for sql in (*one.keys, one.value) if sql is not None}:
        kind = compiled(sql, line, columns.dialect).type
        if types[sql].simpleString() != spark_type(kind):
            raise Untranslatable(f'"{sql}" is {types[sql].simpleString()} to Spark, {kind} by columns')


def _lookup_files(spark: SparkSession, match: Match) -> LookupFiles:
    reader, schema = stored_relation(spark, match)
    return LookupFiles(reader, schema, match.on[0][1], tuple(name for name, _ in match.outputs))
