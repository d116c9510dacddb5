"""Diagnoses in one line, for the tests of every report format."""

from __future__ import annotations

from dataclasses import replace

from quickfit.findings import (
    AccountNode,
    Breakdown,
    BreakdownPart,
    Clear,
    DeviceVerdict,
    Diagnosis,
    EarlyVerdict,
    Evidence,
    Exhaustion,
    Finding,
    Fix,
    FixClass,
    Gain,
    Location,
    MemoryAccount,
    MemoryGrowth,
    MemoryNode,
    NotChecked,
    Overhead,
    Phase,
    RunOutcome,
    Severity,
    Symptom,
    TurboPlace,
)

CPU_ONLY = DeviceVerdict(
    status="cpu-only",
    summary="CPU only: this machine has no accelerator; TensorFlow uses 2 CPU cores",
)
UNUSED_GPU = DeviceVerdict(
    status="unused",
    summary="1 GPU in this machine is not used: TensorFlow sees only the CPU",
    machine=("NVIDIA A100-SXM4-40GB",),
    facts=(
        "the machine has: NVIDIA A100-SXM4-40GB (driver 550.54)",
        "the installed wheel is tensorflow-cpu 2.21.0, which cannot use a GPU",
    ),
    advice="Install the wheel with CUDA: pip install 'tensorflow[and-cuda]==2.21.0'",
)
BREAKDOWN = Breakdown(
    steps=412,
    step_s=0.100,
    step_spread_s=0.008,
    warmup_steps=3,
    parts=(
        BreakdownPart("compute", "training step", 0.034, 0.34),
        BreakdownPart("input", "waiting for input", 0.061, 0.61),
        BreakdownPart("callbacks", "callbacks", 0.004, 0.04),
        BreakdownPart("host", "Keras between steps", 0.0004, 0.004),
    ),
    time_to_first_step_s=8.2,
)
PHASES = (
    Phase("imports", "imports", 3.1),
    Phase("data", "data", 0.4, "train.py:12"),
    Phase("model", "model", 0.05),
    Phase("other", "other Python", 0.3, "train.py:20"),
    Phase("tracing", "tracing", 1.2),
    Phase("shuffle_fill", "shuffle fill", 2.5, "10,000 elements, train.py:31"),
    Phase("first_batch", "first batch", 0.2),
    Phase("first_step", "first step", 0.45),
)
COMPUTE_BREAKDOWN = replace(
    BREAKDOWN,
    parts=(
        BreakdownPart("compute", "training step", 0.097, 0.97),
        BreakdownPart("input", "waiting for input", 0.002, 0.02),
    ),
)
OVERHEAD = Overhead(
    step_cpu_s=6e-6,
    threads_core_share=0.003,
    threads_cpu_s=0.14,
    probes=(("fit_loop", "active"),),
    hooks=(("keras.src.trainers.trainer.Trainer.compile", "active"),),
)


# The working directory of the recorded run; the fixture `at_home` makes it that of the report.
HOME = "/home/ada/project"


def here(name: str) -> str:
    """Return an absolute path below `HOME`, as recordings hold them."""
    return f"{HOME}/{name}"


def generator_finding(**changes: object) -> Finding:
    """Return a severe finding of `py-generator-input`, with a fix shown as an example."""
    return replace(
        _GENERATOR,
        where=Location(here("train.py"), 88, "    model.fit(batches(), epochs=3)"),
        **changes,
    )


def map_finding(**changes: object) -> Finding:
    """Return a finding of `sequential-map`, whose fix is a change of the user's own line."""
    where = Location(here("input/pipeline.py"), 41, "ds = ds.map(decode)")
    return replace(_MAP, **{"where": where, **changes})


def memory_finding(**changes: object) -> Finding:
    """Return a finding about memory that runs out, which costs no time until it has."""
    where = Location(here("train.py"), 52, "    losses.append(loss)")
    return replace(_MEMORY, **{"where": where, **changes})


def callback_mention(**changes: object) -> Finding:
    """Return a finding that is only worth one line."""
    return replace(_MENTION, where=Location(here("train.py"), 61), **changes)


