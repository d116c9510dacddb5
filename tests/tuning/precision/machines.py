"""Trials that stand for machines: they train as fast as they are told, and no process starts."""

from quickfit.tuning.trials.settings import (
    Setting,
    TrialBlock,
    TrialFailed,
    TrialFailure,
    TrialLearned,
    TrialReady,
)

FULL, HALF = Setting(), Setting(policy="mixed_bfloat16")
MIB = 1 << 20


class Machine:
    """Two kinds of trial, one per setting, and what was asked of them.

    Args:
        speedups: of 16 bits over float32, one per pair.
        fails: what fails, by setting: "ready", "run" or "learn".
    """

    def __init__(self, *speedups, fails=None):
        self.speedups = speedups
        self.fails = fails or {}
        self.asked = []
        self.made = 0
        self.alive = set()

    @property
    def open(self):
        return len(self.alive)

    def make(self, setting):
        pair, self.made = self.made // 2, self.made + 1
        return StandIn(self, setting, self.speedups[pair] if setting == HALF else 1.0)


class StandIn:
    """One trial."""

    pid = None

    def __init__(self, machine, setting, speed):
        self.machine, self.setting, self.speed = machine, setting, speed

    def ask(self, what):
        if self.machine.fails.get(self.setting) == what:
            raise TrialFailed(TrialFailure.ERROR, "TypeError: planted")
        self.machine.asked.append((what, "half" if self.setting == HALF else "full"))

    def start(self):
        self.machine.alive.add(self)
        self.ask("start")

    def ready(self):
        self.ask("ready")
        return TrialReady(32, None, 1.0, 1.0, 0.1 / self.speed, 1000, 100 * MIB)

    def run(self, steps):
        self.ask("run")
        samples = 32 * steps
        second = 0.1 * steps / self.speed
        return TrialBlock(
            steps, samples, second, 2 * second, (50 if self.setting == HALF else 80) * MIB
        )

    def learn(self, samples):
        self.ask("learn")
        return TrialLearned(samples, 0.7, 0.52 if self.setting == HALF else 0.51)

    def close(self):
        self.machine.alive.discard(self)  # closing twice does no harm
