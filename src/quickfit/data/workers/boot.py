"""The script that a worker process runs: finds quickfit where its owner found it, and serves.

It is started as a file, since the owner may have found quickfit through a `sys.path` of its own.
"""

from __future__ import annotations

import json
import os
import socket
import sys


def main(descriptor: int) -> None:
    """Serve the owner at the other end of this socket."""
    owner = socket.socket(fileno=descriptor)
    _, (letter,), _, _ = socket.recv_fds(owner, 1, 1)
    with open(letter, "rb") as file:
        file.seek(0)
        told = json.load(file)
    sys.path[:] = told["path"]
    sys.argv[:] = told["argv"]
    os.chdir(told["folder"])

    from quickfit.data.workers.worker import serve_owner

    with owner:
        serve_owner(owner, told)


if __name__ == "__main__":
    main(int(sys.argv[1]))
