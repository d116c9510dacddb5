"""What a change would gain: the model of the design, in one place.

A step can be no shorter than the compute, than its input with the parallelism it gets, and,
where input and compute share the cores, than all the CPU work divided by the cores.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from quickfit.findings import Gain


@dataclass(frozen=True)
class Work:
    """What one step needs: seconds of wall time and of CPU."""

    step_s: float
    compute_s: float
    compute_cpu_s: float
    input_cpu_s: float
    cores: float
    free_cores: float
    is_shared: bool = True

    def with_compute(self, part: float) -> Work:
        """Return the same work with the compute taking only a part of its time."""
        cpu_s = min(self.compute_cpu_s, part * self.compute_s * self.cores)
        return dataclasses.replace(self, compute_s=part * self.compute_s, compute_cpu_s=cpu_s)

    def cores_after(self) -> tuple[float, float, float]:
        """Return the cores the script will have: at worst, likely, at best.

        On a machine of its own they are all the same. Beside others, at worst it gets what they
        leave over now, at best all; the scheduler's fair share lies between.
        """
        return self.free_cores, (self.free_cores + self.cores) / 2, self.cores


def predicted_step_s(work: Work, *, input_s: float, input_cpu_s: float, cores: float) -> float:
    """Return the step time after a change.

    Args:
        work: what the step needs now.
        input_s: the input's own limit after the change, per step.
        input_cpu_s: the CPU time of the input after the change, per step.
        cores: the cores that input and compute share then.
    """
    # With an accelerator the compute leaves the cores to the input.
    compute_cpu_s = work.compute_cpu_s if work.is_shared else 0.0
    shared_s = (compute_cpu_s + input_cpu_s) / cores
    return max(work.compute_s, input_s, shared_s)


def gain(now_s: float, after_s: tuple[float, float, float], basis: str) -> Gain:
    """Return a gain from the step time now and three step times after: worst, likely, best."""
    factors = sorted(max(now_s / after, 1.0) if after > 0 else 1.0 for after in after_s)
    return Gain(factors[0], factors[1], factors[2], basis)
