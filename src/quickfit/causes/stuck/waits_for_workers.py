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

from quickfit.causes._cause import Cause, advice, silence_finding
from quickfit.findings import Finding, Fix, Symptom
from quickfit.signals import Signals


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "waits-for-workers")


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how every worker of a cluster is started."""
    return advice(__doc__ or "", "Start every worker of TF_CONFIG, or take the missing one out")


CAUSE = Cause(
    title="The start waits for a worker that is not there",
    symptom=Symptom.STUCK,
    detect=detect,
    fix=fix,
)
