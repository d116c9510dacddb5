"""Weights of models with times in one line, and clocks that go by themselves."""

from quickfit.compression.weighing.benchmark import BenchmarkClocks
from quickfit.compression.weighing.comparison import CALL, LITERT, TimedTurn, Timing, Weight


def timing(*seconds):
    """Return a timing with one turn per number, all calls of a turn alike."""
    return Timing(tuple(TimedTurn(one, one, 2 * one) for one in seconds))


def keras_weight(*seconds, step=None, **values):
    """Return the weight of a Keras model whose predictions take this long at any batch size."""
    latency = {CALL: {1: timing(*seconds), 64: timing(*seconds)}}
    return Weight(file_bytes=100, latency=latency, step=timing(*step) if step else None, **values)


def file_weight(*seconds, **values):
    """Return the weight of a `.tflite` file."""
    latency = {LITERT: {1: timing(*seconds), 64: timing(*seconds)}}
    return Weight(file_bytes=50, latency=latency, **values)


class TickingClock:
    """A clock that goes on by the same time whenever it is read."""

    def __init__(self, tick_s=1.0):
        self.now_s, self.tick_s = 0.0, tick_s

    def __call__(self):
        self.now_s += self.tick_s
        return self.now_s


def ticking(wall_s=1.0, cpu_s=0.5):
    """Return clocks on which every turn is over after as few calls as possible."""
    return BenchmarkClocks(TickingClock(wall_s), TickingClock(cpu_s))
