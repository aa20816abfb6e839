"""A registry of schemas over HTTP, as the published protocol of Confluent's has it: as much of it as clients read."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote
from urllib.request import Request, urlopen

CONTENT = "application/vnd.schemaregistry.v1+json"
_NO_SUBJECT, _NO_VERSION, _NO_SCHEMA = 40401, 40402, 40403


@dataclass
class Registered:
    """What a registry holds.

    Attributes:
        schemas: By id, from 1 on.
        versions: The ids of each subject.
        basic: Who may ask, as `user:password`; None: everybody.
        requests: The paths that were asked for.
    """

    schemas: list[dict[str, Any]] = field(default_factory=list)
    versions: dict[str, list[int]] = field(default_factory=dict)
    basic: str | None = None
    requests: list[str] = field(default_factory=list)

    def register(self, subject: str, said: Mapping[str, Any]) -> int:
        """Add a version of a subject, and return the id of its schema."""
        schema = {key: said[key] for key in ("schema", "schemaType", "references") if key in said}
        if schema not in self.schemas:
            self.schemas.append(schema)
        number = self.schemas.index(schema) + 1
        self.versions.setdefault(subject, []).append(number)
        return number

    def answer(self, parts: list[str]) -> tuple[int, Any]:
        """The status and the answer to a question."""
        match parts:
            case ["subjects"]:
                return 200, [*self.versions]
            case ["schemas", "ids", number] if 0 < int(number) <= len(self.schemas):
                return 200, self.schemas[int(number) - 1]
            case ["schemas", "ids", number]:
                return 404, {"error_code": _NO_SCHEMA, "message": f"Schema {number} not found"}
            case ["subjects", subject, "versions", version] if subject in self.versions:
                numbers = self.versions[subject]
                latest = len(numbers) if version == "latest" else int(version)
                if not 0 < latest <= len(numbers):
                    return 404, {"error_code": _NO_VERSION, "message": f"Version {version} not found."}
                schema = numbers[latest - 1]
                return 200, {"subject": subject, "version": latest, "id": schema, **self.schemas[schema - 1]}
            case ["subjects", subject, "versions", _]:
                return 404, {"error_code": _NO_SUBJECT, "message": f"Subject '{subject}' not found."}
            case _:
                return 404, "no such page"


@contextmanager
def running_registry(registered: Registered, port: int = 0) -> Iterator[str]:
    """Run a registry, and tell its address; 0: any port that is free."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registered.requests.append(self.path)
            who = registered.basic
            expected = None if who is None else f"Basic {base64.b64encode(who.encode()).decode()}"
            if expected is not None and self.headers.get("Authorization") != expected:
                self._say(401, {"error_code": 401, "message": "Unauthorized"})
            else:
                self._say(*registered.answer([unquote(part) for part in self.path.strip("/").split("/")]))

        def do_POST(self) -> None:
            said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            _, subject, _ = (unquote(part) for part in self.path.strip("/").split("/"))
            self._say(200, {"id": registered.register(subject, said)})

        def _say(self, status: int, answer: Any) -> None:
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", CONTENT)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def register(url: str, subject: str, schema: Any, **more: Any) -> int:
    """Register a schema over HTTP, and return its id."""
    text = schema if isinstance(schema, str) else json.dumps(schema)
    body = json.dumps({"schema": text, **more}).encode()
    request = Request(f"{url}/subjects/{subject}/versions", data=body, headers={"Content-Type": CONTENT})
    with urlopen(request, timeout=30) as response:
        return int(json.load(response)["id"])
