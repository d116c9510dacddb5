"""A `tf.function` is traced again and again: for every new Python value, or made anew each time.

Why it is slow: a Python number, string or object is built into the graph, so each new one needs a
graph of its own. A function that is decorated inside the loop starts without any graph. Tracing
takes as long as many steps, and every graph is kept, so memory grows too.

How it shows: the same code is traced three times or more while steps run; the traces differ in a
Python value, in an object or in the function object itself; and steps with a trace take much
longer than those without, or tracing is a large part of every step.

Example:
    for step, (x, y) in enumerate(ds):
        train_step(x, y, 0.01 * 0.99**step)

Use instead:
    for step, (x, y) in enumerate(ds):
        train_step(x, y, tf.constant(0.01 * 0.99**step))

Fix class: may change results for a value that becomes a tensor: it is then rounded to 32 bits
first. The same results for a function that is made once, before the loop.

When it is wrong: two or three values that take turns (`training=True` and `False`) cost a trace
each and no more. Traces that differ in shapes only are `retrace-shapes`; what Keras traces for
`fit` again after each `compile` is `fit-or-compile-in-loop`.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, example
from quickfit.findings import Evidence, Finding, Fix, FixClass, Gain, Location, Symptom
from quickfit.fixes.bindings import scripts_of
from quickfit.fixes.change import Change
from quickfit.fixes.hoisting import hoisted_function
from quickfit.fixes.script import Project
from quickfit.fixes.tensor_arguments import Argument, tensor_argument
from quickfit.signals import Signals
from quickfit.signals.eager import delay_share, main_cpu_s
from quickfit.signals.gains import gain
from quickfit.signals.retraces import Retraced, TracedSteps, retraced, traced_steps
from quickfit.source.definitions import is_made_here, is_method, with_tensor, wrapping_lines

# Below a tenth of the time the gain is smaller than the noise between runs.
MIN_SHARE = 0.10
# How much goes with the traces where some steps have none, as parts of what was measured.
REMOVED = (0.8, 1.0, 1.2)
# Where every step traces: what goes beside the traces, in multiples of the main thread's other
# work. That is setting up the new graph, a part of which other threads do meanwhile.
GOES = (0.5, 0.95, 1.5)
# Never more than this share of the time goes.
MOST = 0.98
# The reasons, the one that explains most first.
REASONS = ("function", "value", "object", "structure")


def detect(signals: Signals) -> Finding | None:
    """Report the function whose traces for Python's sake take the most time."""
    found = _longest(signals)
    if found is None:
        return None
    (again, times), steps = found, signals.steps
    gained = _gain(signals, again, times)
    share = 1 - 1 / gained.likely
    if share < MIN_SHARE:
        return None
    return Finding(
        summary=_summary(again),
        where=_place(again, signals),
        evidence=(
            Evidence(
                "traces of it while steps ran", again.count, "count", f"in {len(steps.steps)} steps"
            ),
            Evidence("of tracing in all", again.seconds, "s", f"in {steps.total_s:.1f} s of steps"),
            Evidence("the time of a step without a trace", times.slower, "factor", "with one"),
        ),
        gain=gained,
        cost_share=share,
        # Seconds of a trace are also seconds of what it happens in.
        claims=("tracing", "callbacks" if signals.loop.kind == "fit" else "step"),
        not_found=("shapes that change",),
    )


def _longest(signals: Signals) -> tuple[Retraced, TracedSteps] | None:
    """Return what is traced again for longest of what goes on being traced, and its steps."""
    for again in retraced(signals, REASONS):
        times = traced_steps(signals, again.traces)
        if times is not None and times.is_pattern(again.count, again.earlier):
            return again, times
    return None


def _summary(again: Retraced) -> str:
    reason = again.reason
    if reason.kind == "function":
        return f"`{again.name}` is made into a new `tf.function` and traced each time"
    what = {"value": "Python value", "object": "Python object"}.get(reason.kind, "structure")
    return f"`{again.name}` is traced again for every new {what} of `{reason.argument}`"


