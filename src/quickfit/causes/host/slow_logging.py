"""Printing or logging after every step takes a tenth of the time or more.

Why it is slow: a line on a terminal, in a notebook or in a log that is flushed at once takes as
long as a small step. The next step begins when the line is out, and hundreds of lines a second are
more than a person reads.

How it shows: batch hooks of callbacks, or the Python between two steps, take a tenth of the step
time or more by the clock, and the samples of the main thread are there at `print`, in `logging` or
at a write to the terminal.

Example:
    class Report(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            print(f"batch {batch}: {logs}", flush=True)

Use instead:
    class Report(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch % 50 == 0:
                print(f"batch {batch}: {logs}", flush=True)

Fix class: same results. The training is the same; fewer lines are written. A log that needs every
step can be kept in a list and written at the end of the epoch.

When it is wrong: a line that prints a tensor also waits for its value. That wait is inside
TensorFlow, is not counted here, and is reported by `sync-each-step`. What a callback computes
before it writes is reported by `callback-batch-slow`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from quickfit.causes._cause import Cause
from quickfit.code.loops import put_under_test
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.syntax import name_of
from quickfit.errors import SignalMissing
from quickfit.findings import (
    Change,
    Effect,
    Evidence,
    Finding,
    Fix,
    FixClass,
    Location,
    Spotted,
    Symptom,
)
from quickfit.signals import Signals
from quickfit.signals.gains import gain, is_at_least, share_interval
from quickfit.signals.stacks import Frame, SampledStack

# Below a tenth of the step time the gain is smaller than the noise between runs.
MIN_SHARE = 0.10
# Of all samples, at least half of what the clock says must be at lines that write.
MIN_AGREEMENT = 0.5
# What is left of the time when every third line is written, every 50th, or none; at best the step
# after it, which no longer comes from cold caches, gains as well.
LEFT_OVER = (0.35, 0.02, -0.15)
EVERY = 50
BATCH_HOOKS = ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end")
LOGGERS = ("debug", "info", "warning", "error", "log")
# Python's own logging, and what carries a line to a notebook or a terminal.
_LOGGING_FILES = ("/logging/__init__.py", "/logging/handlers.py", "/ipykernel/iostream.py")
_LOGGING_PACKAGES = ("/loguru/", "/absl/logging/", "/rich/")
# Built-in functions have no frame: the line itself says that it writes.
_WRITES = re.compile(
    r"(?<![\w.])print\s*\(|\b(stdout|stderr)\.(write|flush)\s*\(|\btqdm\.write\s*\("
    r"|\b(log|logger|logging)\.\w+\s*\("
)


def detect(signals: Signals) -> Finding | None:
    """Report the line that writes most, if writing takes a share of the steps."""
    steps, in_fit = signals.steps, signals.loop.kind == "fit"
    all_seen = sum(stack.seen for stack in signals.main_stacks())
    outside = _in_hooks(signals) if in_fit else signals.stacks_between()
    seen = sum(stack.seen for stack in outside)
    if not all_seen:
        raise SignalMissing("samples of the thread that runs the loop")
    lines: Counter[Frame] = Counter()
    for stack in outside:
        line = _logging_line(stack, signals)
        if line is not None:
            lines[line] += stack.seen
    writing = sum(lines.values())
    inside_s = steps.mean_of("call_s") + steps.mean_of("wait_s")
    clock_s = steps.mean_of("callbacks_s") if in_fit else max(steps.mean_s - inside_s, 0.0)
    if not writing:
        return None
    clock_share = clock_s / steps.mean_s
    share = clock_share * writing / seen
    low, high = share_interval(writing / seen, seen)
    within = (low * clock_share, high * clock_share)
    if not is_at_least(MIN_SHARE, share, within, "samples of the loop, for what is logged"):
        return None
    if writing / all_seen < MIN_AGREEMENT * share:
        return None
    spent_s, limit_s = share * steps.mean_s, signals.input_limit_s or 0.0
    after = [max(steps.mean_s - spent_s * (1 - left), limit_s) for left in LEFT_OVER]
    basis = f"a line every {EVERY}th step"
    if limit_s >= after[1]:
        basis += "; then the input is the limit"
    frame = lines.most_common(1)[0][0]
    return Finding(
        summary="a line is printed or logged after every step",
        where=signals.location(frame.file, frame.line),
        evidence=(
            Evidence(
                "in callbacks per step" if in_fit else "in Python between two steps",
                clock_s,
                "s",
                f"{clock_share:.0%} of the step, by the clock",
            ),
            Evidence(
                "of the main thread's samples print or log",
                writing / all_seen,
                "share",
                f"{writing} of {all_seen} samples",
            ),
        ),
        gain=gain(steps.mean_s, (after[0], after[1], after[2]), basis),
        cost_share=min(share, 1.0),
        claims=("callbacks",) if in_fit else ("between",),
    )


def _in_hooks(signals: Signals) -> list[SampledStack]:
    """Return the samples inside the batch hooks of callbacks."""
    stacks = signals.main_stacks()
    return [s for s in stacks if any(f.function in BATCH_HOOKS for f in s.frames)]


def _logging_line(stack: SampledStack, signals: Signals) -> Frame | None:
    """Return the user's line that a stack writes a log from; None where it does something else."""
    for number, frame in enumerate(stack.frames):
        if frame.file.endswith(_LOGGING_FILES) or any(p in frame.file for p in _LOGGING_PACKAGES):
            return next((f for f in stack.frames[number:] if f.is_user), None)
        if frame.is_user:
            place = signals.location(frame.file, frame.line) if number == 0 else None
            return frame if place is not None and _WRITES.search(place.text) else None
    return None


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Hint at lines that a callback writes after every batch; how long they take is not known."""
    for call in module.calls("print", *LOGGERS):
        hook = module.function(call)
        if not isinstance(hook, ast.FunctionDef) or hook.name not in BATCH_HOOKS:
            continue
        if not _is_logging(call) or module.parent(module.statement(call)) is not hook:
            continue
        yield Spotted(
            where=module.span(call),
            summary=f"`{hook.name}` writes a line after every batch",
            effect=Effect.SLOW,
            is_hint=True,
        )


def _is_logging(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Name):
        return call.func.id == "print"
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    named = name_of(owner) if owner is not None else ""
    return name_of(call.func) in LOGGERS and "log" in (named or "").lower()


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Put the statement that writes under a test of the batch's number."""
    where = finding.where
    module = program.find_module(where.file) if where is not None else None
    change = _seldom_line(module, where) if module is not None and where is not None else None
    return [change] if change is not None else []


