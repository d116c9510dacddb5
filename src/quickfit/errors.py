"""The exceptions quickfit raises, and the exit code each one ends a command with.

    QuickfitError
    ├── UsageError        2   the command line or a value given to us is wrong
    ├── RecordingError    3   a recording cannot be read or written
    ├── FixError          4   a fix cannot be made or applied
    ├── PipelineError     5   an input pipeline cannot be built or run
    ├── ModelError        6   a model cannot be built, tried or changed
    ├── SourceError       2   a file cannot be read as Python source
    └── SignalMissing         nobody recorded what was asked for; never reaches a user

Every message says what happened with the value received, where, and what to do.
The command line prints these without a traceback; any other exception is a bug of
ours and keeps its traceback. Messages quote names that others chose: what does not print in
them is escaped, wherever the message is shown.
"""

from quickfit.terminal import escape

# The longest name of a file has 4,096 bytes; a longer line quotes a made-up value.
MAX_LINE = 5_000


class QuickfitError(Exception):
    """Base of everything quickfit raises on purpose."""

    exit_code = 1

    def __str__(self) -> str:
        """Return the message, harmless on any terminal and short enough to be read."""
        lines = escape(super().__str__()).split("\n")
        return "\n".join(line if len(line) <= MAX_LINE else _shorten(line) for line in lines)


def _shorten(line: str) -> str:
    return f"{line[: MAX_LINE // 2]} … {line[-200:]}"


class UsageError(QuickfitError):
    """The command line, or a value given to quickfit, is wrong."""

    exit_code = 2


class RecordingError(QuickfitError):
    """A recording cannot be read or written."""

    exit_code = 3


class FixError(QuickfitError):
    """A fix cannot be made or applied."""

    exit_code = 4


class PipelineError(QuickfitError):
    """An input pipeline cannot be built or run."""

    exit_code = 5


class ModelError(QuickfitError):
    """A model cannot be built, tried or changed."""

    exit_code = 6


class SourceError(QuickfitError):
    """A file cannot be read as Python source.

    Args:
        message: what is wrong, with the file.
        line: where, from 1; 0 where nobody knows.
        column: in that line, from 1; 0 where nobody knows.
    """

    exit_code = 2

    def __init__(self, message: str, *, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class SignalMissing(QuickfitError):  # noqa: N818 - it is an answer ("not checked"), not a failure
    """A cause asked for a quantity that this recording does not hold.

    Args:
        needs: what would have to be recorded, in words a user understands.
    """

    def __init__(self, needs: str) -> None:
        super().__init__(needs)
        self.needs = needs
