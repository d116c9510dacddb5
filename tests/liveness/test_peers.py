"""Whether anybody listens at an address: a connection is made, and nothing is sent."""

import socket
import threading
import time

import pytest

from quickfit.liveness.peers import Asked, is_listening


@pytest.fixture
def server():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def test_somebody_listens(server):
    assert is_listening(f"127.0.0.1:{server.getsockname()[1]}") is True


def test_nothing_is_sent(server):
    is_listening(f"127.0.0.1:{server.getsockname()[1]}")
    taken, _ = server.accept()
    with taken:
        assert taken.recv(1) == b""


def test_nobody_listens(server):
    port = server.getsockname()[1]
    server.close()
    assert is_listening(f"127.0.0.1:{port}") is False


@pytest.mark.parametrize(
    "address", ["", "nothing", "127.0.0.1:", "127.0.0.1:many", "127.0.0.1:99999", "h:-1", "\0:1"]
)
def test_what_is_no_address_is_not_known(address):
    assert is_listening(address) is None


def test_nobody_waits_for_an_answer():
    may_answer, has_answered = threading.Event(), threading.Event()

    def slowly(address):
        may_answer.wait(60)
        return False

    asked = Asked(slowly)
    assert asked("a:1") is None
    assert asked("a:1") is None  # it is under way
    may_answer.set()
    deadline = time.monotonic() + 60
    while asked("a:1") is None and time.monotonic() < deadline:
        has_answered.wait(0.01)
    assert asked("a:1") is False