def _seldom_line(module: Module, where: Location) -> Change | None:
    """Return the edit; None where the line does more than write, or nothing counts the steps."""
    written = [
        node
        for node in module.all(ast.Expr)
        if isinstance(node.value, ast.Call)
        and _is_logging(node.value)
        and node.lineno <= where.line <= (node.end_lineno or 0)
    ]
    counter = _counter(module, written[0]) if len(written) == 1 else None
    edit = put_under_test(module, [written[0]], f"{counter} % {EVERY} == 0") if counter else None
    if edit is None:
        return None
    return Change(f"Write a line every {EVERY}th step", FixClass.SAME_RESULTS, (edit,), "")


def _counter(module: Module, statement: ast.stmt) -> str | None:
    """Return the name that counts batches where a statement runs: a hook's, or `enumerate`'s."""
    around = module.parent(statement)
    if isinstance(around, ast.FunctionDef) and around.name in BATCH_HOOKS:
        named = [argument.arg for argument in around.args.args]
        return named[1] if len(named) > 1 else None
    if not isinstance(around, ast.For) or not isinstance(around.target, ast.Tuple):
        return None
    first = around.target.elts[0]
    is_counted = isinstance(around.iter, ast.Call) and name_of(around.iter.func) == "enumerate"
    return first.id if is_counted and isinstance(first, ast.Name) else None


CAUSE = Cause(
    title="Printing or logging after every step",
    symptom=Symptom.SLOW,
    detect=detect,
    scan=scan,
    advice=Fix(title=f"Write a line every {EVERY}th step", kind=FixClass.SAME_RESULTS),
    changes=changes,
    says_more_than=("callback-batch-slow",),
)
