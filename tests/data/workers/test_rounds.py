from quickfit.data.workers.rounds import Rounds


class Shuffles:
    def __init__(self):
        self.ended = 0

    def on_epoch_end(self):
        self.ended += 1


def test_the_users_object_is_told_and_counts_as_changed():
    dataset = Shuffles()
    rounds = Rounds(dataset)
    rounds.begin()
    assert rounds.version == 0
    rounds.end()
    assert (dataset.ended, rounds.version) == (1, 1)


def test_without_a_dataset_nothing_changes():
    rounds = Rounds(None)
    rounds.begin()
    rounds.end()
    assert rounds.version == 0
