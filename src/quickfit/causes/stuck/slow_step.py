"""The run is not stuck: one step computes, and takes very long.

Why it is slow: Keras's bar moves once per step. A step with a huge batch, a large model on a CPU,
or many batches in one call (`steps_per_execution`) may take minutes, in which nothing is seen.

How it shows: the main thread is inside a compiled function of TensorFlow, at least half a core is
busy, and no input, lock, read or tracing explains the silence. How long the longest step before
took is told beside it.

Example:
    model.compile("adam", loss="mse", steps_per_execution=500)
    model.fit(x, y, batch_size=4096)

Use instead:
    model.compile("adam", loss="mse", steps_per_execution=20)
    model.fit(x, y, batch_size=64)

Fix class: shown only. Another batch size changes how the model learns; a number of
`steps_per_execution` does not.

When it is wrong: a compiled function that never ends looks the same from outside, for as long as
it uses the CPU. A step that stands still without using it is not called slow.
"""

from __future__ import annotations

from quickfit import units
from quickfit.causes._cause import Cause, silence_finding
from quickfit.findings import Evidence, Finding, Fix, FixClass, Symptom
from quickfit.liveness import phases
from quickfit.liveness.reason import Mechanism, Proof, Reason
from quickfit.liveness.scene import Scene
from quickfit.signals import Signals

# What a step keeps busy at least; on a busy machine it does not get more.
BUSY_CORES = 0.15
MIN_STILL_S = 5.0


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "slow-step")


def show_slow_step(scene: Scene) -> Reason | None:
    """Tell of a step that runs, and takes long."""
    loop, main = scene.loop, scene.main
    if main is None or not phases.is_executing(main):
        return None
    if (scene.machine.cores or 0.0) < BUSY_CORES or (loop is None and scene.steps):
        return None
    if scene.still_s < MIN_STILL_S or phases.input_works(scene):
        return None  # something else moves: a loop that predicts, a pipeline
    lasted_s = min(scene.quiet_s, scene.still_s)
    usual = f"the longest before took {units.seconds(scene.longest_s)}" if scene.longest_s else ""
    return Reason(
        cause="slow-step",
        summary=f"one step takes more than {units.seconds(lasted_s)}",
        where=scene.place(main.user_frame) or (loop.location if loop is not None else None),
        evidence=(
            Evidence("cores busy meanwhile", scene.machine.cores or 0.0, "factor"),
            Evidence("since anything else moved", lasted_s, "s", usual),
        ),
        advice="A smaller batch or model makes steps shorter; `quickfit run --steps 20` shows"
        " where the time goes.",
        moves=True,
        lasted_s=lasted_s,
    )


CAUSE = Cause(
    title="Not stuck: one step takes long",
    symptom=Symptom.STUCK,
    detect=detect,
    advice=Fix("Make the work of one step smaller, or wait", FixClass.SHOW_ONLY),
    live=(Mechanism(show_slow_step, Proof.ELIMINATION),),
)
