"""A process that makes shards: it takes jobs from a connection until nobody is there any more.

It imports neither TensorFlow nor the user's program.
"""

from __future__ import annotations

import signal
import sys
import traceback
from multiprocessing.connection import Connection
from typing import NamedTuple

from quickfit.data.packing.making import Job, Workshop, make_shard
from quickfit.errors import QuickfitError


class Made(NamedTuple):
    """A shard is in its place."""

    name: str


class Failed(NamedTuple):
    """A shard cannot be made, and trying again would not help.

    Args:
        errno: of the operating system, where the shard could not be written.
        file: that could not be written.
        message: for the user, where there is one.
        traceback: of what nobody expected.
    """

    errno: int = 0
    file: str = ""
    message: str = ""
    traceback: str = ""


def main() -> None:
    """Make shards for the process at the other end of the connection named on the command line."""
    # Ctrl-C reaches the whole group; the pack itself decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Connection(int(sys.argv[1])) as connection:
        try:
            serve(connection)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return  # the pack has ended, or was killed


def serve(connection: Connection) -> None:
    """Make the shards that are asked for.

    Raises:
        EOFError: nobody asks any more.
    """
    workshop: Workshop = connection.recv()
    while True:
        # No name for the job: it would keep its images while the next one comes.
        connection.send(_made(connection.recv(), workshop, connection))


def _made(job: Job, workshop: Workshop, connection: Connection) -> Made | Failed:
    try:
        make_shard(job, workshop, connection.send)
    except QuickfitError as error:
        return Failed(message=str(error))
    except (BrokenPipeError, ConnectionResetError):
        raise  # nobody listens
    except OSError as error:
        return Failed(errno=error.errno or 0, file=str(error.filename or ""), message=str(error))
    except Exception:  # noqa: BLE001 - told by the pack; silence would look like a dead worker
        return Failed(traceback=traceback.format_exc())
    return Made(job.name)
