"""All settings that can be tried on a script that was watched, in the order of trying."""

from __future__ import annotations

from collections.abc import Mapping

from quickfit.fixing.tuned_batches import batch_offers
from quickfit.fixing.tuned_edits import Made, with_policy, with_threads
from quickfit.fixing.tuned_offer import Offer
from quickfit.fixing.tuned_steps import step_offers, xla_offer
from quickfit.fixing.tuned_watched import Watched
from quickfit.tuning.advice.result import ChangeKind
from quickfit.tuning.precision.hardware import Gpu, Hardware, Prospect, prospect_of, read_cpu

UNSCALED = (
    "only `fit` scales the loss by itself, which float16 needs;"
    " `quickfit.tuning.make_train_step` makes such a step"
)
NO_MAIN = "the file that is run has changed since, or is not a file of Python"


def offers_of(watched: Watched, tries: frozenset[str] = frozenset()) -> list[Offer]:
    """Return every setting, with its edit or why there is none.

    Args:
        watched: the script as it was watched.
        tries: kinds that are tried although the machine speaks against them.
    """
    # What gains most in the least time comes first: XLA compiles for long before every pair, and
    # 16 bits are offered only where the hardware promises much.
    return [
        *step_offers(watched),
        *batch_offers(watched),
        _precision_offer(watched, is_wanted=ChangeKind.PRECISION.value in tries),
        xla_offer(watched),
        *_thread_offers(watched),
    ]


def _thread_offers(watched: Watched) -> list[Offer]:
    cores = int(watched.signals.cores)
    if cores < 2:
        return [Offer(ChangeKind.THREADS, "threads", {}, "there is one core, and threads share it")]
    return [_threads(watched, "inter", 1), _threads(watched, "intra", max(cores // 2, 1))]


def _threads(watched: Watched, pool: str, threads: int) -> Offer:
    made: Made = NO_MAIN
    if watched.main is not None:
        made = with_threads(watched.main, pool, threads, watched.project)
    return Offer(
        ChangeKind.THREADS, f"{pool}-op threads {threads}", {f"{pool}_threads": threads}, made
    )


def _precision_offer(watched: Watched, *, is_wanted: bool) -> Offer:
    prospect = _prospect(watched.signals.process.facts)
    made: Made = f"{prospect.reason}; --try precision measures it all the same"
    if prospect.is_candidate or is_wanted:
        made = NO_MAIN
        if prospect.policy == "mixed_float16" and watched.loop.kind != "fit":
            made = UNSCALED
        elif watched.main is not None:
            made = with_policy(watched.main, prospect.policy, watched.project)
    return Offer(ChangeKind.PRECISION, prospect.policy, {"policy": prospect.policy}, made)


def _prospect(facts: Mapping[str, object]) -> Prospect:
    """Return what the devices that TensorFlow used promise; a recording names them only."""
    devices = facts.get("tensorflow_devices")
    names = [tuple(one) for one in devices] if isinstance(devices, list) else []
    gpus = tuple(Gpu(str(one[1]), None) for one in names if one[0] == "GPU")
    flags, cpu = read_cpu()
    return prospect_of(Hardware(gpus, sum(one[0] == "TPU" for one in names), flags, cpu))
