"""Metrics are computed and read in Python after every step of a hand-written loop.

Why it is slow: outside a compiled function, `metric.update_state(...)` and `metric.result()` start
a dozen operations each, one by one from Python; `.numpy()` or `float(...)` waits for the value.
On an accelerator the next step cannot even be started meanwhile.

How it shows: a tenth of the step or more lies between the calls by the clock, and the samples of
that time are in Keras's metrics or fetch values of tensors.

Example:
    for images, labels in ds:
        loss, logits = train_step(images, labels)
        accuracy.update_state(labels, logits)
        print(float(loss), float(accuracy.result()))

Use instead:
    @tf.function
    def train_step(images, labels):
        loss, logits = learn(images, labels)
        accuracy.update_state(labels, logits)
        return loss

    for number, (images, labels) in enumerate(ds):
        loss = train_step(images, labels)
        if number % 100 == 0:
            print(float(loss), float(accuracy.result()))

Fix class: same results. The training and the metrics are the same; they are read less often.

When it is wrong: on a CPU, `float(loss)` alone costs microseconds, and no run is reported for it;
the text of a script does not say where it will run. A value that the loop goes by is needed. A
tensor that is printed as it is, which everybody sees, is a hint. A loop that runs all of its step
eagerly has a larger problem, which `missing-tf-function` reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from quickfit.causes._cause import Cause
from quickfit.causes.host.sync_each_step.edit_metrics import metrics_out_of_loop, reads_where_shown
from quickfit.causes.host.sync_each_step.edit_values import (
    seldom_shown,
    values_after_loop,
    values_at_once,
)
from quickfit.causes.host.sync_each_step.text import handed_reads, step_reads
from quickfit.code.conditions import is_for_tests, never_runs
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.errors import SignalMissing
from quickfit.findings import Change, Effect, Evidence, Finding, Fix, FixClass, Spotted, Symptom
from quickfit.signals import Signals
from quickfit.signals.gains import gain, is_at_least, share_interval
from quickfit.signals.keras_calls import metric_samples

# Below a tenth of the step time the gain is smaller than the noise between runs.
MIN_SHARE = 0.10
# What is left of the time: updates stay in Python and only reading goes, all of it is compiled
# into the step, and hardly a trace of it.
LEFT_OVER = (0.5, 0.08, 0.02)


def detect(signals: Signals) -> Finding | None:
    """Report metrics and fetched values that take a share of each step."""
    loop, steps = signals.loop, signals.steps
    if loop.kind not in ("custom", "train_on_batch") or loop.facts.get("eager_loop"):
        return None
    known_s = steps.mean_of("call_s") + steps.mean_of("wait_s") + steps.mean_of("callbacks_s")
    between_s = max(steps.mean_s - known_s, 0.0)
    if between_s / steps.mean_s < MIN_SHARE:
        return None
    seen = metric_samples(signals)
    if not seen.outside:
        raise SignalMissing("samples between the calls")
    spent_s = between_s * seen.share
    share = spent_s / steps.mean_s
    low, high = share_interval(seen.share, seen.outside)
    within = (low * between_s / steps.mean_s, high * between_s / steps.mean_s)
    if not is_at_least(MIN_SHARE, share, within, "samples between the calls, for what reads"):
        return None
    limit_s = signals.input_limit_s or 0.0
    after = [max(steps.mean_s - spent_s * (1 - left), limit_s) for left in LEFT_OVER]
    basis = "metrics inside the compiled step, read now and then"
    if limit_s >= after[1]:
        basis += "; then the input is the limit"
    found = gain(steps.mean_s, (after[0], after[1], after[2]), basis)
    return Finding(
        summary="metrics and values are read in Python after every step",
        where=seen.location or loop.location,
        evidence=(
            Evidence(
                "of Python between the calls of a step",
                between_s,
                "s",
                f"{between_s / steps.mean_s:.0%} of the step, by the clock",
            ),
            Evidence(
                "of the samples there are in metrics or fetch values",
                seen.share,
                "share",
                f"{seen.reading} of {seen.outside}",
            ),
        ),
        gain=found,
        cost_share=min(share, 1.0),
        claims=("logs",),
    )


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report values of the step that a training loop reads in every turn."""
    if is_for_tests(module):
        return
    for found in (*step_reads(program, module), *handed_reads(program, module)):
        if never_runs(program, module, found.call):
            continue
        home = found.home or module
        line = f"line {found.loop.lineno}"
        yield Spotted(
            where=module.span(found.call),
            summary=f"`{module.code(found.value)}` is read after every step of the loop at "
            f"{line if home is module else f'{line} of {Path(home.path).name}'}: "
            "the next step waits until its value is there",
            effect=Effect.SLOW,
            related=((home.span(found.through), "in every step"),) if found.through else (),
            is_hint=found.is_shown,
        )


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Take values out of tensors and metrics after the loop, seldom, or all at once."""
    where, modules = finding.where, program.modules()
    module = program.find_module(where.file) if where is not None else None
    if where is None or module is None:
        return []
    found = metrics_out_of_loop(module, where.line, modules)
    found += reads_where_shown(module, where.line, modules)
    others = (values_at_once, values_after_loop, seldom_shown)
    made = [other(module, where.line, modules) for other in others]
    return [*found, *(change for change in made if change is not None)]


CAUSE = Cause(
    title="Values are read after every step",
    symptom=Symptom.SLOW,
    detect=detect,
    scan=scan,
    advice=Fix(
        title="Update metrics in the compiled step, and read them every 100 steps",
        kind=FixClass.SAME_RESULTS,
    ),
    changes=changes,
)
