"""A Python function runs inside every compiled step, and the model waits for it.

Why it is slow: `tf.numpy_function` and `tf.py_function` put a call of Python into the graph. In a
loss, a metric, a layer or a `train_step`, TensorFlow stops at that point of every step, copies the
tensors out, runs Python on one core, and goes on when it has returned. A GPU stands still
meanwhile. What depends only on the data is computed again in every epoch.

How it shows: the calls take a tenth of the step time or more, by a clock around each of them, and
the CPU time of the calling thread or stack samples agree. The native work of the step is too small
to hide them: divided by the cores, it is shorter than the step.

Example:
    class BorderLoss(keras.losses.Loss):
        def call(self, y_true, y_pred):
            weights = tf.numpy_function(border_weights, [y_true], tf.float32)
            return keras.ops.mean(weights * keras.ops.square(y_true - y_pred))

Use instead:
    weights = border_weights(masks)  # once, before training
    ds = tf.data.Dataset.from_tensor_slices((images, masks, weights))
    ds = ds.shuffle(1000).batch(16).prefetch(tf.data.AUTOTUNE)
    model.compile("adam", loss="mse")  # Keras multiplies the loss by the third part
    model.fit(ds)

Or, where it needs what the model computes:
    # the same formula with TensorFlow's operations: it runs inside the graph
    positive, negative = scores[:, None], scores[None, :]
    is_pair = (labels[:, None] > 0.5) & (labels[None, :] <= 0.5)
    ranked = tf.reduce_mean(tf.cast(positive > negative, tf.float32)[is_pair])

Fix class: show only. The numbers stay the same if the function treats every sample alone and the
data is not changed at random; with TensorFlow's operations, they may differ in the last digits.

When it is wrong: TensorFlow may run other parts of the graph while Python works. Where those parts
need as long by themselves, nothing is reported; otherwise the predicted gain allows for it. A
simulator or a solver that only exists in Python has to stay: then call it for fewer steps.
`python-in-map` reports such a function in the map of a dataset.
"""

from __future__ import annotations

import ast

from quickfit import units
from quickfit.causes._cause import Cause, example
from quickfit.code.syntax import parse_or_none
from quickfit.findings import Evidence, Finding, Fix, FixClass, Gain, Location, Symptom
from quickfit.signals import Signals
from quickfit.signals.gains import gain
from quickfit.signals.step_python import StepPython, hot_line, python_in_step

# Below a tenth of the step time the gain is smaller than the noise between runs.
MIN_SHARE = 0.10
# CPU time or stack samples must agree: at least half of what the clock says. Samples see a function
# that waits, and CPU time sees one that computes; each is blind for the other kind.
MIN_AGREEMENT = 0.5
# Fewer samples than this say nothing about a share.
MIN_SAMPLES = 10
# Of a step, Python can hide behind native work that takes as long without it.
MAX_HIDDEN = 0.95
# What is left of its time: at worst half (the same work in TensorFlow), likely a little (a batch is
# larger by what was computed before). At best the way into Python and back is saved as well, which
# lies outside the timed call: waking a thread, waiting for Python's lock, copies of the tensors.
LEFT_OVER = (0.5, 0.05, -0.05)
# How much of the native work that could run beside Python did so is not measured: at worst all
# of it, likely half.
OVERLAPPED = (1.0, 0.5, 0.0)


def detect(signals: Signals) -> Finding | None:
    """Report the Python function of the step's graph that takes longest."""
    functions = python_in_step(signals)
    if not functions or signals.is_eager:
        return None
    step_s = signals.steps.mean_s
    python_s = min(sum(function.step_s for function in functions), step_s)
    if python_s < MIN_SHARE * step_s:
        return None
    cpu_s = min(sum(function.step_cpu_s for function in functions), python_s)
    seen_share, samples = _sampled(signals)
    agreed = max(cpu_s / step_s, seen_share)
    native_s = _native_cpu_s(signals, cpu_s) / signals.cores
    if agreed < MIN_AGREEMENT * python_s / step_s or native_s >= MAX_HIDDEN * step_s:
        return None
    slowest = functions[0]
    called = f"{_times(slowest)} per step, timed {slowest.calls} times"
    return Finding(
        summary=f"`{slowest.name}` runs in Python inside every step",
        where=_place(slowest, signals),
        evidence=(
            Evidence(
                "in Python called from the graph, per step",
                python_s,
                "s",
                f"{units.share(python_s / step_s)} of the step; {called}",
                slowest.called_at,
            ),
            Evidence("of it computing on one core", cpu_s, "s", "CPU time of the calling thread")
            if cpu_s / step_s >= seen_share
            else Evidence("of the samples of the steps are in it", seen_share, "share", samples),
            *_line_evidence(slowest, signals),
        ),
        gain=_gain(python_s, cpu_s, step_s, signals),
        cost_share=python_s / step_s,
        claims=("step",),
        not_found=(
            "native work that would hide it: what else the step computes needs"
            f" {units.share(native_s / step_s)} of its time on all cores",
        ),
    )


def _times(function: StepPython) -> str:
    calls = round(function.step_calls)
    return "one call" if calls <= 1 else f"{calls} calls"


def _place(function: StepPython, signals: Signals) -> Location | None:
    """Return the line that takes the time in the function, or that puts it into the graph."""
    line = hot_line(function, signals)
    return line.location if line is not None else function.called_at or function.location