def turbo_places() -> tuple[TurboPlace, ...]:
    """Return one place of every state that `--turbo` leaves a place in."""
    here_at = [Location(here("train.py"), line) for line in (12, 30, 31, 40, 41)]
    timed = {"unit": "step", "on_count": 300, "on_s": 0.01}
    return (
        TurboPlace(
            "predict",
            "`predict` of one batch without a pipeline",
            "kept",
            here_at[0],
            cause="predict-in-loop",
            on_count=141,
            on_s=0.001,
            off_count=8,
            off_s=0.15,
            saved_s=21.0,
        ),
        TurboPlace(
            "dataset",
            "what `map(work)` gives kept in memory",
            "kept",
            here_at[1],
            cause="missing-cache",
            off_s=0.03,
            saved_s=6.0,
            **timed,
        ),
        TurboPlace(
            "iterator-end",
            "the ends of iterators waited for on another thread",
            "kept",
            here_at[3],
            unit="iterator",
            on_count=17,
            saved_s=1.5,
        ),
        TurboPlace("iterator-end", "too short", "kept", None, unit="iterator", saved_s=0.01),
        TurboPlace("dataset", "not timed", "open", here_at[2], unit="step"),
        TurboPlace("dataset", "no gain", "dropped", here_at[3], off_s=0.0101, **timed),
        TurboPlace("dataset", "`map(augment)`", "left", here_at[4], "it draws random numbers"),
    )


def diagnosis(*findings: Finding, **changes: object) -> Diagnosis:
    """Return the diagnosis of a plainly finished run with these findings."""
    base = Diagnosis(
        run=here(".quickfit/runs/train-20261104-021530.qfrun"),
        script="train.py",
        verdict="findings" if findings else "compute-bound",
        headline="slow: 61 % of the training time is spent waiting for input"
        if findings
        else "compute-bound: the model is the limit; nothing here is worth fixing",
        device=CPU_ONLY,
        breakdown=BREAKDOWN if findings else COMPUTE_BREAKDOWN,
        findings=findings,
        clear=(Clear("run-eagerly-on"), Clear("retrace-shapes"), Clear("shuffle-after-decode")),
        not_checked=(),
        overhead=OVERHEAD,
        outcome=RunOutcome("finished", exit_code=0),
        account=account() if findings else None,
    )
    return replace(base, **changes)


def account() -> AccountNode:
    """Return where the time of a run of 60 seconds went."""
    fit = Location(here("train.py"), 88, "model.fit(batches(), epochs=3)")
    line = Location(here("train.py"), 31, "image = image.resize((160, 160))")
    stage = _node("input_line", line.text, 25.0, where=line, detail="1,450 samples", loop=1)
    wait = _node("input_wait", "waiting for input", 30.0, children=(stage,), where=line, loop=1)
    wait = replace(wait, low_s=29.0, high_s=31.0, limited_by="one Python thread makes all batches")
    step = _node("step", "the train step", 17.0, count=415, where=fit, loop=1)
    parts = (wait, step, _node("callbacks", "callbacks", 2.0, loop=1))
    return _node(
        "run",
        "the run",
        60.0,
        count=1,
        children=(
            _node(
                "before_training",
                "before training",
                8.0,
                children=(_node("imports", "imports", 6.0),),
            ),
            _node("loop", "fit", 49.0, count=415, where=fit, loop=1, children=parts),
            _node("after_training", "after training", 3.0),
        ),
    )


def _node(name: str, label: str, seconds: float, **given: object) -> AccountNode:
    return AccountNode(name, label, seconds, seconds, seconds, seconds / 60.0, **given)


MEMORY = MemoryAccount(
    at_s=1042.5,
    bytes=2.2e9,
    end_bytes=2.1e9,
    limit_bytes=8 * 10**9,
    growth=(MemoryGrowth("step", 8.4e6, 8.3e6, 8.6e6),),
    parts=(
        MemoryNode(
            "script",
            "held by names of the script",
            1.5e9,
            0.68,
            parts=(
                MemoryNode(
                    "history",
                    "`history`",
                    1.5e9,
                    0.68,
                    growth=(MemoryGrowth("step", 8.4e6, 8.3e6, 8.6e6),),
                    where=Location("/home/user/train.py", 22, "history.append(h)"),
                    detail="180 things, mostly tensors",
                ),
            ),
        ),
        MemoryNode("libraries", "code, libraries and what was set up before", 6e8, 0.27),
        MemoryNode("rest", "weights, activations and the pools of TensorFlow", 1e8, 0.05),
    ),
)


