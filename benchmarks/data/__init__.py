"""The parts that the benchmarks of `quickfit.data` share."""
