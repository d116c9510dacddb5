"""A small map runs once per element before `batch`, and calling it costs more than its work.

Why it is slow: each call of a map's function goes through TensorFlow's executor, which takes
about ten microseconds whatever the function does. For a few numbers per row and thousands of
rows per step that is nearly all of the time; on a whole batch the same function is called once.

How it shows: a tenth of the step time or more is spent waiting for input, most of the pipeline's
work is in maps of a few microseconds per element, hundreds of times per step, and their
functions hold nothing but cheap operations that whole batches know as well.

Example:
    ds = ds.map(scale, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.batch(2048)

Use instead:
    ds = ds.batch(2048)
    ds = ds.map(scale, num_parallel_calls=tf.data.AUTOTUNE)

Fix class: same results, as long as every operation works on each number by itself. Where a
function combines a number per row with a vector per row, the number needs another axis first;
sums, slices and concatenations need the axis of a batch, `axis=-1` or one more than before.

When it is wrong: decoding, resizing and everything else with real work per element gains
nothing from whole batches and is not reported, nor are random numbers and Python.
"""

from __future__ import annotations

import re

from quickfit.causes._cause import Cause, example, waiting, waits_for_input
from quickfit.causes._shared.own_example import with_own_sizes
from quickfit.causes.input.map_not_vectorised.edit import batch_first
from quickfit.code import Program
from quickfit.findings import Change, Evidence, Finding, Fix, FixClass, Gain, Symptom
from quickfit.signals import Signals
from quickfit.signals.gains import gain, predicted_step_s
from quickfit.signals.input import Stage
from quickfit.signals.python_input import input_threads, is_starved

# The maps must be most of what the pipeline does.
MIN_WORK_SHARE = 0.50
# A map that is called about once per step works on whole batches already. How much the calls cost
# shows in the wait for them.
MIN_CALLS = 4
# A call of a trivial function takes 10 to 20 us, twice that beside other programs.
MAX_CALL_S = 60e-6
# The work itself, by the bytes that come out: copying and converting runs at about 1 GB/s.
BYTE_S = 1e-9
# At least this part of a call must be the calling.
MIN_OVERHEAD_SHARE = 0.6
# The threads of the pipeline must be at work, or what is waited for is not the maps.
MIN_CORES = 0.3
# What is left per element: slicing and copying it into the batch.
COPY_S = (2e-6, 1e-6, 0.5e-6)
# They do to a batch what they do to each of its elements.
ELEMENTWISE = frozenset(
    re.findall(
        r"\w+",
        """
    Abs Acos Add AddV2 Asin Atan Atan2 AsString Bitcast Cast Ceil Cos DecodeRaw DecodePaddedRaw
    Div DivNoNan Elu EnsureShape Equal Erf Exp Expm1 FloorDiv FloorMod Floor Greater
    GreaterEqual Identity IdentityN IsFinite IsInf IsNan LeakyRelu Less LessEqual Log Log1p
    LogicalAnd LogicalNot LogicalOr Maximum Minimum Mod Mul MulNoNan Neg NotEqual OnesLike
    ParseExampleV2 Pow RealDiv Reciprocal Relu Relu6 Rint Round Rsqrt SelectV2 Sigmoid Sign Sin
    Softplus Sqrt Square SquaredDifference StringLower StringStrip StringToHashBucketFast
    StringToNumber StringUpper Sub Tan Tanh TruncateDiv TruncateMod Xdivy Xlogy ZerosLike OneHot
    Const NoOp Placeholder
""",
    )
)
# They are as cheap, but work along an axis or on a shape, which a batch has one more of.
SHAPED = frozenset(
    re.findall(
        r"\w+",
        """
    AddN All Any ArgMax ArgMin BroadcastTo Bucketize ClipByValue ConcatV2 Cumsum DecodeCSV
    ExpandDims Fill GatherV2 L2Loss LookupTableFindV2 Max Mean Min Pack Pad PadV2 Prod Range Rank
    Reshape ReverseV2 Shape Size Slice Softmax Split SplitV Squeeze StridedSlice Sum Tile
    Transpose Unpack
""",
    )
)
# The one operation here whose function has another name for whole batches.
PARSE = "ParseExampleV2"
# Stages that may stand between a map and its batch: they pass elements on as they are.
PASSING = ("shuffle", "repeat", "shuffleandrepeat", "prefetch", "take", "skip", "map")


