"""What a trial answers."""

from quickfit.tuning.trials.answers import Block, Failure, TrialFailed


def test_a_block_tells_what_a_sample_takes():
    block = Block(steps=10, samples=320, wall_s=0.64, cpu_s=0.32, peak_bytes=1)
    assert (block.sample_s, block.sample_cpu_s) == (0.002, 0.001)


def test_a_failure_tells_how_and_why():
    assert str(TrialFailed(Failure.HUNG, "no sign of life")) == "hung: no sign of life"
