"""Lines and functions that run while a script trains."""

from quickfit.source.training_code import functions_of_training, loop_lines

METHODS = """\
class Keep(Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.some = []

    def on_train_batch_end(self, batch, logs=None):
        self.some.append(batch)

def load():
    return paths
"""


def test_functions_that_run_in_training_are_known_by_who_calls_them():
    assert functions_of_training(METHODS, 0, -1) == {"on_train_batch_end"}
    text = (
        METHODS + "for x in ds:\n    step(x)\ndef step(x):\n    load()\ndef made():\n    yield 1\n"
    )
    assert functions_of_training(text, 10, 11) == {"on_train_batch_end", "step", "load", "made"}


def test_the_loop_of_a_line_is_found():
    text = "for epoch in e:\n    for x in ds:\n        train(x)\n    show()\n"
    assert loop_lines(text, 2) == loop_lines(text, 3) == (2, 3)
    assert loop_lines(text, 4) == (1, 4)
    assert loop_lines("train(x)\n", 1) == (1, 1)


def test_broken_text_has_none():
    assert functions_of_training("for x in:\n", 1, 2) == set()
    assert loop_lines("for x in:\n", 1) == (1, 1)