def detect(signals: Signals) -> Finding | None:
    """Report small maps before the batch that the step waits for."""
    if signals.py_input is not None:
        return None
    maps = _small_maps(signals.stages)
    if not maps or not waits_for_input(signals):
        return None
    work_s, total_s = (sum(s.work_s for s in stages) for stages in (maps, signals.stages))
    threads = input_threads(signals)
    if work_s < MIN_WORK_SHARE * total_s or threads.cores < MIN_CORES or is_starved(signals):
        return None
    slowest = max(maps, key=lambda stage: stage.work_s)
    cpu_s = threads.cores * signals.steps.mean_s / slowest.calls
    return Finding(
        summary=f"`map({slowest.function or '…'})` is called for every element before `batch`",
        where=slowest.location,
        evidence=(
            waiting(signals),
            Evidence(
                "in this map per step",
                slowest.work_s,
                "s",
                f"{slowest.calls:.0f} calls of {slowest.work_s / slowest.calls * 1e6:.0f} µs",
            ),
            Evidence(
                "of CPU time in the pipeline's threads per element",
                cpu_s,
                "s",
                f"for {_element_bytes(slowest):.0f} bytes that come out",
            ),
        ),
        gain=_gain(maps, signals),
        cost_share=signals.wait.share,
        claims=("input_wait",),
        not_found=("costly operations, random numbers or Python in the map",),
    )


def _small_maps(stages: list[Stage]) -> list[Stage]:
    """Return the maps between the source and the batch that cost nothing but their calls."""
    found: list[Stage] = []
    is_below_batch = False
    for stage in stages:  # from the consumer to the source
        if stage.carries("batch"):
            is_below_batch = True
            found = []
        if is_below_batch and stage.carries("map"):
            if not _is_small(stage):
                return []
            found.append(stage)
        elif is_below_batch and not (stage.carries("batch") or stage.kind in PASSING):
            break  # below a filter, a cache or an interleave another order may mean another result
    return [stage for stage in found if stage.location is not None]


def _is_small(stage: Stage) -> bool:
    maps = [operation.facts for operation in stage.operations if operation.kind == "map"]
    is_plain = all(
        set(facts.get("ops") or ["unknown"]) <= ELEMENTWISE | SHAPED
        and not facts.get("is_stateful")
        and not facts.get("runs_python")
        for facts in maps
    )
    if not is_plain or stage.calls < MIN_CALLS:
        return False
    call_s = stage.work_s / stage.calls
    return call_s <= MAX_CALL_S and _element_bytes(stage) * BYTE_S <= call_s * (
        1 - MIN_OVERHEAD_SHARE
    )


def _element_bytes(stage: Stage) -> float:
    """Return the size of one element, also of a map that is fused with its batch."""
    return stage.element_bytes * stage.per_step / stage.calls


def _gain(maps: list[Stage], signals: Signals) -> Gain:
    work = signals.work
    calls = max(stage.calls for stage in maps)
    bytes_s = sum(_element_bytes(stage) * stage.calls for stage in maps) * BYTE_S
    after = []
    for copy_s, faster, cores in zip(COPY_S, work.with_relief(), work.cores_after(), strict=True):
        # Slicing and copying stay on one thread.
        left_s = calls * copy_s + bytes_s
        after.append(predicted_step_s(faster, input_s=left_s, input_cpu_s=left_s, cores=cores))
    basis = f"one call per batch instead of {calls:.0f}; slicing and copying stay"
    return gain(work.step_s, (after[0], after[1], after[2]), basis)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Put the batch before the map."""
    if finding.where is None:
        return None
    maps = _small_maps(signals.stages)
    ops = {name for stage in maps for name in stage.fact("ops") or ()}
    shown = Fix(
        title="Batch first, and map whole batches",
        kind=FixClass.EQUIVALENT,
        example=example(__doc__ or "", "Use instead"),
        note=_note(ops),
    )
    return with_own_sizes(shown, signals)


def _note(ops: set[str]) -> str:
    if PARSE in ops:
        return "`tf.io.parse_single_example` becomes `tf.io.parse_example`."
    if ops & SHAPED:
        return "Axes and shapes in the function need those of a batch: one more, at the front."
    return "A number per row that meets a vector per row needs `[:, None]` first."


def changes(finding: Finding, signals: Signals, program: Program) -> list[Change]:
    """Put the batch before the map."""
    where = finding.where
    module = program.find_module(where.file) if where is not None else None
    if where is None or module is None:
        return []
    change = batch_first(module, where.line)
    return [change] if change is not None else []


CAUSE = Cause(
    title="A small map runs once per element",
    symptom=Symptom.SLOW,
    detect=detect,
    fix=fix,
    changes=changes,
    resource="the overhead of single elements",
)
