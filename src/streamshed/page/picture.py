"""A picture of the page, taken by a browser that is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_WIDTH, _HEIGHT = 1400, 2200
_VIRTUAL_MILLISECONDS = 4000
_PATIENCE_SECONDS = 60.0


def take_picture(url: str, path: Path, *, height: int = _HEIGHT) -> bool:
    """Take a picture of a page, as it is a few seconds after it was opened.

    Args:
        url: Where the page is.
        path: The PNG file to write.
        height: Of the picture, pixels.

    Returns:
        Whether there is one: there is none where neither Chromium nor Chrome is installed, or where it fails.
    """
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        return False
    path.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="streamshed_browser_", ignore_cleanup_errors=True) as profile:
        command = [
            browser,
            "--headless",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
            f"--window-size={_WIDTH},{height}",
            f"--virtual-time-budget={_VIRTUAL_MILLISECONDS}",
            f"--screenshot={path.resolve()}",
            # Root, as in a container, has no sandbox.
            *(["--no-sandbox"] if os.getuid() == 0 else []),
            url,
        ]
        try:
            subprocess.run(command, capture_output=True, timeout=_PATIENCE_SECONDS, check=True)
        except (subprocess.SubprocessError, OSError):
            return False
    return path.exists()
