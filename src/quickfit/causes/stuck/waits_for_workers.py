"""A distributed start waits for another worker, and nobody listens at its address.

Why it is slow: with `MultiWorkerMirroredStrategy`, or a parameter server, TensorFlow begins when
all processes named in `TF_CONFIG` have answered. One that was not started, crashed, or has another
address or port keeps all others waiting, for up to an hour, with the CPU idle and no message.

How it shows: before the first loop the main thread stands inside TensorFlow's distribution code, or
Python does not answer because that code keeps its lock; `TF_CONFIG` names more than one process,
and a connection to at least one of the others is refused.

Example:
    import json
    import os

    nodes = {"worker": ["node1:2222", "node2:2222"]}
    task = {"type": "worker", "index": 0}
    os.environ["TF_CONFIG"] = json.dumps({"cluster": nodes, "task": task})
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # nothing was started on node2

Use instead:
    import json
    import os

    # the same script on every node, each with its own index: 0 on node1, 1 on node2
    nodes = {"worker": ["node1:2222", "node2:2222"]}
    task = {"type": "worker", "index": int(os.environ["NODE_INDEX"])}
    os.environ["TF_CONFIG"] = json.dumps({"cluster": nodes, "task": task})
    strategy = tf.distribute.MultiWorkerMirroredStrategy()

Fix class: shown only. Start the missing process, or correct its address. A cluster of one worker
needs no `TF_CONFIG` at all.

When it is wrong: a worker may be on its way up, so the refusal has to be seen twice. An address
that cannot be reached at all (a firewall, another network, a name that is not known here) is not
called missing, because it may well be there: then only the phase is told.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable
from typing import Any

from quickfit.causes._cause import Cause, silence_finding
from quickfit.findings import Evidence, Finding, Fix, FixClass, Location, Symptom
from quickfit.liveness.reason import Mechanism, Proof, Reason
from quickfit.liveness.scene import Scene
from quickfit.signals import Signals

_PATIENCE_S = 0.3
# A cluster may have hundreds; the first of them say enough.
_MAX_ASKED = 16
_STRATEGIES = re.compile(r"\b(MultiWorkerMirrored|CollectiveAllReduce|ParameterServer)\w*\(")
_DISTRIBUTES = ("/distribute/", "/eager/context.py", "/python/training/server_lib.py")


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "waits-for-workers")


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


_PEERS = Asked()


def show_missing_workers(
    scene: Scene, *, answers: Callable[[str], bool | None] | None = None
) -> Reason | None:
    """Tell of a distributed start that waits for a peer which is not there."""
    cluster = cluster_of(scene.environment.get("TF_CONFIG", ""))
    if cluster is None or scene.loop is not None or scene.steps or not _is_starting(scene):
        return None
    own, peers = cluster
    answers = answers or _PEERS
    missing = [peer for peer in peers if peer != own and answers(peer) is False]
    if not missing:
        return None
    named = ", ".join(missing[:3])
    return Reason(
        cause="waits-for-workers",
        summary=f"the start waits for {_peers(len(missing))} that nobody listens at: {named}",
        where=_strategy(scene),
        evidence=(
            Evidence("peers in TF_CONFIG", len(peers), "count", f"this one is {own}"),
            Evidence("of them refuse a connection", len(missing), "count", named),
        ),
        advice="Start the missing worker, or correct the addresses in TF_CONFIG.",
        is_certain=True,
    )


def _is_starting(scene: Scene) -> bool:
    """Tell whether TensorFlow sets up a cluster, in which it may keep Python's lock."""
    frames = scene.main.frames if scene.main is not None else ()
    is_inside = any(part in frame.file for frame in frames for part in _DISTRIBUTES)
    return is_inside or not scene.is_answering


def _strategy(scene: Scene) -> Location | None:
    """Return the line that asks for the cluster; where no stack shows it, the text does."""
    main = scene.main
    if scene.is_answering and main is not None:
        return scene.place(main.user_frame)
    for file, text in scene.sources.items():
        for number, line in enumerate(text.split("\n"), 1):
            if _STRATEGIES.search(line):
                return scene.at(file, number)
    return scene.place(main.user_frame) if main is not None else None


def _peers(number: int) -> str:
    return "a worker" if number == 1 else f"{number} workers"


def cluster_of(text: str) -> tuple[str, list[str]] | None:
    """Return this process's address and all of the cluster; None for no cluster of several."""
    try:
        told: Any = json.loads(text)  # anything a user may have written
        cluster, task = told["cluster"], told["task"]
        peers = [str(peer) for kind in cluster.values() for peer in _listed(kind)]
        own = str(_listed(cluster[task["type"]])[int(task["index"])])
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError):
        return None
    return (own, peers) if len(peers) > 1 else None


def _listed(addresses: Any) -> list[Any]:  # a list, or a mapping from index to address
    return list(addresses.values()) if isinstance(addresses, dict) else list(addresses)


CAUSE = Cause(
    title="The start waits for a worker that is not there",
    symptom=Symptom.STUCK,
    detect=detect,
    advice=Fix("Start every worker of TF_CONFIG, or take the missing one out", FixClass.SHOW_ONLY),
    live=(Mechanism(show_missing_workers, Proof.NAMED),),
)
