"""Small durable files beside a checkpoint, on whatever file system the checkpoint is on."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b

import pyarrow as pa
from pyarrow import fs

from streamshed.errors import DamagedFileError, InvalidNetworkError, SinkUnavailableError, near_miss
from streamshed.network.words.given import is_a

_SCHEMES = ("file", "s3", "gs", "gcs", "hdfs", "viewfs", "abfs", "abfss")
"""What PyArrow's file systems are called in URIs."""
_OBJECT_STORES = ("s3", "gcs", "abfs")
"""File systems, by PyArrow's names, on which a file is written in its place.

An object of S3 and of GCS appears once it is whole. On Azure it is there before, empty; PyArrow cannot move all there.
"""
_DRAFT = ".tmp"
_PRIVATE, _GROUP, _OTHERS, _GROUP_WRITES = 0o700, 0o070, 0o007, 0o020
_OWN, _READ_AND_WRITE = 0o600, 0o666

NETWORK_FILE = "network.json"
"""The file of a checkpoint that tells what runs, or ran last, as `network.render("json")` draws it."""

STATISTICS_FILE = "statistics.json"
"""The file of a time domain that tells what is known of its network, as `NetworkStatistics.to_json` writes it."""


@dataclass(frozen=True)
class Storage:
    """A folder; names of files are relative to it."""

    file_system: fs.FileSystem
    root: str

    @classmethod
    def at(cls, location: str) -> Storage:
        """Return the storage at a path or URI, made if need be.

        Raises:
            SinkUnavailableError: It cannot be made or written to.
        """
        try:
            storage = cls.reached(location)
            storage.try_writing()
        except (OSError, pa.ArrowException) as error:
            raise SinkUnavailableError(f'cannot write to "{location}": {_reason(location, error)}') from error
        return storage

    @classmethod
    def private(cls, location: str) -> Storage:
        """Do what `at` does; a folder that is made on a local disk is for this user alone.

        It is for the group, too, where this process lets the group write what it makes: executors that are other users
        write there. A folder that is there keeps its mode.

        Raises:
            SinkUnavailableError: As `at`.
        """
        is_new = not is_uri(location) and not os.path.exists(location)
        storage = cls.at(location)
        if is_new:
            mode = os.stat(storage.root).st_mode
            with suppress(OSError):  # some network disks have no modes
                os.chmod(storage.root, _PRIVATE | (mode & _GROUP if mode & _GROUP_WRITES else 0))
        return storage

    @classmethod
    def reached(cls, location: str) -> Storage:
        """Return the storage at a path or URI that is known to be there.

        Raises:
            OSError, pyarrow.ArrowException: PyArrow does not know the URI's scheme, or the way there.
        """
        if is_uri(location):
            return cls(*fs.FileSystem.from_uri(location))
        return cls(fs.LocalFileSystem(), os.path.abspath(location))

    def try_writing(self) -> None:
        """Write a small file and delete it; nobody else who tries has the same.

        Raises:
            OSError, pyarrow.ArrowException: It cannot be written.
        """
        name = f".writable-{uuid.uuid4().hex}"
        self._write(f"{self.root}/{name}", b"")
        self.delete(name)

    @property
    def is_local(self) -> bool:
        """Whether it is on a disk of this machine, or mounted like one."""
        return isinstance(self.file_system, fs.LocalFileSystem)

    def is_within(self, other: Storage) -> bool:
        """Whether it is the other, or lies in it."""
        if self.file_system != other.file_system:
            return False
        inner, outer = (os.path.realpath(one.root) if one.is_local else one.root for one in (self, other))
        return f"{inner}/".startswith(f"{outer.rstrip('/')}/")

    def below(self, folder: str) -> Storage:
        """Return the storage of a folder in this one."""
        return Storage(self.file_system, f"{self.root}/{folder}")

    def write_text(self, name: str, text: str) -> None:
        """Write a file as a whole: after a crash it is there with all its text, or not at all.

        Raises:
            SinkUnavailableError: It cannot be written, as on a disk that is full; what was there is there still.
        """
        self.write_bytes(name, text.encode())

    def write_bytes(self, name: str, content: bytes) -> None:
        """Do what `write_text` does with bytes."""
        path = f"{self.root}/{name}"
        try:
            self._write(path, content)
        except (OSError, pa.ArrowException) as error:
            raise SinkUnavailableError(f'cannot write "{path}": {_reason(self.root, error)}') from error

    def _write(self, path: str, content: bytes) -> None:
        if self.file_system.type_name in _OBJECT_STORES:
            self._create(path, content)
            return
        folder, name = os.path.split(path)
        draft = f"{folder}/.{name}.{uuid.uuid4().hex}{_DRAFT}"
        try:
            self._create(draft, content)
            self.file_system.move(draft, path)
        except (OSError, pa.ArrowException):
            with suppress(OSError, pa.ArrowException):
                self.file_system.delete_file(draft)
            raise

    def _create(self, path: str, content: bytes) -> None:
        folder = os.path.dirname(path)
        if not self.is_local:
            self.file_system.create_dir(folder, recursive=True)
            with self.file_system.open_output_stream(path) as stream:
                stream.write(content)
            return
        _make_folder(folder)
        mode = os.stat(folder).st_mode & _READ_AND_WRITE
        with open(path, "wb", opener=lambda name, flags: os.open(name, flags | os.O_EXCL, mode | _OWN)) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def read_text(self, name: str) -> str | None:
        """Read a file; None if it is not there."""
        content = self.read_bytes(name)
        return None if content is None else content.decode()

    def read_bytes(self, name: str) -> bytes | None:
        """Read a file as it is; None if it is not there."""
        try:
            with self.file_system.open_input_stream(f"{self.root}/{name}") as stream:
                content: bytes = stream.read()
        except FileNotFoundError:
            return None
        return content

    def read_lines(self, name: str) -> list[str]:
        """Read the lines of a file, bytes that are no text as U+FFFD; none if it is not there."""
        return (self.read_bytes(name) or b"").decode(errors="replace").splitlines()

    def write_sealed(self, name: str, text: str) -> None:
        """Write a file as a whole, with a last line by which `read_sealed` sees whether it still has all of it."""
        self.write_text(name, f"{text}\n{_seal(text)}")

    def read_sealed(self, name: str) -> str | None:
        """Read what `write_sealed` wrote; None if it is not there.

        Raises:
            DamagedFileError: Some of it is missing, or another.
        """
        try:
            whole = self.read_text(name)
        except UnicodeDecodeError:
            whole = ""
        if whole is None:
            return None
        text, _, seal = whole.rpartition("\n")
        if seal != _seal(text):
            raise DamagedFileError(f'"{self.root}/{name}" is damaged: it does not hold what was written into it')
        return text

    def delete(self, name: str) -> None:
        """Delete a file."""
        self.file_system.delete_file(f"{self.root}/{name}")

    def delete_folder(self) -> None:
        """Delete it, and all that is in it."""
        self.file_system.delete_dir(self.root)

    def names(self) -> list[str]:
        """List the files and folders in it, sorted, without drafts; empty if it is not there."""
        return sorted(name for name in self._all_names() if not _is_draft(name))

    def folders(self) -> list[str]:
        """List the folders in it, sorted; empty if it is not there."""
        return sorted(info.base_name for info in self._infos() if info.type is fs.FileType.Directory)

    def sizes(self) -> dict[str, int]:
        """Return the size in bytes of each file in it, and below, by its name relative to it."""
        selector = fs.FileSelector(self.root, allow_not_found=True, recursive=True)
        infos: list[fs.FileInfo] = self.file_system.get_file_info(selector)
        files = [info for info in infos if info.type is fs.FileType.File]
        return {info.path.removeprefix(f"{self.root}/"): info.size for info in files}

    def discard_drafts(self) -> None:
        """Delete what is left of files that a crash kept from being written."""
        for name in filter(_is_draft, self._all_names()):
            self.delete(name)

    def _all_names(self) -> list[str]:
        return [info.base_name for info in self._infos()]

    def _infos(self) -> list[fs.FileInfo]:
        file_infos: list[fs.FileInfo] = self.file_system.get_file_info(fs.FileSelector(self.root, allow_not_found=True))
        return file_infos


