"""Processes or threads for a function, and what the function's results look like."""

from __future__ import annotations

import select
import socket
import sys
from typing import TYPE_CHECKING

from quickfit import units
from quickfit.data.workers import carrying
from quickfit.data.workers.crew import Crew, JobBroken, WorkerDied
from quickfit.data.workers.failures import Teller
from quickfit.data.workers.jobs import Job
from quickfit.data.workers.layout import Layout
from quickfit.data.workers.plan import Plan
from quickfit.data.workers.threads import ThreadCrew
from quickfit.data.workers.working import First, FirstLook, look_at_first, made_ready
from quickfit.errors import UsageError

if TYPE_CHECKING:
    from quickfit.data.workers.processes import ProcessCrew

# Below this, taking an item to another process and back costs more than it saves.
SLOW_CALL_S = 0.0002
_BATCHES_AHEAD = 3
_MOST_SLOTS = 64
# First items to call: several where their time decides or where some may fail.
_FIRST_ITEMS = 5
_FIRST_ITEMS_PATIENT = 20


class Staffing:
    """Who runs the user's function.

    Args:
        plan: what is done.
        teller: puts failures into words.
        layout: what results look like, where the user said so.
    """

    def __init__(self, plan: Plan, teller: Teller, layout: Layout | None) -> None:
        self._plan = plan
        self._teller = teller
        self._first_crew: ProcessCrew | None = None
        self.uses_processes = False
        self.reason = "as asked"
        if plan.options.kind != "threads":
            layout = self._try_processes(layout)
        if not self.uses_processes:
            layout = self._use_threads(layout)
        assert layout is not None  # both ways end in a layout or an error
        self.layout = layout

    def job(self) -> Job:
        """Return the work of a worker, as the user's objects are now."""
        return self._plan.job(owns_process=self.uses_processes)

    def crew(self) -> Crew:
        """Return workers for a pass, all of them started."""
        if not self.uses_processes:
            return ThreadCrew(
                self._job, self.layout, workers=self._plan.workers, slots=_slots(self._plan)
            )
        crew, self._first_crew = self._first_crew, None
        if crew is None:
            crew = self._new_processes()
            crew.bring(self.job())
            crew.bring(self.layout)
        crew.hire(self._plan.workers)
        return crew

    def close(self) -> None:
        """End the workers that nobody has asked for yet."""
        if self._first_crew is not None:
            self._first_crew.close()
            self._first_crew = None

    def _try_processes(self, layout: Layout | None) -> Layout | None:
        is_auto = self._plan.options.kind == "auto"
        try:
            crew = self._carried()
        except carrying.NotCarriedError as error:
            if not is_auto:
                raise self._cannot_leave(error) from None
            self.reason = f"threads since {error}"
            return layout
        try:
            return self._looked(crew, layout)
        except JobBroken as broken:
            crew.close()
            if not is_auto:
                raise self._teller.broken(broken) from None
            self.reason = f"threads since a process could not load it: {broken.summary}"
            return layout
        except WorkerDied as death:
            crew.close()
            raise self._teller.died(death) from None

    def _carried(self) -> ProcessCrew:
        if not (hasattr(socket, "send_fds") and hasattr(select, "poll") and sys.executable):
            raise carrying.NotCarriedError("this system cannot share memory between processes")
        crew = self._new_processes()
        try:
            crew.bring(self._plan.job(owns_process=True))
        except carrying.NotCarriedError as error:
            crew.close()
            plan = self._plan
            named = carrying.culprit(plan.function, plan.items, plan.options.setup)
            raise carrying.NotCarriedError(named or str(error)) from None
        return crew

    def _looked(self, crew: ProcessCrew, layout: Layout | None) -> Layout | None:
        is_auto = self._plan.options.kind == "auto"
        if layout is None or is_auto:
            crew.hire(1, self._look(is_timed=is_auto))
            first = crew.first()
            if first.failure:
                crew.close()
                raise self._teller.failed(first.failure)
            layout = layout or first.layout
            if is_auto and first.call_s < SLOW_CALL_S:
                crew.close()
                self.reason = f"threads since a call takes only {units.seconds(first.call_s)}"
                return layout
            if is_auto:
                self.reason = f"processes since a call takes {units.seconds(first.call_s)}"
        crew.bring(layout)
        self._first_crew, self.uses_processes = crew, True
        return layout

    def _use_threads(self, layout: Layout | None) -> Layout | None:
        self._job = self._plan.job(owns_process=False)
        broken = made_ready(self._job.prepare)
        if broken:
            raise self._teller.broken(JobBroken(broken.summary, broken.trace))
        first = look_at_first(self._look(is_timed=False), self._job) if layout is None else First()
        if first.failure:
            raise self._teller.failed(first.failure)
        return layout or first.layout

    def _look(self, *, is_timed: bool) -> FirstLook:
        plan = self._plan
        is_patient = plan.options.on_error == "skip"
        most = _FIRST_ITEMS_PATIENT if is_patient else _FIRST_ITEMS if is_timed else 1
        count = most if plan.items is None else min(most, len(plan.items))
        return FirstLook(
            count,
            plan.rows,
            first_varies=plan.py_dataset is not None,
            is_timed=is_timed,
            is_patient=is_patient,
        )

    def _new_processes(self) -> ProcessCrew:
        from quickfit.data.workers.processes import ProcessCrew  # not on every system

        return ProcessCrew(workers=self._plan.workers, slots=_slots(self._plan))

    def _cannot_leave(self, error: carrying.NotCarriedError) -> UsageError:
        name = self._plan.name
        return UsageError(
            f"`{name}` cannot run in other processes: {error}.\n"
            f"Make it inside `{name}`, or once per worker with generator(..., setup=function)"
            ' and a global; or stay in this process with generator(..., kind="threads").'
        )


def _slots(plan: Plan) -> int:
    """Return how many batches are in the making at a time, with the one that is handed over."""
    tasks = plan.rows or 1
    # Two tasks per worker are always there, however small the batches are.
    least = -(-2 * plan.workers // tasks) + 1
    ahead = plan.options.prefetch or max(_BATCHES_AHEAD, least)
    return min(ahead + 1, _MOST_SLOTS)
