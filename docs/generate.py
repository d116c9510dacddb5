"""Writes the pages of the causes and their list, docs/causes/README.md, from the catalogue.

python docs/generate.py          write them
python docs/generate.py --check  fail when they are out of date
"""

import sys
from pathlib import Path

from quickfit.causes import Cause, catalogue

ROOT = Path(__file__).resolve().parent.parent
INDEX = ROOT / "docs" / "causes" / "README.md"


def page(cause: Cause) -> str:
    """Return the page of one cause as Markdown."""
    lines = []
    for line in cause.page.splitlines():
        is_label = line.endswith(":") and not line.startswith(" ")
        lines.append(f"**{line[:-1]}**\n" if is_label else line)
    head = f"# {cause.name}\n\n{cause.title} · symptom: {cause.symptom}\n\n"
    return head + "\n".join(lines).rstrip() + "\n"


def index() -> str:
    """Return the list of all causes as Markdown."""
    rows = ["| cause | what it is | symptom |", "| --- | --- | --- |"]
    for cause in catalogue().values():
        rows.append(f"| [`{cause.name}`]({cause.name}.md) | {cause.title} | {cause.symptom} |")
    head = "# What quickfit finds\n\n`quickfit explain CAUSE` shows the same pages.\n\n"
    return head + "\n".join(rows) + "\n"


def wanted() -> dict[Path, str]:
    """Return every generated file with the text it should have."""
    return {INDEX: index()} | {
        INDEX.with_name(f"{c.name}.md"): page(c) for c in catalogue().values()
    }


def main() -> int:
    """Write the files, or check them."""
    is_check = "--check" in sys.argv[1:]
    stale = [p for p, text in wanted().items() if not p.exists() or p.read_text() != text]
    for path in stale:
        if is_check:
            print(f"{path.relative_to(ROOT)} is out of date: run python docs/generate.py")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted()[path])
    return 1 if is_check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
