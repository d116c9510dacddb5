from quickfit.data.workers.standing_in import PyDataset


class Batches(PyDataset):
    def __len__(self):
        return 3


def test_it_answers_as_keras_does():
    batches = Batches()
    batches.__dict__["_workers"] = 4  # as an object from the script arrives
    batches.on_epoch_begin()
    batches.on_epoch_end()
    assert batches.workers == 4
    assert batches.max_queue_size == 10
    assert not batches.use_multiprocessing
    assert batches.num_batches == 3
    assert PyDataset().num_batches is None
