"""Runs with readings of a GPU, in one line."""

from builders import START_S, run

HEALTHY = {
    "gpu": 0,
    "busy_share": 0.95,
    "memory_bytes": 30 * 10**9,
    "total_bytes": 80 * 10**9,
    "clock_hz": 1.70e9,
    "top_clock_hz": 1.75e9,
    "throttle": 0,
    "power_w": 400.0,
    "power_limit_w": 700.0,
    "temperature_c": 62.0,
    "other_processes": 0,
    "other_bytes": 0,
    "other_busy_share": 0.0,
    "ecc_errors": 0,
}


def on_gpu(*, readings=5, second=None, **reading):
    """Return the signals of a run on a GPU that says the same in every reading.

    Args:
        readings: how many there are.
        second: what a second GPU says.
        reading: what differs from a healthy one.
    """
    signals = run()
    cards = [reading] if second is None else [reading, second]
    signals.process.tables["gpus"] = [
        {**HEALTHY, "gpu": number, "at_s": START_S + 2.0 * (place + 1), **card}
        for place in range(readings)
        for number, card in enumerate(cards)
    ]
    return signals
