"""Offers about how a step is run: compiled by XLA, or several of them in one call."""

from __future__ import annotations

from quickfit import units
from quickfit.code.module import Module
from quickfit.errors import SignalMissing
from quickfit.findings import Location
from quickfit.fixing.tuned_edits import Made, with_steps, with_xla, with_xla_function
from quickfit.fixing.tuned_offer import Offer
from quickfit.fixing.tuned_watched import Watched
from quickfit.signals.compiling import is_jit, main_cpu_s
from quickfit.tuning.advice.result import ChangeKind

# The larger one first: where it gains nothing, the smaller one gains nothing either.
STEPS = (32, 8)
# Where Python takes less of a step than this, fewer calls from Python gain nothing.
MIN_PYTHON_SHARE = 0.04
# In shorter steps threads also wait for each other in every call, which is no CPU time.
LONG_S = 0.05
EAGER = "the step runs eagerly, which costs far more: `quickfit fix` repairs that first"
UNSEEN = (
    "where the model is compiled was not seen (a model that was loaded?);"
    " call `model.compile(...)` in the script"
)
NO_FIT = "only `fit` runs several steps in one call, and this training is a loop of its own"


def xla_offer(watched: Watched) -> Offer:
    """Return the offer to compile the step with XLA."""
    return Offer(ChangeKind.XLA, "XLA (jit_compile)", {"jit": True}, _xla(watched))


def _xla(watched: Watched) -> Made:
    if watched.signals.is_eager or watched.facts.get("eager_loop"):
        return EAGER
    if is_jit(watched.signals):
        return "XLA compiles the step already"
    if watched.loop.kind not in ("fit", "train_on_batch"):
        return _xla_of_function(watched)
    place = _compile_place(watched)
    return place if isinstance(place, str) else with_xla(*place, watched.project)


def _compile_place(watched: Watched) -> tuple[Module, int] | str:
    where = watched.compiled_at
    if where is None:
        return UNSEEN
    script = watched.script(where)
    return (script, where.line) if script is not None else _not_yours(where)


def _not_yours(where: Location) -> str:
    return f"{where.short} is in a file that is not yours, or has changed since it was run"


def _xla_of_function(watched: Watched) -> Made:
    """Compile the function in which a loop of the script spends most of its time."""
    calls = [c for c in watched.signals.calls if c.kind == "function" and c.loop == watched.loop.id]
    if not calls:
        return "this loop calls no `tf.function`; `quickfit fix` can make one of its step"
    name = calls[0].name
    traces = [t for t in watched.signals.traces if t.name == name and t.location is not None]
    where = traces[0].location if traces else None
    if where is None:
        return f"where the compiled function `{name}` is written was not seen"
    script = watched.script(where)
    return with_xla_function(script, where.line) if script is not None else _not_yours(where)


def step_offers(watched: Watched) -> list[Offer]:
    """Return the offers to run several steps in one call."""
    return [
        Offer(
            ChangeKind.STEPS,
            f"{steps} steps per call",
            {"steps_per_execution": steps},
            _steps(watched, steps),
        )
        for steps in STEPS
    ]


def _steps(watched: Watched, steps: int) -> Made:
    if watched.loop.kind != "fit":
        return NO_FIT
    if watched.signals.is_eager:
        return EAGER
    now = watched.signals.steps_per_execution
    if steps <= now:
        return f"the script runs {now} steps per call already"
    if watched.epoch_steps is not None and steps > watched.epoch_steps:
        return f"an epoch has only {watched.epoch_steps} steps"
    small = _too_little_python(watched)
    if small:
        return small
    place = _compile_place(watched)
    if isinstance(place, str):
        return place
    return with_steps(*place, steps, watched.project, works_on_batches=watched.works_on_batches)


def _too_little_python(watched: Watched) -> str:
    """Return why fewer calls from Python cannot gain anything; nothing where they may."""
    try:
        steps = watched.signals.steps
        share = (main_cpu_s(watched.signals) + steps.mean_of("callbacks_s")) / steps.mean_s
    except SignalMissing:
        return ""
    if steps.mean_s < LONG_S or share >= MIN_PYTHON_SHARE:
        return ""
    of = f"of a step of {units.seconds(steps.mean_s)}"
    return f"Python takes only {units.share(share)} {of}, so that fewer calls gain nothing"