def full_diagnosis() -> Diagnosis:
    """Return a diagnosis that uses every part of a report."""
    after = Gain(1.1, 1.2, 1.3, "the step is shorter by then")
    return diagnosis(
        generator_finding(),
        map_finding(after_first=after),
        callback_mention(),
        device=UNUSED_GPU,
        not_checked=(
            NotChecked("thermal-throttle", "no GPU readings (libnvidia-ml.so.1 not found)"),
            NotChecked("gpu-shared", "no GPU readings (libnvidia-ml.so.1 not found)"),
            NotChecked("slow-storage", "the run ended before its first epoch did"),
        ),
        overhead=replace(OVERHEAD, probes=(("stacks", "off: it cost 2.1 % of a core"),)),
        outcome=RunOutcome("signal SIGINT", signal="SIGINT"),
        advice=("Larger batches: 32 images fill 40 % of the cores.",),
        notes=("The machine was busy: other processes took 18 % of the cores.",),
        early=EarlyVerdict("compute-bound: the model is the limit", at_step=20, held=False),
        phases=PHASES,
        memory=MEMORY,
    )


_GENERATOR = Finding(
    cause="py-generator-input",
    title="A Python generator cannot keep up with the model",
    severity=Severity.SEVERE,
    summary="`model.fit` waits for the Python generator `batches`, which makes one batch at a time",
    where=None,
    evidence=(
        Evidence("step time spent waiting for input", 0.61, "share", "61 of 100 ms, 412 steps"),
        Evidence("time to make one batch in `batches`", 0.097, "s", "one Python thread"),
        Evidence("samples of the input thread inside PIL", 0.83, "share", "1,204 of 1,450 stacks"),
    ),
    gain=Gain(1.4, 1.9, 2.5, "decoding moves to two native threads that share the cores"),
    cost_share=0.58,
    claims=("input",),
    fix=Fix(
        title="Read and decode the images with tf.data instead of PIL",
        kind=FixClass.EQUIVALENT,
        example="ds = tf.data.Dataset.from_tensor_slices((paths, labels))\n"
        "ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE)\n"
        "ds = ds.batch(32).prefetch(tf.data.AUTOTUNE)",
        note="PIL and TensorFlow resize differently; keep the filter you trained with.",
    ),
    not_found=("slow disk: reads took 2 % of the time",),
)
_MAP = Finding(
    cause="sequential-map",
    title="A map runs on one thread",
    severity=Severity.REPORT,
    summary="`map(decode)` runs on one thread",
    where=None,
    evidence=(
        Evidence("step time spent waiting for input", 0.17, "share", "17 of 100 ms"),
        Evidence("time in this map per batch", 0.052, "s"),
    ),
    gain=Gain(1.1, 1.3, 1.5, "the map shares the cores with the step"),
    cost_share=0.16,
    claims=("input",),
    fix=Fix(
        title="Run the map on several threads",
        kind=FixClass.SAME_RESULTS,
        before="    ds = ds.map(decode)",
        after="    ds = ds.map(\n        decode, num_parallel_calls=tf.data.AUTOTUNE)",
    ),
)
_MEMORY = Finding(
    cause="tensor-list-growth",
    title="Tensors are kept step after step",
    symptom=Symptom.MEMORY,
    severity=Severity.SEVERE,
    summary="3 tensors are kept with every step",
    where=None,
    evidence=(
        Evidence("more memory in use", 1.24e9, "bytes", "in 40 s after warm-up, to the end"),
        Evidence("more tensors are alive", 1200, "count", "3 with every step"),
    ),
    gain=Gain(1.0, 1.0, 1.0, ""),
    cost_share=0.0,
    fix=Fix(
        title="Keep numbers instead of tensors, or a running mean",
        kind=FixClass.SAME_RESULTS,
        example="losses.append(float(loss))",
    ),
    exhaustion=Exhaustion("memory", "bytes", 1.24e9, 3.1e6, 5.3e6, 8e9, 1500.0),
)
_MENTION = Finding(
    cause="callback-batch-slow",
    title="A callback does much work after every batch",
    symptom=Symptom.SLOW,
    severity=Severity.MENTION,
    summary="`Plot.on_train_batch_end` takes 6 % of the time",
    where=None,
    evidence=(Evidence("time in this callback per step", 0.006, "s"),),
    gain=Gain(1.05, 1.06, 1.07, "the callback runs on the main thread"),
    cost_share=0.06,
)
