"""Readers of images that do to a worker what images can do."""

import json
import os
import signal
import sys
from pathlib import Path


class Dies:
    """A reader whose process is killed over one image, as by a lack of memory."""

    def __init__(self, name, flag=None, number=signal.SIGKILL):
        self.name = name
        self.flag = flag
        self.number = number

    def read(self, entry):
        if entry.name == self.name and not (self.flag and os.path.exists(self.flag)):
            if self.flag:
                Path(self.flag).touch()
            os.kill(os.getpid(), self.number)
        return Path(entry.file).read_bytes()


class Fails:
    """A reader with a mistake in it."""

    def read(self, entry):
        raise ZeroDivisionError("division by zero")


class Tells:
    """A reader that writes down what its process has loaded."""

    def __init__(self, file):
        self.file = file

    def read(self, entry):
        Path(self.file).write_text(json.dumps([sys.executable, *sys.modules]))
        return Path(entry.file).read_bytes()
