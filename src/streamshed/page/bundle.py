"""The bundle for support: what helps others to understand a run."""

from __future__ import annotations

import io
import json
import platform
import zipfile
from importlib.metadata import version

from streamshed.page.journal_tail import JournalTail
from streamshed.spark.checkpoint.storage import NETWORK_FILE, STATISTICS_FILE, Storage

_PACKAGES = ("streamshed", "pyspark", "pyarrow", "numpy", "pandas")
_LATEST_PLANS = 20


def support_bundle(checkpoint: str) -> bytes:
    """Return a ZIP of the journal, the network, the latest plans, statistics and versions.

    Rows, answers and options of sources are not in it. Names of streams and queries, and SQL, are.

    Args:
        checkpoint: Its path or URI.
    """
    folder, tail, content = Storage.reached(checkpoint), JournalTail(checkpoint), io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("journal.jsonl", "\n".join(json.dumps(row) for row in tail.new_rows()))
        bundle.writestr(NETWORK_FILE, tail.network() or "")
        for clock in tail.clocks:
            plans = folder.below(f"{clock}/plans")
            for name in plans.names()[-_LATEST_PLANS:]:
                bundle.writestr(f"{clock}/plans/{name}", plans.read_text(name) or "")
            bundle.writestr(f"{clock}/{STATISTICS_FILE}", folder.below(clock).read_text(STATISTICS_FILE) or "")
        versions = {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}
        bundle.writestr("versions.json", json.dumps(versions, indent=1))
    return content.getvalue()
