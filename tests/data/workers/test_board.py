from quickfit.data.workers.board import LOADING, NOTHING, Board
from quickfit.data.workers.memory import SharedMemory, anonymous_file


def test_everybody_sees_the_same_numbers():
    memory = SharedMemory(anonymous_file("board"))
    one, other = Board(memory, 3), Board(memory, 3)
    one.turn, one.edition = 5, 2
    for worker, item in enumerate((NOTHING, LOADING, 2**40)):
        one.set_item(worker, item)
    assert (other.turn, other.edition) == (5, 2)
    assert [other.item_of(worker) for worker in range(3)] == [NOTHING, LOADING, 2**40]
