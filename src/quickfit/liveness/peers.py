"""Asks whether anybody listens at an address; nothing is sent."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

_PATIENCE_S = 0.3
# A cluster may have hundreds; the first of them say enough.
_MAX_ASKED = 16


def is_listening(address: str) -> bool | None:
    """Tell whether a connection to `host:port` is taken; None where that cannot be known."""
    host, _, port = address.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 2**16:
        return None  # the system would take another port for it
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE_S):
            return True
    except ConnectionRefusedError:
        return False
    except (OSError, ValueError):
        return None  # no route, no such name, too slow: it may be there all the same


class Asked:
    """Answers with what was found out last, and asks again meanwhile.

    A name may take ten seconds to be looked up, and the one who asks has signals to pass on.
    """

    def __init__(self, ask: Callable[[str], bool | None] = is_listening) -> None:
        self._ask = ask
        self._known: dict[str, bool | None] = {}
        self._under_way: set[str] = set()

    def __call__(self, address: str) -> bool | None:
        """Tell whether anybody listens; None at first."""
        if address not in self._under_way and len(self._under_way) < _MAX_ASKED:
            self._under_way.add(address)
            threading.Thread(target=self._find_out, args=(address,), daemon=True).start()
        return self._known.get(address)

    def _find_out(self, address: str) -> None:
        self._known[address] = self._ask(address)
        self._under_way.discard(address)
