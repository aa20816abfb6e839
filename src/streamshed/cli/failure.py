"""What stopped a run, as one line."""

import re

_CAUSE = re.compile(r"(?:Caused by: )?(?:[\w$]+\.)+[\w$]*(?:Exception|Error): ")
_ERROR_CLASS = re.compile(r"^\[STREAM_FAILED\].*?reason: |\bSQLSTATE: \w+$")
_LONGEST = 400


def failure_text(failure: Exception) -> str:
    r"""Take the sentence out of what Spark raises, without its stack traces.

    Example:
        >>> failure_text(RuntimeError("java.io.IOException: No space left on device\n\tat org.apache..."))
        'the run failed: No space left on device'
    """
    lines = [line.strip() for line in str(failure).splitlines()]
    told = next((line for line in lines if line and not line.startswith("at ")), type(failure).__name__)
    sentence = _ERROR_CLASS.sub("", _CAUSE.sub("", told, count=1)).strip()
    return f"the run failed: {sentence[:_LONGEST]}"
