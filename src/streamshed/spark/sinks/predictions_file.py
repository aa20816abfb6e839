"""The Parquet files that predictions go to: never among answers, and never in the place of anything else."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import fs, parquet

from streamshed.errors import SinkUnavailableError
from streamshed.spark.checkpoint.storage import Storage

_MARK = b"streamshed.predictions"


def check_file(location: str, answers: str) -> None:
    """Find out before anything is predicted whether predictions may go there.

    Args:
        location: Path or URI of the file.
        answers: Path or URI of the answers.

    Raises:
        SinkUnavailableError: It lies among the answers, where it would be read with them; or something else lies there;
            or it cannot be written.
    """
    try:
        target = Storage.reached(location)
        if target.is_within(Storage.reached(answers)):
            raise SinkUnavailableError(
                f"predictions {location}: lies among the answers, {answers}, and would be read as some of them;"
                " choose another folder"
            )
        info = target.file_system.get_file_info(target.root)
        if info.type is fs.FileType.Directory:
            raise SinkUnavailableError(f"predictions {location}: is a folder; name a file, such as predictions.parquet")
        if info.type is fs.FileType.File and not _holds_predictions(target):
            raise SinkUnavailableError(
                f"predictions {location}: is there already and holds something else; name another file, or remove it"
            )
    except (OSError, pa.ArrowException) as error:
        raise SinkUnavailableError(f"predictions {location}: cannot be written: {error}") from error
    Storage.at(_folder_and_name(location)[0])


def check_folder(location: str, answers: str) -> None:
    """Find out before anything runs whether a run may write predictions into a folder.

    Args:
        location: Path or URI of the folder.
        answers: Path or URI of the folder of the answers, which predictions are made of.

    Raises:
        SinkUnavailableError: One lies in the other, where predictions would be read with answers; or PyArrow does not
            find the way to one of them.
    """
    try:
        target, source = Storage.reached(location), Storage.reached(answers)
    except (OSError, pa.ArrowException) as error:
        raise SinkUnavailableError(
            f"predictions {location}: cannot be made from the answers {answers}, which PyArrow has to read: {error}"
        ) from error
    if target.is_within(source) or source.is_within(target):
        raise SinkUnavailableError(
            f"predictions {location}: are not to lie with the answers, {answers}, or would be read as some of them;"
            " choose another folder"
        )
    Storage.at(location)


def write_file(location: str, predictions: pa.Table, *, method: str) -> None:
    """Write predictions as a whole, in the place of earlier ones.

    Args:
        location: Path or URI of the file.
        predictions: Rows of the answer schema, of kind "prediction".
        method: How they were made.

    Raises:
        SinkUnavailableError: It cannot be written.
    """
    folder, name = _folder_and_name(location)
    try:
        Storage.reached(folder).write_bytes(name, file_content(predictions, method=method))
    except (OSError, pa.ArrowException) as error:
        raise SinkUnavailableError(f"predictions {location}: cannot be written: {error}") from error


def file_content(predictions: pa.Table, *, method: str) -> bytes:
    """Return predictions as a file of Parquet that says of itself that it holds predictions."""
    sink = pa.BufferOutputStream()
    parquet.write_table(predictions.replace_schema_metadata({_MARK: method.encode()}), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _folder_and_name(location: str) -> tuple[str, str]:
    folder, slash, name = location.rpartition("/")
    return folder or slash or ".", name


def _holds_predictions(file: Storage) -> bool:
    try:
        with file.file_system.open_input_file(file.root) as stream:
            return _MARK in (parquet.read_schema(stream).metadata or {})
    except pa.ArrowException:
        return False
