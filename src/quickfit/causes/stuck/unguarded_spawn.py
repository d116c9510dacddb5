"""Workers started by spawn run the script again from its first line instead of working.

Why it is slow: a worker that is spawned, or comes from a fork server, is a new Python. It imports
the script to find its functions. If the script does its work at the top level, the worker loads
the data, builds the model and tries to start workers itself, which Python refuses: it dies, the
pool starts another one, and so on. The script waits for an answer that never comes.

How it shows: processes below the script are seen inside the script's own top level, called from
`multiprocessing/spawn.py`; they come and go, or stay there; and the line at which the script starts
them is not inside an `if __name__ == "__main__":`.

Example:
    import multiprocessing

    pool = multiprocessing.get_context("spawn").Pool(4)
    images = pool.map(load_image, paths)
    model.fit(stack(images), labels)

Use instead:
    import multiprocessing

    def main():
        with multiprocessing.get_context("spawn").Pool(4) as pool:
            images = pool.map(load_image, paths)
        model.fit(stack(images), labels)

    if __name__ == "__main__":
        main()

Fix class: shown only. Everything that starts, loads or trains goes below the guard; what the
workers need (functions, constants, imports) stays above it.

When it is wrong: the workers of a guarded script import it too, which takes seconds where it
imports TensorFlow. So the text of the script decides: where the line that starts the workers is
guarded by `__name__`, or asks `parent_process` or `current_process`, nothing is said.
"""

from __future__ import annotations

from quickfit.causes._cause import Cause, silence_finding
from quickfit.code.lines import is_guarded, line_above
from quickfit.findings import Evidence, Finding, Fix, FixClass, Location, Symptom
from quickfit.liveness.reason import Mechanism, Proof, Reason
from quickfit.liveness.scene import Frame, Scene
from quickfit.signals import Signals

# A worker that is younger may still be starting.
MIN_AGE_S = 4.0
# Workers that come and go: so many new ones, all of them young.
MIN_BORN = 6
YOUNG_S = 6.0


def detect(signals: Signals) -> Finding | None:
    """Report what was seen while the run was quiet."""
    return silence_finding(signals, "unguarded-spawn")


def show_script_run_again(scene: Scene) -> Reason | None:
    """Tell of spawned workers that run the script again instead of working."""
    again = [child for child in scene.children if child.runs_script]
    # The workers of a guarded script import it too, and are inside it for seconds.
    again = again if _is_unguarded(scene) else []
    young = [child for child in scene.children if child.age_s < YOUNG_S and not child.is_fork]
    is_churning = scene.children_born >= MIN_BORN and len(young) > 0
    if not again or not (is_churning or len(again) > 1 or scene.still_s > MIN_AGE_S):
        return None
    frame = next((f for child in again for f in child.frames if f.is_user), None)
    main = scene.main
    starter = main.user_frame if main is not None else None
    return Reason(
        cause="unguarded-spawn",
        summary="workers started by spawn run the whole script again: it has no"
        ' `if __name__ == "__main__":`',
        where=_started_at(scene, starter) or scene.place(frame),
        evidence=(
            Evidence("workers that are in the script's own top level", len(again), "count"),
            Evidence("processes started so far", scene.children_born, "count"),
        ),
        advice='Put what the script does into `if __name__ == "__main__":`.',
        also=scene.place(frame),
        is_certain=True,
    )


def _is_unguarded(scene: Scene) -> bool:
    """Tell whether the script starts its workers where these come by when they import it."""
    frames = scene.main.frames if scene.main is not None else ()
    top = [frame for frame in frames if frame.is_user and frame.function == "<module>"]
    text = scene.sources.get(top[-1].file, "") if top else ""
    return bool(text) and not is_guarded(text, top[-1].line)


def _started_at(scene: Scene, frame: Frame | None) -> Location | None:
    """Return the line that starts workers, at or above the one that waits for them."""
    if frame is None:
        return None
    starts = r"\b(Pool|Process|ProcessPoolExecutor)\s*\("
    line = line_above(scene.sources.get(frame.file, ""), frame.line, starts, most=20)
    return scene.at(frame.file, line or frame.line)


CAUSE = Cause(
    title="Workers run the whole script again",
    symptom=Symptom.STUCK,
    detect=detect,
    advice=Fix('Put what the script does below `if __name__ == "__main__":`', FixClass.SHOW_ONLY),
    live=(Mechanism(show_script_run_again, Proof.NAMED),),
)
