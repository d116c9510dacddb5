"""What is printed meanwhile is caught, and everything is as before afterwards."""

import logging
import os
import subprocess
import sys
import threading
import warnings

import pytest

from quickfit.compression.quantizing.native_output import capture_native_output


def test_prints_of_python_and_of_native_code_are_caught(capfd):
    with capture_native_output() as said:
        print("from python")
        print("to stderr", file=sys.stderr)
        os.write(1, b"from native code\n")
        os.write(2, b"native, to stderr\n")
        warnings.warn("a warning", stacklevel=1)
    print("afterwards")
    assert capfd.readouterr() == ("afterwards\n", "")
    for line in ("from python", "to stderr", "from native code", "native, to stderr"):
        assert line in said.text


def test_an_error_goes_on_and_what_was_said_is_known(capfd):
    def fail():
        os.write(2, b"some lines before it\n")
        raise ValueError("the reason")

    with pytest.raises(ValueError, match="the reason"), capture_native_output() as said:
        fail()
    os.write(2, b"back\n")
    assert said.text == "some lines before it\n"
    assert capfd.readouterr().err == "back\n"


def test_a_logger_that_was_made_meanwhile_writes_on(capfd):
    with capture_native_output():
        handler = logging.StreamHandler()
        handler.stream.write("caught")
    handler.emit(logging.LogRecord("x", logging.WARNING, "", 0, "told", (), None))
    handler.flush()
    assert capfd.readouterr().err == "told\n"


def test_quiet_within_quiet_is_no_trouble(capfd):
    with capture_native_output() as outer:
        print("one")
        with capture_native_output() as inner:
            print("two")
        print("three")
    assert (outer.text, inner.text) == ("one\nthree\n", "two\n")
    assert capfd.readouterr() == ("", "")


def test_threads_wait_for_each_other(capfd):
    def speak():
        for _ in range(20):
            with capture_native_output():
                os.write(1, b"never seen\n")

    threads = [threading.Thread(target=speak) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(1, b"seen\n")
    assert capfd.readouterr().out == "seen\n"


def test_a_process_with_its_outputs_closed_goes_on():
    code = (
        "import os; os.close(1); os.close(2)\n"
        "from quickfit.compression.quantizing.native_output import capture_native_output as quiet\n"
        "with quiet() as said: print('x')\n"
        "os._exit(0 if 'x' in said.text else 1)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
