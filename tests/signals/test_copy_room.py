"""Room for a second copy of the data."""

from types import SimpleNamespace

import pytest

from quickfit.errors import SignalMissing
from quickfit.signals import copy_room


def room(monkeypatch, *, free, copied, rss):
    def told(value):
        def ask(signals):
            if value is None:
                raise SignalMissing("it")
            return value

        return ask

    monkeypatch.setattr(copy_room, "free_bytes", told(free))
    looks = SimpleNamespace(bytes=copied) if copied is not None else None
    monkeypatch.setattr(copy_room, "host_copies", told(looks))
    steps, memory = SimpleNamespace(steps=range(100)), SimpleNamespace(rss_bytes=rss)
    return copy_room.has_room_for_copy(SimpleNamespace(steps=steps, memory=memory))


@pytest.mark.parametrize(
    ("free", "copied", "rss"),
    [
        pytest.param(None, 10, 10**9, id="nobody measured"),
        pytest.param(2000, 10, 10**9, id="all steps together copied less"),
        pytest.param(2 * 10**9, 10**9, 10**9, id="the process holds less"),
        pytest.param(2 * 10**9, None, 10**9, id="only the size of the process is known"),
    ],
)
def test_there_is_room_where(monkeypatch, free, copied, rss):
    assert room(monkeypatch, free=free, copied=copied, rss=rss)


def test_there_is_no_room_for_more_than_is_free(monkeypatch):
    assert not room(monkeypatch, free=500, copied=10, rss=10**9)
    assert not room(monkeypatch, free=500, copied=None, rss=10**9)
