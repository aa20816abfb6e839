"""A picture of the page, taken by a browser that is installed."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_WIDTH, _HEIGHT = 1280, 1000
_LOOK_EVERY_SECONDS = 0.2
_PATIENCE_SECONDS = 60.0
_MOST_BYTES = 1 << 20
_IS_SHOWN = "document.documentElement.dataset.shown === 'all' && document.fonts.status === 'loaded'"


def take_picture(url: str, path: Path) -> bool:
    """Take a picture of the whole page, once all of it is shown.

    Args:
        url: Where the page is; with `?still`, for else it goes on for ever.
        path: The PNG file to write.

    Returns:
        Whether there is one: there is none where neither Chromium nor Chrome is installed, or where it fails.
    """
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if program is None:
        return False
    path.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="streamshed_browser_", ignore_cleanup_errors=True) as profile:
        # Root, as in a container, has no sandbox.
        sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
        options = ["--headless", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe", *sandbox]
        # A browser is driven through its descriptors 3 and 4.
        command = ["sh", "-c", 'exec "$@" 3<&0 4>&1 >&2', "sh", program, *options, f"--user-data-dir={profile}"]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as browser:
            end = threading.Timer(_PATIENCE_SECONDS, browser.kill)
            end.start()
            try:
                path.write_bytes(_Driven(browser).picture(url))
            except (OSError, ValueError, KeyError):
                return False
            finally:
                end.cancel()
                browser.kill()
    return True


class _Driven:
    """A browser that does what it is told, by the DevTools protocol.

    Args:
        browser: Reads commands and writes answers, as JSON with a null byte after each.
    """

    def __init__(self, browser: subprocess.Popen[bytes]) -> None:
        if browser.stdin is None or browser.stdout is None:
            raise OSError("the browser has no pipes")
        self._commands, self._answers = browser.stdin.fileno(), browser.stdout.fileno()
        self._count, self._session, self._read = 0, dict[str, str](), b""

    def picture(self, url: str) -> bytes:
        """Return a page as PNG.

        Raises:
            OSError: The browser has ended.
        """
        target = self._result_of("Target.createTarget", url=url)["targetId"]
        attached = self._result_of("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        self._resize(_HEIGHT)
        while not self._result_of("Runtime.evaluate", expression=_IS_SHOWN)["result"].get("value"):
            time.sleep(_LOOK_EVERY_SECONDS)
        self._resize(self._result_of("Page.getLayoutMetrics")["cssContentSize"]["height"])
        return base64.b64decode(self._result_of("Page.captureScreenshot")["data"])

    def _resize(self, height: int) -> None:
        metrics = {"width": _WIDTH, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._result_of("Emulation.setDeviceMetricsOverride", **metrics)

    def _result_of(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Give a command; returns what it results in."""
        self._count += 1
        command = {"id": self._count, "method": method, "params": parameters, **self._session}
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        answer: dict[str, Any] = {}
        while answer.get("id") != self._count:
            answer = json.loads(self._message())
        result: dict[str, Any] = answer["result"]
        return result

    def _message(self) -> bytes:
        while b"\0" not in self._read:
            part = os.read(self._answers, _MOST_BYTES)
            if not part:
                raise OSError("the browser has ended")
            self._read += part
        message, _, self._read = self._read.partition(b"\0")
        return message
