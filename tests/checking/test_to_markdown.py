"""A check as Markdown."""

from checking.cases import outcome, told
from quickfit.checking.records import Checked, Outcome, Trouble
from quickfit.checking.to_markdown import MAX_FINDINGS, to_markdown
from quickfit.findings import Effect, Span

TEXT = "import tf\nds = make(bad)\n"


def test_a_finding_with_its_change(home):
    one = told(str(home / "train.py"), TEXT, "bad", becomes="good", note="Mind it.")
    lines = to_markdown(outcome(one)).splitlines()
    assert lines[0] == "### quickfit check"
    assert lines[2].startswith("**1 finding in 1 file (1 crashes)")
    assert "`train.py:2:11`, **crashes**, `shuffle-autotune`" in lines
    at = lines.index("```diff")
    assert lines[at + 2 : at + 5] == ["-ds = make(bad)", "+ds = make(good)", "```"]
    assert lines[-1] == "Mind it."


def test_a_finding_without_a_change_shows_its_line(home):
    one = told(str(home / "train.py"), TEXT, "make", effect=Effect.SLOW)
    assert "\n```python\nds = make(bad)\n```\n" in to_markdown(outcome(one))


def test_text_of_the_user_is_no_markup(home):
    one = told(str(home / "a<b>@c.py"), TEXT, "bad", becomes="```<b>", summary="<img> @all \x1b[1m")
    shown = to_markdown(outcome(one))
    assert "&lt;img&gt; &#64;all" in shown
    assert "\n````diff\n" in shown
    assert "\x1b" not in shown


def test_many_findings_are_counted(home):
    many = [told(f"{home}/{n}.py", TEXT, "bad") for n in range(MAX_FINDINGS + 3)]
    assert "\n3 more are not shown.\n" in to_markdown(outcome(*many))


def test_a_file_that_cannot_be_read_is_named(home):
    file = str(home / "a.py")
    broken = Checked(file, (), (Trouble(Span(file, 3, 1), "it is not Python"),))
    assert "`a.py:3:1`, error: it is not Python\n" in to_markdown(Outcome((broken,)))
