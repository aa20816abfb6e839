"""A registry of schemas, such as Confluent's, Karapace or Apicurio: asked for schemas over HTTP."""

from __future__ import annotations

import base64
import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from streamshed.errors import (
    InvalidNetworkError,
    Problem,
    ServerUnavailableError,
    SourceUnavailableError,
    closest_name,
    near_miss,
)
from streamshed.network.words.avro_references import whole_schema

BASIC, BEARER = "basic.auth.user.info", "bearer.auth.token"
"""Options that say who asks: `user:password`, or a token."""

_PATIENCE_SECONDS = 10
_LONGEST_ANSWER = 2**24
_ACCEPTED = "application/vnd.schemaregistry.v1+json, application/json"
_NO_SCHEMA, _NO_SUBJECT, _NO_VERSION = 40403, 40401, 40402
_AVRO = "AVRO"
_MOST_REFERENCES = 1000


@dataclass(frozen=True, slots=True)
class SchemaRegistry:
    """A registry of schemas.

    Attributes:
        url: Where it is, such as "http://registry:8081".
        options: Who asks, by `BASIC` or `BEARER`; sorted by name.
    """

    url: str
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def latest(self, subject: str) -> str:
        """Return the latest schema of a subject, with the schemas that it refers to in it.

        Raises:
            SourceUnavailableError: There is no such subject, it is not of Avro, or the registry refuses.
            ServerUnavailableError: The registry does not answer.
        """
        answer = self._answer(f"subjects/{quote(subject, safe='')}/versions/latest", _NO_SUBJECT, _NO_VERSION)
        if answer is None:
            subjects = self._answer("subjects", _NO_SUBJECT)
            there = [name for name in subjects if isinstance(name, str)] if isinstance(subjects, list) else []
            hint = near_miss(subject, there) or ": has anything been written to the topic?"
            raise SourceUnavailableError(f'{self._label}: there is no subject "{subject}"{hint}')
        try:
            return self._whole(answer)
        except InvalidNetworkError as error:
            raise SourceUnavailableError(f'{self._label}: subject "{subject}": {error}') from error

    def schema(self, number: int) -> str | None:
        """Return the schema of an id, likewise; None: there is none.

        Raises:
            InvalidNetworkError: It is not of Avro.
            SourceUnavailableError: The registry refuses.
            ServerUnavailableError: The registry does not answer.
        """
        answer = self._answer(f"schemas/ids/{number}", _NO_SCHEMA)
        return None if answer is None else self._whole(answer)

    @property
    def _label(self) -> str:
        return f"schema registry {self.url}"

    def _whole(self, answer: Any) -> str:
        """The text of a schema, with those that it refers to in it."""
        there: dict[tuple[str, int], str] = {}
        waiting = [*self._references(answer)]
        while waiting:
            subject, version = place = waiting.pop()
            if place in there:
                continue
            if len(there) >= _MOST_REFERENCES:
                raise InvalidNetworkError(f"the schema refers to more than {_MOST_REFERENCES} others")
            said = self._answer(f"subjects/{quote(subject, safe='')}/versions/{version}", _NO_SUBJECT, _NO_VERSION)
            if said is None:
                raise InvalidNetworkError(f'it refers to version {version} of "{subject}", which is not there')
            there[place] = self._text(said)
            waiting += self._references(said)
        text = self._text(answer)
        return whole_schema(text, [*there.values()]) if there else text

    def _text(self, said: Any) -> str:
        if not isinstance(said, Mapping) or not isinstance(said.get("schema"), str):
            raise self._odd("its answer has no schema")
        if (kind := said.get("schemaType") or _AVRO) != _AVRO:
            raise InvalidNetworkError(Problem("the schema is not of Avro", got=str(kind)))
        return str(said["schema"])

    def _references(self, said: Any) -> Iterator[tuple[str, int]]:
        for reference in (said.get("references") if isinstance(said, Mapping) else None) or ():
            match reference:
                case {"subject": str(subject), "version": int(version)}:
                    yield subject, version
                case _:
                    raise self._odd("a reference of a schema has no subject and version")

    def _answer(self, path: str, *absent: int) -> Any:
        """Ask for something; None: the registry says that it is not there, by one of some codes."""
        request = urllib.request.Request(f"{self.url.rstrip('/')}/{path}", headers={"Accept": _ACCEPTED})  # noqa: S310
        if (who := self._authorization()) is not None:
            # Not repeated to where an answer may lead on.
            request.add_unredirected_header("Authorization", who)
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE_SECONDS) as response:  # noqa: S310
                return self._json(response.read(_LONGEST_ANSWER))
        except urllib.error.HTTPError as error:
            with error:
                if error.code == http.client.NOT_FOUND and self._code(error.read(_LONGEST_ANSWER)) in absent:
                    return None
                raise self._refusal(error.code) from error
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error) or type(error).__name__
            raise ServerUnavailableError(
                f"{self._label} does not answer ({reason}): is it there, and is that its address?"
            ) from error

    def _authorization(self) -> str | None:
        options = dict(self.options)
        if BEARER in options:
            return f"Bearer {options[BEARER]}"
        return f"Basic {base64.b64encode(options[BASIC].encode()).decode()}" if BASIC in options else None

    def _json(self, body: bytes) -> Any:
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise self._odd("its answer is no JSON") from error

    def _code(self, body: bytes) -> object:
        try:
            said = json.loads(body)
        except (ValueError, RecursionError):
            return None
        return said.get("error_code") if isinstance(said, dict) else None

    def _refusal(self, status: int) -> SourceUnavailableError:
        if status >= http.client.INTERNAL_SERVER_ERROR or status == http.client.TOO_MANY_REQUESTS:
            return ServerUnavailableError(f"{self._label} does not answer: it has the status {status}")
        if status in {http.client.UNAUTHORIZED, http.client.FORBIDDEN}:
            said = "are refused" if self.options else "are missing"
            return SourceUnavailableError(
                f"{self._label}: credentials {said} (status {status}): options {BASIC} or {BEARER}"
            )
        return self._odd(f"it has the status {status}")

    def _odd(self, what: str) -> SourceUnavailableError:
        return SourceUnavailableError(f"{self._label}: {what}: is that the address of a registry?")


def registry_problems(url: object, options: tuple[tuple[str, str], ...]) -> Iterator[Problem]:
    """Tell what is wrong with where a registry is and how it is asked; secrets are not repeated.

    Example:
        >>> [str(problem) for problem in registry_problems("registry:8081", (("basic.auth", "x"),))]
        ['a registry is an address such as "http://registry:8081"', 'unknown option "basic.auth" of a registry, ...]
    """
    try:
        parts = urlsplit(url if isinstance(url, str) else "")
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        parts, is_address = urlsplit(""), False
    if not is_address or str(url) != str(url).strip() or not str(url).isascii() or any(map(str.isspace, str(url))):
        yield Problem('a registry is an address such as "http://registry:8081"', "registry")
    elif parts.username is not None or parts.password is not None:
        yield Problem(f"its address holds who asks: say that by the option {BASIC}", "registry")
    names = [name for name, _ in options]
    for name in names:
        if name not in {BASIC, BEARER}:
            says = f'unknown option "{name}" of a registry, known are: {BASIC}, {BEARER}'
            yield Problem(says, "options", near_miss=closest_name(name, (BASIC, BEARER)), name=name)
    if {BASIC, BEARER} <= {*names}:
        yield Problem(f"either {BASIC} or {BEARER} says who asks", "options")
    if any(not value.isprintable() for _, value in options):
        yield Problem("an option of a registry is a text of one line", "options")
