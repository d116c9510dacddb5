"""What holds for every test."""

import signal


def pytest_configure() -> None:
    """Hear signals that a shell ignores for what it starts in the background (`make test &`).

    Ignored signals are inherited by every process that a test starts, and the tests of Ctrl-C and
    of hang-ups would wait for ever.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