def _make_folder(path: str) -> None:
    """Make a folder, if it is not there, for no group and no others for whom the one that it is in is not."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    _make_folder(above)
    open_to = os.stat(above).st_mode
    with suppress(FileExistsError):
        os.mkdir(path, _PRIVATE | sum(whom for whom in (_GROUP, _OTHERS) if open_to & whom))


def _seal(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()


def is_uri(location: str) -> bool:
    """Whether a location is a URI; else it is a path on this machine.

    Example:
        >>> is_uri("s3a://bucket/answers"), is_uri("file:/tmp/answers"), is_uri("out/answers")
        (True, True, False)
    """
    return "://" in location or location.startswith("file:")


def absolute_location(location: str | os.PathLike[str]) -> str:
    """Return a path as an absolute one, and a URI as it is.

    Raises:
        InvalidNetworkError: It is neither.

    Example:
        >>> absolute_location("/out/../answers"), absolute_location("s3://bucket/answers")
        ('/answers', 's3://bucket/answers')
    """
    if not is_a(location, str, os.PathLike):
        raise InvalidNetworkError(f'a folder is a path or a URI, such as "out/checkpoint", got {location!r}')
    text = os.fspath(location)
    return text if is_uri(text) else os.path.abspath(text)


def _reason(location: str, error: Exception) -> str:
    scheme = location.partition(":")[0]
    if not isinstance(error, pa.ArrowInvalid) or scheme in _SCHEMES:
        return str(error)
    question = near_miss(scheme, _SCHEMES)
    return f'Spark and PyArrow must both find the way there, and PyArrow knows no scheme "{scheme}"{question}'


def _is_draft(name: str) -> bool:
    return name.startswith(".") and name.endswith(_DRAFT)
