"""A shuffle reads a large part of the data before it gives its first element, in every epoch.

Why it is slow: `shuffle(n)` gives nothing before it holds n elements. With an n as large as the
dataset, every epoch begins with reading all of it while the model waits, and ends with the model
running while nothing is read.

How it shows: the first step of an epoch takes much longer than the others, about as long as the
stages before the shuffle need for what its buffer holds, and the buffer holds many batches.

Example:
    ds = tf.data.TFRecordDataset(files).shuffle(1_000_000).map(parse).batch(32)

Use instead:
    # the files in a new order each time, and a few thousand records mixed on top of that
    ds = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files))
    ds = ds.interleave(tf.data.TFRecordDataset, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.shuffle(5_000).map(parse).batch(32)

Fix class: may change results. A smaller buffer mixes less; data that lies in the files by class
needs the shuffle of files, or has to be written in a mixed order once.

When it is wrong: where a map before the shuffle makes the elements large, that shuffle belongs
before the map: `shuffle-after-decode`. After a cache a refill is only a copy. The start of one
long epoch is a small part of it and is not reported.
"""

from __future__ import annotations

import ast

from quickfit import units
from quickfit.causes._cause import Cause, example
from quickfit.causes._shared.dataset_chains import shuffle_first
from quickfit.causes._shared.own_example import with_own_sizes
from quickfit.code.datasets import chain_at
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.scopes import only_binding, reads_in_file, value_of_statement
from quickfit.code.syntax import argument
from quickfit.findings import MIN_GAIN, Change, Edit, Evidence, Finding, Fix, FixClass, Symptom
from quickfit.liveness import phases
from quickfit.liveness.reason import Mechanism, Proof, Reason
from quickfit.liveness.scene import Scene
from quickfit.signals import Signals
from quickfit.signals.dataset_chains import is_repeated, steady_lines
from quickfit.signals.shuffle import Refill, gain_of_overlap, holds_decoded, refill

# Below a tenth of the time the gain is smaller than the noise between runs.
MIN_SHARE = 0.10
# The stages above must explain at least this part of the slow start.
MIN_EXPLAINED = 0.3
# A buffer of so many batches can be made smaller and still mix what one batch is made of.
MIN_BATCHES = 20
# The batches that a buffer holds after the change.
BATCHES_AFTER = 16
# Fewer elements than this mix too little to train well, and so many small ones are soon read.
MIN_AFTER = 1000


def detect(signals: Signals) -> Finding | None:
    """Report a shuffle that reads much before it gives anything, with the steps waiting."""
    if signals.loop.input in ("generator", "pydataset", "arrays", "python"):
        return None
    shuffle = signals.shuffle
    if shuffle is None or shuffle.location is None or shuffle.is_after_cache:
        return None
    if holds_decoded(signals, shuffle):
        return None  # shuffle-after-decode
    found = refill(signals, shuffle)
    if found.share < MIN_SHARE or found.explained_s < MIN_EXPLAINED * found.start_s:
        return None
    if found.held < MIN_BATCHES * found.per_step:
        return None
    gained = gain_of_overlap(
        signals,
        found,
        f"reading goes on beside the model, on {signals.cores:g} cores that they share",
    )
    if gained.likely < MIN_GAIN:
        return None
    return Finding(
        summary=f"`shuffle` takes in {found.held:,} elements before it gives the first",
        where=shuffle.location,
        evidence=(
            Evidence(
                "before the first step of an epoch",
                found.start_s,
                "s",
                found.when,
            ),
            Evidence(
                "elements in the shuffle's buffer",
                found.held,
                "count",
                f"{found.held / found.per_step:.0f} batches",
            ),
            Evidence(
                "of work before it to fill that",
                found.explained_s,
                "s",
                "by tf.data's own model of the pipeline",
            ),
        ),
        gain=gained,
        cost_share=found.share,
        claims=("first_step",) if found.is_once else ("epoch_start", "input_wait"),
        is_of_whole=found.is_once,
        not_found=("a cache before the shuffle", "a map before it that makes elements large"),
    )


def _smaller(found: Refill) -> int:
    """Return a buffer of some batches, as a round number."""
    least = min(MIN_AFTER, max(found.held // 4, 1))
    wanted = max(round(BATCHES_AFTER * found.per_step), least)
    digits = int(10 ** (len(str(wanted)) - 1))
    return min(-(-wanted // digits) * digits, found.held)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Give the shuffle a smaller buffer."""
    shown = Fix(
        title="Hold a few batches in the shuffle, and shuffle the files before they are read",
        kind=FixClass.MAY_CHANGE_RESULTS,
        example=example(__doc__ or "", "Use instead"),
        note="A smaller buffer mixes less: data sorted by class needs a shuffle of its files too.",
    )
    return with_own_sizes(shown, signals)


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Move the shuffle before the maps, or give it a smaller buffer."""
    shuffle, where = signals.shuffle, finding.where
    module = program.find_module(where.file) if where is not None else None
    if where is None or module is None or shuffle is None:
        return []
    size, steady = _smaller(refill(signals, shuffle)), steady_lines(signals, where.file)
    found = (
        shuffle_first(module, where.line, steady=steady, is_repeated=is_repeated(signals)),
        smaller_shuffle(module, where.line, size=size),
    )
    return [change for change in found if change is not None]


def show_shuffle_fill(scene: Scene) -> Reason | None:
    """Tell of a shuffle that takes in much before it gives anything."""
    stage = phases.filling_stage(scene)
    if stage is None:
        return None
    now = phases.phase(scene)
    left = f", {units.seconds(now.left_s)} more" if now.left_s is not None else ""
    return Reason(
        cause="shuffle-buffer-too-big",
        summary=f"`shuffle` gives nothing before its buffer is full: {stage.buffered:,} of"
        f" {now.total or stage.size or 0:,}{left}",
        where=stage.location,
        evidence=(
            Evidence("elements in the buffer", stage.buffered, "count"),
            Evidence("more every second", stage.buffered_per_s, "per_s"),
        ),
        advice="Make the buffer smaller, or shuffle file names before anything is read.",
        moves=True,
    )


def smaller_shuffle(module: Module, line: int, *, size: int) -> Change | None:
    """Return the change that lets the shuffle at a line hold at most `size` elements."""
    found = chain_at(module, line, "shuffle")
    given = argument(found[0].steps[found[1]].call, "buffer_size", 0) if found else None
    if given is None or (isinstance(given, ast.Constant) and given.value in range(size + 1)):
        return None
    return Change(
        "Hold a few batches in the shuffle",
        FixClass.MAY_CHANGE_RESULTS,
        (_with_less(module, given, f"{size:_}"),),
        "A smaller buffer mixes less: data sorted by class needs a shuffle of its files too.",
    )


def _with_less(module: Module, given: ast.expr, size: str) -> Edit:
    if _is_number(given):
        return module.replace(given, size)
    if isinstance(given, ast.Name):
        statement = only_binding(module, given)
        value = value_of_statement(statement) if statement is not None else None
        if value is not None and _is_number(value) and len(reads_in_file(module, given.id)) == 1:
            return module.replace(value, size)
    return module.replace(given, f"min({module.code(given)}, {size})")


def _is_number(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and type(value.value) is int


CAUSE = Cause(
    title="A shuffle takes in too much before it gives anything",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
    changes=changes,
    resource="the shuffle's refill",
    live=(Mechanism(show_shuffle_fill, Proof.FILLING),),
)
