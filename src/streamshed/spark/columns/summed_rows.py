"""A stream's rows by columns: a step behind its source that lets only sums go on, and what it is not sure of.

Rests on Spark's internals: tests/spark/contracts/test_arrow_schemas.py.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from streamshed.columnar.column_work import ColumnWork, column_work, line_types
from streamshed.columnar.expressions.compiled import compiled
from streamshed.columnar.expressions.dialect import ASSUMED_SETTINGS, Dialect
from streamshed.columnar.file_way import check_files, csv_files, is_of_lines
from streamshed.columnar.topics.topic_way import check_topics
from streamshed.columnar.untranslatable import Untranslatable
from streamshed.network.model.stream import Stream
from streamshed.network.source.identity import IdentityKind
from streamshed.network.source.kafka_source import KafkaSource
from streamshed.network.source.sources import FileFormat, FolderSource
from streamshed.network.words.footer import spark_type
from streamshed.sharing.instructions import Match
from streamshed.sharing.stream_work import StreamWork
from streamshed.spark.admit.admission import Admission
from streamshed.spark.admit.parsed_rows import is_parsed
from streamshed.spark.admit.retained_rows import whole_words
from streamshed.spark.admit.sampled_rows import admitting_names
from streamshed.spark.cluster.warm_workers import obstacle_to_topics
from streamshed.spark.columns import file_spans
from streamshed.spark.columns.span_rows import SpanRows
from streamshed.spark.columns.taking import SUMS_STRUCT, LookupFiles, Taking
from streamshed.spark.columns.topic_tasks import TopicTasks, task_rows, with_offsets_kept
from streamshed.spark.common.far_ahead import most_ahead
from streamshed.spark.common.in_arrow import in_arrow
from streamshed.spark.common.internal_names import (
    BLOCK,
    COHORT,
    FILE_PATH,
    FILE_ROW,
    FOLDERS,
    IS_CARRIER,
    NOW,
    PARTITION_VALUES,
    PASSES,
    RAW_TEXT,
    READ_ROWS,
    SAMPLING_CODES,
    SPAN_START,
    SPAN_STOP,
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


@dataclass(frozen=True)
class ColumnWay:
    """How the rows of a stream are taken by columns.

    Attributes:
        stream: The stream.
        work: What is done with its rows.
        lookups: Where lookups find their relations.
        word_count: How many words tell what a row passes, see `Gates.passes`.
        admission: How rows are admitted.
        files: The files that the rows are in, where tasks read those, see `span_rows`; of topics the carrier. None:
            Spark sends the rows.
        tasks: How many tasks do.
        by_spark: The rows as Spark would read them.
    """

    stream: Stream
    work: ColumnWork
    lookups: dict[str, LookupFiles]
    word_count: int
    admission: Admission
    files: DataFrame | None = None
    tasks: int = 1
    by_spark: DataFrame | None = None

    @property
    def skips_blocks(self) -> bool:
        """Whether blocks may be left unread, where state holds their sums.

        Where windows may be dropped, footers have to tell which of them rows are in that nobody reads.
        """
        if not self.reads_files or not self.admission.samples:
            return False
        return not self.admission.whole_words or not (self.reads_topics or self._is_of_lines)

    @property
    def _tells_cohorts(self) -> bool:
        return self.skips_blocks and self.admission.block_sums and self.admission.plan is not None

    @property
    def reads_files(self) -> bool:
        """Whether tasks read the rows themselves."""
        return self.files is not None

    @property
    def _is_csv(self) -> bool:
        """Whether the rows are lines of CSV files, which Spark would parse as it reads."""
        return self.work.text is not None and self.stream.text is None

    def source(self, rows: DataFrame) -> DataFrame:
        """Return the rows that `rows` takes, of those that the source delivers: of CSV that tasks read, texts."""
        return rows if self.files is None or not self._is_csv else self.files.withColumn(RAW_TEXT, F.lit("x"))

    @property
    def reads_topics(self) -> bool:
        """Whether tasks read records of topics, and bring the carrier of the stream with them."""
        return self.reads_files and isinstance(self.stream.source, KafkaSource)

    def rows(self, admitted: DataFrame) -> DataFrame:
        """Return the rows that are left, and those that stand for many: these have `SUMS`, `TAKEN_TIME`, `TAKEN_ROWS`.

        Of files that tasks read, there is also a row of each task that has `READ_ROWS`.

        Args:
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
                *([T.StructField(COHORT, T.LongType())] if self._tells_cohorts else []),
                *([T.StructField(IS_CARRIER, T.BooleanType())] if self.reads_topics else []),
            ]
        )
        taking = Taking(
            work=pickle.dumps(self.work),
            lookups=self.lookups,
            schema=to_arrow_schema(schema, timezone="UTC"),
            furthest_ahead=most_ahead(self.stream),
        )
        if self.files is None:
            taken = in_arrow(given, taking.rows, schema)
        else:
            taken = in_arrow(self._spans(self.files), self._span_rows(taking, given.schema).rows, schema)
        if self.reads_topics and self.by_spark is not None:
            taken = with_offsets_kept(taken, self.by_spark)
        missing = [field for field in admitted.schema.fields if field.name not in schema.names]
        of_source = {column.name.lower() for column in self.stream.schema}
        nothing = {field.name: F.lit(None).cast(field.dataType) for field in missing if field.name.lower() in of_source}
        words = F.array(*[F.col(PASSES)[f"word_{index}"] for index in range(self.word_count)])
        back = {PASSES: F.when(F.col(PASSES).isNotNull(), words)}
        back |= {FOLDERS: F.split(FOLDERS, "/")} if FOLDERS in sent else {}
        return taken.withColumns(nothing | back)

    def _spans(self, files: DataFrame) -> DataFrame:
        """The spans of files, with what `SpanRows` asks for; tasks take them in turns."""
        plan, names = self.admission.plan or self.admission.clock, admitting_names(self.admission)
        if self.reads_topics:
            return task_rows(files, plan, names, self.tasks)
        span_bytes = file_spans.LINES_BYTES if self._is_of_lines else file_spans.ROW_GROUPS_BYTES
        spans = with_folders(file_spans.file_spans(files, self.tasks, span_bytes), self._folder)
        spans = spans if plan is None else with_plan(spans, plan, names)
        return spans.select(FILE_PATH, SPAN_START, SPAN_STOP, self._of_folders.alias(PARTITION_VALUES), *names)

    @property
    def _of_folders(self) -> Column:
        """What the folders of a file say: of Parquet each column, of lines what is needed to ask for it later."""
        if self._is_of_lines:
            constants = {FOLDERS: F.struct(F.lit(True).alias("is_told"), self._sent(FOLDERS).alias("value"))}
        else:
            constants = {
                name: F.struct(partition.is_told.alias("is_told"), partition.value.alias("value"))
                for name, partition in partition_values(self._folder).items()
            }
        return F.struct(*[constant.alias(name) for name, constant in constants.items()])

    @property
    def _is_of_lines(self) -> bool:
        return self._folder.format is not FileFormat.PARQUET

    @property
    def _folder(self) -> FolderSource:
        source = self.stream.source
        if not isinstance(source, FolderSource):
            raise TypeError(f"{source} has no files")
        return source

    def _span_rows(self, taking: Taking, given: T.StructType) -> SpanRows:
        schema = to_arrow_schema(given, timezone="UTC")
        if self._tells_cohorts:
            schema = schema.append(pa.field(COHORT, pa.int64())).append(pa.field(BLOCK, pa.int64()))
        salt, whole_words, reports = self.stream.name, self.admission.whole_words, self.admission.task_reports
        client = self.admission.client if self._tells_cohorts else None
        if not self.reads_topics and self._is_of_lines:
            types = {RAW_TEXT: pa.string()}
            return SpanRows(
                taking=taking,
                is_text=True,
                csv=csv_files(self.stream) if self._is_csv else None,
                schema=schema,
                types=types,
                salt=salt,
                whole_words=whole_words,
                client=client,
                reports=reports,
            )
        delivered = {column.name.lower() for column in self.stream.schema}
        types = {field.name: field.type for field in schema if field.name.lower() in delivered}
        instant_columns = self.stream.attribute.expression.columns if whole_words else ()
        cohort_columns = frozenset[str]().union(*(keys.columns for keys in taking.kernel.cohort_keys))
        of_rows = SpanRows(
            taking=taking,
            schema=schema,
            types=types,
            instant_columns=_as_named(instant_columns, types),
            cohort_columns=_as_named(sorted(cohort_columns), types),
            identity=_as_named(self.stream.identity.columns if self.admission.samples else (), types),
            salt=salt,
            whole_words=whole_words,
            client=client,
            reports=reports,
        )
        return TopicTasks.of(of_rows, self.stream, self.tasks) if self.reads_topics else of_rows

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
        files: The files that the rows are in, if tasks may read them.
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
    _check_types(columns, types)
    lookups = {match.matched: _lookup_files(spark, match) for match in matches}
    files = files if _are_read(spark, files, work, samples=samples, drops=drops) else None
    words, tasks = len(whole_words(work)), tasks or spark.sparkContext.defaultParallelism
    return ColumnWay(stream, columns, lookups, words, admission, files, tasks, source)


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


def _are_read(spark: SparkSession, files: DataFrame | None, work: StreamWork, *, samples: bool, drops: bool) -> bool:
    """Return whether tasks read files themselves; if not, Spark has to send texts.

    Raises:
        Untranslatable: They cannot, and there are no texts: typed columns are dear to send.
    """
    try:
        if isinstance(work.stream.source, KafkaSource):
            check_topics(work, samples=samples, drops=drops)
            return files is not None and not obstacle_to_topics(spark, work.stream.name)
        if not is_of_lines(work.stream):
            check_files(work, samples=samples, drops=drops)
        if files is None:
            raise Untranslatable("they come in a DataFrame, or a join reads their files, too")
        _check_settings(spark, _AS_FILES_SAY)
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
