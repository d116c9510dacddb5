"""What the user asked for besides the source itself."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from quickfit.data.sources.kinds import Kind
from quickfit.data.sources.names import option_name, shown
from quickfit.errors import UsageError


@dataclass(frozen=True)
class Options:
    """The options of `sources.open`, described there."""

    labels: Any  # whatever the user has: None, False, or one value for each image
    path_column: str | int | None
    label_column: str | int | None
    root: str | None
    follow_links: bool
    keep_odd_names: bool

    def check(self, kind: Kind, where: object) -> None:
        """Refuse options that mean nothing for this kind of source.

        Raises:
            UsageError: one of them is given.
        """
        has_columns = kind in (Kind.TABLE, Kind.COLUMNS)
        for option in ("path_column", "label_column"):
            value = getattr(self, option)
            if value is not None and not has_columns:
                raise UsageError(
                    f"{option_name(option)} is {value!r}, and only tables have columns: "
                    f"{shown(str(where))} is a {kind.value}.\n"
                    "Leave it out, or give a CSV file or a DataFrame."
                )
        if self.root is not None and kind is Kind.FOLDER:
            raise UsageError(
                f"{option_name('root')} is {self.root!r}, and {shown(str(where))} is a folder: "
                "its images lie in it.\n"
                "Leave it out; it is for lists, tables and archives."
            )
        if self.labels is not None and self.label_column is not None:
            raise UsageError("both labels and label_column are given: leave one of them out.")
        self._check_labels()

    def _check_labels(self) -> None:
        if self.labels is not False and isinstance(self.labels, int | float):
            raise UsageError(
                f"labels is {self.labels!r}: give one label for each image, False for none, or "
                "leave it out to take class folders or the table's column."
            )
        if isinstance(self.labels, Mapping | Set):
            raise UsageError(
                f"labels is a {type(self.labels).__name__}, which has no order: give a list with "
                "one label for each image,\nin the order of the paths: "
                "[labels[path] for path in paths]."
            )


def column_of(labels: str, kind: Kind) -> str | None:
    """Return the column that a text given as labels names; None for Keras' word of the default.

    Raises:
        UsageError: the source has no columns.
    """
    if labels == "inferred":
        return None
    if kind not in (Kind.TABLE, Kind.COLUMNS):
        raise UsageError(
            f"labels is {labels!r}, a single text: give one label for each image, False for none, "
            "or leave it out to take class folders."
        )
    return labels
