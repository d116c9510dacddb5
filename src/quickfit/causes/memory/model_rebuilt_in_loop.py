"""A model is built in every round of a loop, and what the rounds before built is not freed.

Why it is slow: every model brings its variables, its optimizer's state and the graphs of its train
step. A `History` that is kept holds its model. And where nothing is kept, TensorFlow itself does
not give back what a compiled train step refers to: on TensorFlow 2.21 a model of 2.2 million
weights with Adam left 33 MB per round, with `clear_session`, `del` and `gc.collect()` as without
(25 rounds each). A search over hyperparameters or folds grows by one model per round.

How it shows: `fit` is called ten times or more at one line, most of the calls trace a train step
of their own, memory after each round is higher than after the one before, in the first half of the
rounds as in the second, and models or graphs that are alive grow with them.

Example:
    for rate in rates:
        model = build()
        model.compile(keras.optimizers.Adam(rate), loss="mse")
        results.append(model.fit(x, y))

Use instead:
    import concurrent.futures, multiprocessing

    spawned = multiprocessing.get_context("spawn")
    for rate in rates:
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawned) as pool:
            results.append(pool.submit(train_one, rate).result())

Fix class: same results. A process gives everything back when it ends; `train_one` builds, trains
and returns `history`, which is numbers, and not the `History`, which holds its model. Where only
the learning rate or the data differ, build one model and set its weights, and the variables of its
optimizer, back before each round: that needs no process and no second trace.

When it is wrong: a few folds end before it matters, and nothing is reported below ten rounds.
"""

from __future__ import annotations

from collections.abc import Iterator

from quickfit.causes._cause import Cause, example, running_out
from quickfit.findings import Effect, Evidence, Finding, Fix, FixClass, Spotted, Symptom
from quickfit.patterns.rebuilds import Rebuild, loaded_again, searched
from quickfit.program import Module, Program
from quickfit.program.conditions import never_runs
from quickfit.program.purposes import is_for_tests
from quickfit.signals import Signals
from quickfit.signals.model_rounds import Rounds, is_growing, model_rounds

# A last round that takes so much longer than the first ones is worth a word.
MIN_SLOWER = 1.2


def detect(signals: Signals) -> Finding | None:
    """Report models that are built in a loop while memory grows from round to round."""
    rounds = model_rounds(signals)
    if rounds is None or not is_growing(rounds):
        return None
    return running_out(
        rounds.exhaustion(signals),
        f"a model is built in each of {rounds.rounds} rounds, and memory is not given back",
        rounds.location,
        *_evidence(rounds),
    )


def scan(module: Module, program: Program) -> Iterator[Spotted]:
    """Report models that each turn of a loop makes: for nothing, or without freeing them."""
    if is_for_tests(module):
        return
    for found in (*loaded_again(program, module), *searched(program, module)):
        if never_runs(program, module, found.call):
            continue
        loop = found.around
        yield Spotted(
            where=module.span(found.call),
            summary=_said(module, found),
            effect=Effect.SLOW,
            related=((loop.module.span(loop.loop), "the loop"),) if loop.calls else (),
            is_hint=found.kind == "dropped" or (found.kind == "kept" and found.rounds is None),
        )


def _said(module: Module, found: Rebuild) -> str:
    line = found.around.line
    if found.kind == "same":
        made = module.code(found.call.func)
        return f"`{made}` makes the same model again in each turn of the loop at line {line}"
    rounds = f"{found.rounds} turns" if found.rounds is not None else "turns"
    if found.kind == "kept":
        return (
            f"what `fit` returns is kept in all {rounds} of the loop at line {line}, and with it "
            "the model of each"
        )
    return f"each of the {rounds} of the loop at line {line} builds a model, and nothing frees it"


def _evidence(rounds: Rounds) -> tuple[Evidence, ...]:
    found = [
        Evidence("more memory in use after every round", rounds.per_round, "bytes"),
        Evidence("calls of `fit`, each with a model of its own", rounds.rounds, "count"),
    ]
    for kind, per_round in rounds.alive.items():
        said = "kept, or not collected yet"
        found.append(Evidence(f"more {kind} are alive per round", per_round, "count", said))
    first_s, last_s = rounds.round_s
    if first_s and last_s >= MIN_SLOWER * first_s:
        slower = f"the first rounds took {first_s:.1f} s, the last {last_s:.1f} s"
        found.append(
            Evidence("as long takes a round at the end", last_s / first_s, "factor", slower)
        )
    return tuple(found)


def fix(finding: Finding, signals: Signals) -> Fix | None:
    """Show how to give each round a process, which frees what nothing else does."""
    rounds = model_rounds(signals)
    note = "Where only a number or the data differ, build once and set the weights back each round."
    if rounds is not None and rounds.clears:
        note = f"`clear_session` is called already, and memory grows all the same. {note}"
    return Fix(
        title="Give each round a process of its own: what it took is freed when it ends",
        kind=FixClass.SAME_RESULTS,
        example=example(__doc__ or "", "Use instead"),
        note=note,
    )


CAUSE = Cause(
    title="Models are built in a loop and not freed",
    symptom=Symptom.MEMORY,
    detect=detect,
    scan=scan,
    fix=fix,
)
