"""Makes the report so far of a cell that runs, in a process beside the kernel.

It writes a file that has HTML and text as JSON, and renews it until the kernel ends it or has gone.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import time
from pathlib import Path

from quickfit import trust
from quickfit.diagnosis import diagnose
from quickfit.errors import QuickfitError
from quickfit.integrations.notebook import STATUS_MARK
from quickfit.lab.child_side import end_with_parent
from quickfit.report import write_report
from quickfit.report.page.small import render_small

# The report is of the run so far, and a training that is worth watching takes longer.
EVERY_S = 4.0
# At most so much of the time is spent on it, at the lowest priority.
MAX_SHARE = 0.02


def write_live_report(run: Path, file: Path) -> None:
    """Write the report of a recording that grows; nothing while there is no step in it."""
    diagnosis = diagnose(run, with_details=True)
    if diagnosis.details is None or not diagnosis.details.steps:
        return
    text = io.StringIO()
    write_report(diagnosis, text)
    shown = {"html": render_small(diagnosis, status=STATUS_MARK), "text": text.getvalue()}
    trust.write_private(file, json.dumps(shown).encode(), sync=False)


def renew_live_report(run: str, file: str) -> None:
    """Renew the report of a recording for ever; the kernel ends this process."""
    end_with_parent()
    os.nice(19)
    wait_s = 1.0
    while True:
        time.sleep(wait_s)
        began_s = time.process_time()
        with contextlib.suppress(QuickfitError):  # the report at the end says it, if it still holds
            write_live_report(Path(run), Path(file))
        wait_s = max(EVERY_S, (time.process_time() - began_s) / MAX_SHARE)
