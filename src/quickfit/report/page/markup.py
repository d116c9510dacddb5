"""HTML that is safe by construction: whatever is not markup of ours is escaped when it goes in."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from quickfit import terminal

# Elements without an end tag.
_VOID = frozenset(("meta", "br", "rect", "path", "line"))
_CODE = re.compile(r"`([^`]+)`")
_UNIT = re.compile(r"(?<=\d) (?=(?:%|s|ms|µs|kB|MB|GB|TB|min|h)(?:\W|$))")


class Html(str):
    """Text that is markup already. Only `element`, `join` and literals of ours make it."""

    __slots__ = ()


def escape(text: str) -> Html:
    """Return text as markup that shows it; what does not print is spelled out."""
    if isinstance(text, Html):
        return text
    return Html(html.escape(terminal.escape(text), quote=True))


def join(*parts: str) -> Html:
    """Return parts one after the other, each escaped unless it is markup."""
    return Html("".join(map(escape, parts)))


def element(name: str, /, *children: str, **attributes: str | float | bool | None) -> Html:
    """Return an element.

    Args:
        name: of the tag.
        children: markup, or text to be shown.
        attributes: `class_` and `aria_label` stand for `class` and `aria-label`; True gives an
            attribute without a value, None and False give none.
    """
    given = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        label = key.rstrip("_").replace("_", "-")
        given.append(f" {label}" if value is True else f' {label}="{escape(_text(value))}"')
    start = f"<{name}{''.join(given)}>"
    if name in _VOID:
        return Html(f"{start[:-1]}/>")
    return Html(f"{start}{join(*children)}</{name}>")


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def sentence(text: str) -> Html:
    """Return a sentence in which `code` marks become code."""
    parts = _CODE.split(text)
    return join(*(element("code", p) if n % 2 else _kept_together(p) for n, p in enumerate(parts)))


def _kept_together(text: str) -> Html:
    """Return text in which no line ends between a number and its unit."""
    return Html(_UNIT.sub("&nbsp;", escape(text)))


def table_of(titles: Sequence[str], rows: Sequence[Sequence[Html]], *, label: str) -> Html:
    """Return a table without the columns that hold nothing; the first and last are text."""
    used = [n for n in range(len(titles)) if any(row[n] for row in rows)]
    if not used:
        return Html("")
    last = len(titles) - 1
    kinds = ["number" if 0 < n < last else None for n in range(len(titles))]
    head = [element("th", titles[n], scope="col", class_=kinds[n]) for n in used]
    body = [element("tr", *(element("td", row[n], class_=kinds[n]) for n in used)) for row in rows]
    table = element("table", element("thead", element("tr", *head)), element("tbody", *body))
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=label)


class Rules:
    """The rules of positions: a page without inline styles needs one for every place.

    The policy of the page allows the style sheet by its hash, and no attribute.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def place(self, **properties: float) -> str:
        """Return the class of an element at a place, in percent: `left`, `width`, `top`.

        The name says the place: the same place has the same class in every drawing of a page.
        """
        values = {name: f"{value:.4g}" for name, value in properties.items()}
        body = ";".join(f"{name}:{value}%" for name, value in values.items())
        label = "-".join(f"{name[0]}{value.replace('.', '_')}" for name, value in values.items())
        return self._names.setdefault(body, f"p{label.replace('+', '')}")

    def sheet(self) -> str:
        """Return the rules as a style sheet."""
        return "".join(f".{name}{{{body}}}" for body, name in self._names.items())
