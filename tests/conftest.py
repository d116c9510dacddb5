"""What holds for every test."""

import os
import signal
import tempfile

import hypothesis
import pytest

# No test is judged by the clock: a loaded machine takes its time.
hypothesis.settings.register_profile("quickfit", deadline=None)
hypothesis.settings.load_profile("quickfit")


@pytest.fixture(scope="session", autouse=True)
def own_state_folder():
    """Keep the key that seals records in a folder of the tests, never in the user's."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.environ.get("XDG_STATE_HOME")
        os.environ["XDG_STATE_HOME"] = folder
        yield
        if before is None:
            del os.environ["XDG_STATE_HOME"]
        else:
            os.environ["XDG_STATE_HOME"] = before


def pytest_configure() -> None:
    """Hear signals that a shell ignores for what it starts in the background (`make test &`).

    Ignored signals are inherited by every process that a test starts, and the tests of Ctrl-C and
    of hang-ups would wait for ever.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name long bytes by their argument: an archive's bytes hold the time it was made at.

    Two processes that share the tests must give each test the same name.
    """
    return argname if isinstance(val, bytes) and len(val) > 16 else None
