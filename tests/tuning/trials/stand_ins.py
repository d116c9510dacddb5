"""Small programs that stand where a trial's process stands, behind the same pipes."""

import os
import sys

from quickfit.tuning.trials.process import TrialChild

_HEAD = """
import json, os, signal, subprocess, sys
commands, answers = int(sys.argv[1]), int(sys.argv[2])
def say(kind, **content):
    os.write(answers, (json.dumps({"kind": kind, **content}) + "\\n").encode())
def heard():
    line = b""
    while not line.endswith(b"\\n"):
        line += os.read(commands, 1)
    return json.loads(line)
def rest():
    signal.pause()
"""


def child(tmp_path, body, **options):
    """Return a child that runs some lines of Python."""
    command = [sys.executable, "-c", _HEAD + body]
    log = tmp_path / "log.txt"
    return TrialChild(command, cwd=tmp_path, env=dict(os.environ), log=log, **options)
