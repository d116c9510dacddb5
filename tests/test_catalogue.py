"""Every cause is complete: name, page, tests, example pair."""

import re
from pathlib import Path

import pytest

from quickfit.causes import catalogue, example
from quickfit.findings import Symptom

ROOT = Path(__file__).parent.parent
SECTIONS = (
    "How it shows:",
    "Example:",
    "Use instead:",
    "Fix class:",
    "When it is wrong:",
)
FORBIDDEN = ("use-", "add-", "enable-", "avoid-", "no-", "set-")


@pytest.mark.parametrize("cause", catalogue().values(), ids=lambda cause: cause.name)
class TestEveryCause:
    def test_is_named_for_the_problem(self, cause):
        assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", cause.name)
        assert not cause.name.startswith(FORBIDDEN)
        assert cause.title

    def test_has_every_section_of_its_page(self, cause):
        is_trap = cause.symptom in (Symptom.WRONG, Symptom.CRASH)
        why = ("Why it is slow:", "What goes wrong:") if is_trap else ("Why it is slow:",)
        assert any(section in cause.page for section in why)
        missing = [section for section in SECTIONS if section not in cause.page]
        assert not missing

    def test_has_examples_that_are_python(self, cause):
        for section in ("Example", "Use instead"):
            code = example(cause.page, section)
            assert code
            compile(code, cause.name, "exec")

    def test_has_a_test_of_its_own(self, cause):
        assert list((ROOT / "tests" / "causes").rglob(f"test_{cause.name.replace('-', '_')}.py"))

    def test_has_an_example_pair_that_compiles(self, cause):
        for name in ("slow.py", "fixed.py"):
            file = ROOT / "corpus" / "pairs" / cause.name / name
            compile(file.read_text(), str(file), "exec")
