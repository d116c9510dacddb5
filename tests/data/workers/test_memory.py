import os

from quickfit.data.workers.memory import SharedMemory, anonymous_file


def test_memory_grows_for_all_who_share_it_and_keeps_what_was_written():
    descriptor = anonymous_file("test")
    one, other = SharedMemory(descriptor), SharedMemory(os.dup(descriptor))
    one.mapped(10)[:3] = b"abc"
    other.mapped(100_000)[90_000:90_003] = b"xyz"
    assert one.mapped(100_000)[:3] == b"abc"
    assert one.mapped(100_000)[90_000:90_003] == b"xyz"
    one.close()
    other.close()


def test_it_has_no_name_that_could_stay_behind():
    before = set(os.listdir("/dev/shm"))
    memory = SharedMemory(anonymous_file("test"))
    memory.mapped(10)
    assert not [name for name in set(os.listdir("/dev/shm")) - before if "quickfit" in name]
    memory.close()


def test_closing_twice_closes_nothing_else():
    memory = SharedMemory(anonymous_file("test"))
    memory.close()
    taken = os.open(os.devnull, os.O_RDONLY)  # likely the same number
    memory.close()
    os.close(taken)