def _line_evidence(function: StepPython, signals: Signals) -> tuple[Evidence, ...]:
    line = hot_line(function, signals)
    if line is None:
        return ()
    what = f"of the samples of `{function.name}` are at its slowest line"
    return (Evidence(what, line.share, "share", f"{line.samples} samples", line.location),)


def _sampled(signals: Signals) -> tuple[float, str]:
    """Return the share of the samples of the steps that are inside such a function."""
    seen = sum(stack.seen for stack in signals.step_python_stacks())
    total = sum(stack.seen for stack in signals.main_stacks())
    if total < MIN_SAMPLES:
        return 0.0, ""
    return min(seen / total, 1.0), f"{seen} of {total} samples"


def _native_cpu_s(signals: Signals, python_cpu_s: float) -> float:
    """Return the CPU time per step outside these functions; idle threads that spin included."""
    return max(signals.step_cores * signals.steps.mean_s - python_cpu_s, 0.0)


def _gain(python_s: float, cpu_s: float, step_s: float, signals: Signals) -> Gain:
    """Return what a step gains: never more than its native work and its input allow."""
    native_cpu_s = _native_cpu_s(signals, cpu_s)
    limit_s = signals.input_limit_s or 0.0
    beside_s = min(native_cpu_s / max(signals.cores - 1, 1.0), python_s)
    after = []
    for left, overlapped in zip(LEFT_OVER, OVERLAPPED, strict=True):
        alone_s = max(python_s - overlapped * beside_s, 0.0)
        native_s = step_s - (1 - left) * alone_s
        after.append(max(native_s, native_cpu_s / signals.cores, limit_s))
    basis = "no Python in the step; at worst half of its time stays as other work"
    if limit_s >= after[1]:
        basis += "; then the input is the limit"
    return gain(step_s, (after[0], after[1], after[2]), basis)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show the function called once for all the data, or as operations of the graph."""
    slowest = python_in_step(signals)[0]
    call = _call_in_graph(slowest, signals)
    page = __doc__ or ""
    section = "Or, where it needs what the model computes"
    if call is None:
        text = f"{example(page, 'Use instead')}\n\n# {section.lower()}\n{example(page, section)}"
        return Fix("Take Python out of the step", FixClass.SHOW_ONLY, example=text)
    if call.needs_model:
        title = f"Write `{slowest.name}` with TensorFlow's operations or keras.ops"
        text = (
            f"# now, in every step: {call.text}\n"
            f"# It needs {call.needs_model}, which the step computes. A ranking score:\n"
            f"{example(page, section)}\n"
            "# A metric can also be computed at the end of an epoch, from `predict`."
        )
        return Fix(title, FixClass.SHOW_ONLY, example=text)
    title = f"Call `{slowest.name}` once for the data, before training"
    result = f"{slowest.name.strip('_<>') or 'python'}_result"
    named, data = " and ".join(f"`{name}`" for name in call.given), "all_" + call.given[0]
    data = data if data.isidentifier() else "all_labels"
    text = (
        f"# now, in every step: {call.text}\n"
        f"# {named} {'comes' if len(call.given) == 1 else 'come'} from the data. If it treats"
        " every sample alone, call it once:\n"
        f"{result} = {call.function}({data})  # NumPy arrays of all the data, before training\n"
        f"ds = tf.data.Dataset.from_tensor_slices((x, {data}, {result}))\n"
        "# and use the third part of each batch where the call is now"
    )
    return Fix(title, FixClass.SHOW_ONLY, example=text)


class _GraphCall:
    """The call that puts Python into the graph, as the user wrote it.

    Args:
        text: the call.
        function: what it calls.
        given: the tensors that it passes on.
        needs_model: one of them that the model computes; empty without.
    """

    def __init__(self, text: str, function: str, given: list[str], needs_model: str) -> None:
        self.text = text
        self.function = function
        self.given = given
        self.needs_model = needs_model


def _call_in_graph(function: StepPython, signals: Signals) -> _GraphCall | None:
    """Return the call of `tf.numpy_function` or `tf.py_function` at a line; None if not plain."""
    place = function.called_at
    tree = parse_or_none(signals.source_text(place.file)) if place is not None else None
    if tree is None or place is None:
        return None
    for node in ast.walk(tree):
        is_there = isinstance(node, ast.Call) and node.lineno <= place.line <= (
            node.end_lineno or 0
        )
        if not isinstance(node, ast.Call) or not is_there or len(node.args) < 2:
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        passed = node.args[1]
        if name in ("numpy_function", "py_function", "py_func") and isinstance(
            passed, ast.List | ast.Tuple
        ):
            given = [ast.unparse(one) for one in passed.elts]
            if not given:
                return None
            text = " ".join(ast.unparse(node).split())
            needed = _computed(tree, place.line, given)
            return _GraphCall(text, ast.unparse(node.args[0]), given, needed)
    return None


def _computed(tree: ast.AST, line: int, given: list[str]) -> str:
    """Return one of some names that is computed in the step; empty where all are given to it."""
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    inside = max(functions, key=lambda node: node.lineno, default=None)
    if inside is None:
        return f"`{given[0]}`"
    parameters = {argument.arg for argument in inside.args.args} - {"y_pred", "predictions"}
    unpacked = {
        target.id
        for node in ast.walk(inside)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)
        for names in node.targets
        for target in (names.elts if isinstance(names, ast.Tuple) else [names])
        if isinstance(target, ast.Name) and node.value.id in parameters
    }
    known = parameters | unpacked
    return next((f"`{name}`" for name in given if name not in known), "")


CAUSE = Cause(
    title="Python runs inside every step",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
)
