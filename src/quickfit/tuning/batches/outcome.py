"""From a search to its plan: a recommendation, or why there is none."""

from __future__ import annotations

from dataclasses import replace

from quickfit import units
from quickfit.tuning.batches.confirming import Confirmed, confirmed
from quickfit.tuning.batches.notes import notes
from quickfit.tuning.batches.plan import BatchPlan
from quickfit.tuning.batches.rows import Row
from quickfit.tuning.batches.search import MAX_RESIDUAL, Search
from quickfit.tuning.batches.starting import begin_search

# A budget for so many starts is enough for the usual number of sizes on two cores.
SIZES_WORTH = 10
_INTERRUPTED = "interrupted; the table has what was measured until then"


def outcome(search: Search) -> BatchPlan:
    """Return the plan that a search comes to; where it is interrupted, with what it has.

    Raises:
        ModelError: the model does not train with any size.
    """
    found, reason = None, ""
    try:
        begin_search(search)
        search.measure()
        reason = refusal(search)
        if not reason:
            found = confirmed(search)
            reason = "" if found else _nothing_ran(search)
    except KeyboardInterrupt:
        reason = _INTERRUPTED
    finally:
        search.crew.close()
    return _plan(search, found, reason)


def refusal(search: Search) -> str:
    """Return why the measurements are no ground for a choice; nothing where they are."""
    ran = [row for row in search.rows if row.is_measured]
    is_cut = search.is_cut or any(not row.words and not row.steps_s for row in search.rows)
    if is_cut and len(ran) == 1:
        within, wanted_s = search.question.budget_s, _needed_s(search)
        words = search.cut_words or "the next one was not measured in time"
        return (
            f"budget_s={within:g} was enough for batch {ran[0].batch} alone: {words}. "
            f"Give budget_s={wanted_s}"
        )
    if search.question.mode == "max" or search.misfit <= MAX_RESIDUAL:
        return ""
    off = units.share(search.misfit)
    what = (
        f"the times of a step do not lie on a rising line ({off} off, more than 20 %)"
        if search.time is not None
        else f"the rounds differ from each other by {off}, more than 20 %"
    )
    words = search.load.words
    then = (
        "Try again when the machine is free, or give a larger budget_s"
        if search.load.is_busy
        else "Give a larger budget_s, or choose from the table yourself"
    )
    return f"{what}; {words}. {then}" if words else f"{what}. {then}"


def _needed_s(search: Search) -> int:
    """Return a budget that is enough for several sizes, by what one of them takes to start."""
    return max(10 * round(SIZES_WORTH * search.start_s / 10), 2 * round(search.question.budget_s))


def _nothing_ran(search: Search) -> str:
    if not any(row.steps_s for row in search.rows):
        return "the time was over before anything was measured. Give a larger budget_s"
    if search.is_over:
        return "there was no time left to run the chosen batch. Give a larger budget_s"
    if search.question.most(None) is not None:
        return (
            "no size within the limit came to its end. Give a larger budget_s, limit or effective"
        )
    return "no size came to its end when it was run again; the table and the notes say why"


def _plan(search: Search, found: Confirmed | None, reason: str) -> BatchPlan:
    return BatchPlan(
        micro_batch=found.micro_batch if found else None,
        accumulation=found.accumulation if found else 1,
        effective_batch=found.micro_batch * found.accumulation if found else None,
        evidence=_evidence(search, found),
        notes=notes(search, found),
        reason=reason,
        own_batch=search.own,
        time=search.time,
        is_partial=reason == _INTERRUPTED,
        doubt=_doubt(search),
        script=search.script,
    )


def _evidence(search: Search, found: Confirmed | None) -> tuple[Row, ...]:
    """Return all rows, with that of a part of an effective batch, which ran only at the end."""
    rows = search.rows
    again = found.again if found else None
    if again is None or again.batch in [row.batch for row in rows]:
        return tuple(rows)
    words = "run at the end, with your own input" if search.keeps_input else "run at the end"
    return tuple(sorted([*rows, replace(again, words=words)], key=lambda row: row.batch))


def _doubt(search: Search) -> str:
    """Return why a choice by time is uncertain; the largest that fits is no such choice."""
    is_by_time = search.question.mode != "max" and len(search.rows) > 1
    return search.load.words if is_by_time and search.load.is_high else ""
