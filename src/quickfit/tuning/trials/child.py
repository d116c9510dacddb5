"""The program of a trial's process: builds, trains on command, and tells how it went."""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from typing import Any

from quickfit.tuning.trials import boot, footprint, learning, telling
from quickfit.tuning.trials.assembling import Assembler
from quickfit.tuning.trials.link import Link
from quickfit.tuning.trials.orders import read_order
from quickfit.tuning.trials.training import Training


def main(commands: int, answers: int) -> None:
    """Serve the process that started this one until it asks for nothing more.

    Args:
        commands: the descriptor that commands are read from.
        answers: the descriptor that answers are written to.
    """
    sys.argv[:] = ["quickfit"]  # the user's module may look at its arguments
    link = Link(commands, answers)
    try:
        _serve(link)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the user is to see it
        failure = telling.failure_of(error)
        link.answer("failed", {"failure": failure, "text": telling.told(error)})
    # Not a usual end: threads of the user's input may never end, and nothing is to be saved.
    os._exit(1)


def _serve(link: Link) -> None:
    order = read_order(link.command())
    boot.be_harmless(order.parent)
    link.enter("loading TensorFlow")
    base_bytes = boot.load_tensorflow(order)
    link.enter("building the model and the data")
    started_s = time.perf_counter()
    assembler = Assembler(order)
    assembled = assembler.assemble()
    build_s = time.perf_counter() - started_s
    step_bytes = footprint.step_bytes(assembled.model, assembled.feed.batch)
    link.enter("doing the first steps", step_bytes)
    training = Training(assembled, link)
    command = training.begin(build_s, base_bytes)
    while True:
        command = _obeyed(command, training, assembler, link)


def _obeyed(
    command: dict[str, Any],  # Any: JSON
    training: Training,
    assembler: Assembler,
    link: Link,
) -> dict[str, Any]:
    """Do what a command asks for; return the next one."""
    if command["do"] != "learn":
        link.enter("training")
        return training.go_on(command)
    link.enter("training from the first weights")
    training.bare_function()
    fresh = assembler.assemble(keeps_input=True)
    learned = learning.learn(command["samples"], fresh, training.model, link)
    link.answer("learned", dataclasses.asdict(learned))
    return link.command()
