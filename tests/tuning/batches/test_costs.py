from quickfit.tuning.batches.costs import Costs

COSTS = Costs(start_s=10.0, cores=2, step_s=lambda size: size / 100)


def test_a_size_costs_its_start_and_some_steps():
    assert COSTS.size_s(50) == 13 + 4
    assert COSTS.size_s(50, at_once=5) == 6.5 + 4
    assert COSTS.least_s([100, 50]) == 17


def test_sizes_are_taken_in_their_order_while_there_is_time():
    assert COSTS.affordable([100, 1000, 50], 26.0) == [100, 50]
    assert COSTS.affordable([100], 20.0) == []
