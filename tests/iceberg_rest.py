"""A server of Iceberg's REST protocol for tests, as much of it as a sink needs, in front of another catalog."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchNamespaceError, NoSuchTableError
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import CommitTableRequest, Table

_STATUS = {CommitFailedException: 409, NoSuchNamespaceError: 404, NoSuchTableError: 404}


@dataclass
class RestCatalogServer:
    """What the server does.

    Attributes:
        behind: The catalog that has the tables.
        address: Where it is reached.
        lost_answers: To so many commits, which are made, the answer is 504.
        requests: Those that came, such as "POST /v1/namespaces".
    """

    behind: Catalog
    address: str = ""
    lost_answers: int = 0
    requests: list[str] = field(default_factory=list)

    def answer(self, method: str, path: str, body: str) -> tuple[int, str]:
        """Do what a request says, and return the status and the body of the answer."""
        self.requests.append(f"{method} {path}")
        match (method, *path.partition("?")[0].strip("/").split("/")):
            case (_, "v1", "config"):
                return 200, '{"defaults": {}, "overrides": {}}'
            case ("GET", "v1", "namespaces", namespace):
                self.behind.load_namespace_properties(namespace)
                return 200, f'{{"namespace": ["{namespace}"], "properties": {{}}}}'
            case ("POST", "v1", "namespaces"):
                self.behind.create_namespace("live")
                return 200, '{"namespace": ["live"], "properties": {}}'
            case ("POST", "v1", "namespaces", namespace, "tables"):
                return 200, self._create(namespace, json.loads(body))
            case ("GET", "v1", "namespaces", namespace, "tables", name):
                return 200, _described(self.behind.load_table((namespace, name)))
            case ("POST", "v1", "namespaces", namespace, "tables", name):
                return self._commit((namespace, name), CommitTableRequest.model_validate_json(body))
        return 400, "{}"

    def _create(self, namespace: str, request: Mapping[str, Any]) -> str:
        schema = Schema.model_validate(request["schema"])
        spec = PartitionSpec.model_validate(request["partition-spec"])
        name = (namespace, request["name"])
        return _described(self.behind.create_table(name, schema, partition_spec=spec, properties=request["properties"]))

    def _commit(self, name: tuple[str, str], request: CommitTableRequest) -> tuple[int, str]:
        table = self.behind.load_table(name)
        done = self.behind.commit_table(table, request.requirements, request.updates)
        if self.lost_answers:
            self.lost_answers -= 1
            return 504, '{"error": {"message": "no answer in time", "type": "Timeout", "code": 504}}'
        return 200, done.model_dump_json()


def _described(table: Table) -> str:
    return f'{{"metadata-location": "{table.metadata_location}", "metadata": {table.metadata.model_dump_json()}}}'


@contextmanager
def running_rest_catalog(behind: Catalog) -> Iterator[RestCatalogServer]:
    """Serve a catalog on a free port of this machine."""
    served = RestCatalogServer(behind)

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            try:
                status, text = served.answer(self.command, self.path, body)
            except tuple(_STATUS) as error:
                status = _STATUS[type(error)]
                text = f'{{"error": {{"message": "{error}", "type": "{type(error).__name__}", "code": {status}}}}}'
            content = text.encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_HEAD = _answer  # noqa: N815 - so `http.server` calls them

        def log_message(self, *_arguments: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield served
        finally:
            server.shutdown()
            thread.join()