def _gain(signals: Signals, again: Retraced, times: TracedSteps) -> Gain:
    steps = signals.steps
    if times.plain:
        share = min(times.cost_s(again.seconds) / steps.total_s, 1.0)
        parts = [1 - min(part * share, MOST) for part in REMOVED]
        return gain(1.0, (parts[0], parts[1], parts[2]), "one graph instead of one for each trace")
    step_s, traced_s = steps.mean_s, again.seconds / len(steps.steps)
    rest_s = max(step_s - traced_s, 0.0)
    # The main thread waits while a graph runs, and works, or stands in line for a core, while one
    # is set up. In `fit` it is not known which of both its own step is.
    busy_s = main_cpu_s(signals) + delay_share(signals) * step_s
    setup_s = 0.0 if signals.loop.kind == "fit" else min(max(busy_s - traced_s, 0.0), rest_s)
    after = [max(rest_s - goes * setup_s, (1 - MOST) * step_s) for goes in GOES]
    basis = "one graph, set up once; what runs while the main thread waits stays"
    return gain(step_s, (after[0], after[1], after[2]), basis)


def _place(again: Retraced, signals: Signals) -> Location | None:
    """Return the call, or for a function that is made anew the line that makes it."""
    where = again.location
    if again.reason.kind != "function" or where is None:
        return again.caller or where
    text = signals.source_text(where.file)
    if is_method(text, where.line):
        return again.caller or where  # each new object has its own: it is made elsewhere
    if is_made_here(text, where.line):
        return where
    for file in dict.fromkeys(p.file for p in (again.caller, where) if p is not None):
        lines = wrapping_lines(signals.source_text(file), again.name)
        if len(lines) == 1:
            return signals.location(file, lines[0])
    return again.caller or where


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Turn the argument into a tensor, or show how to make the function or object once."""
    found = _longest(signals)
    if found is None:
        return None
    again = found[0]
    if again.reason.kind == "function":
        return Fix(
            title="Make the function once, before the loop",
            kind=FixClass.SAME_RESULTS,
            example="@tf.function\ndef step(x):\n    ...\n\nfor x in ds:\n    step(x)",
            note="What it took from the loop's variables becomes an argument, as a tensor.",
        )
    argument = again.reason.argument
    if again.reason.kind != "value":
        return Fix(
            title=f"Give the same `{argument}` each time",
            kind=FixClass.MAY_CHANGE_RESULTS,
            example="settings = Settings()\n\nfor x in ds:\n    step(x, settings)",
            note="What is new in each step goes into tensors: `tf.constant`, `tf.Variable`.",
        )
    before, after = _as_tensor(finding, again, signals) or ("", "")
    return Fix(
        title=f"Give `{argument}` as a tensor",
        kind=FixClass.MAY_CHANGE_RESULTS,
        before=before,
        after=after,
        example="" if before else example(__doc__ or "", "Use instead"),
        note=_note(again.reason.after),
    )


def _note(value: str) -> str:
    note = (
        "The value is rounded to 32 bits first; where Python itself needs it (`range`, a shape),"
        " keep it outside the function."
    )
    if value.lstrip("-").isdecimal():
        note += " A whole number stays one: `tf.cast` it where it meets floats."
    return note


def _as_tensor(finding: Finding, again: Retraced, signals: Signals) -> tuple[str, str] | None:
    where, made = finding.where, again.location
    if where is None or made is None or made.file != where.file:
        return None
    return with_tensor(
        signals.source_text(where.file),
        where.line,
        function=again.name,
        defined_at=made.line,
        argument=again.reason.argument,
    )


def changes(finding: Finding, signals: Signals, project: Project) -> list[Change]:
    """Give a tensor for a number, or make the function once."""
    where, scripts = finding.where, scripts_of(project)
    script = project.script(where.file) if where is not None else None
    if where is None or script is None:
        return []
    longest = _longest(signals)
    if longest is None:
        return []
    again, found = longest[0], None
    made, reason = again.location, again.reason
    if reason.kind == "function":
        found = hoisted_function(script, where.line, scripts)
    elif reason.kind == "value" and made is not None:
        given = Argument(made.file, made.line, again.name, reason.argument, reason.after)
        found = tensor_argument(script, where.line, given, scripts)
    return [found] if found is not None else []


CAUSE = Cause(
    title="A function is traced again for Python values",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
    changes=changes,
    counts_start=True,
)
