"""`quickfit pack`: images into sharded record files, resumable and verified."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from typing import Annotated

import typer

from quickfit import terminal
from quickfit.errors import QuickfitError, UsageError


class Form(StrEnum):
    """How images are stored."""

    ORIGINAL = "original"
    JPEG256 = "jpeg256"
    RAW = "raw"


class Check(StrEnum):
    """How images that are stored as they are get checked."""

    QUICK = "quick"
    FULL = "full"


def pack(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SRC", help="A folder, a zip or tar archive, a CSV file, or a list of paths."
        ),
    ],
    destination: Annotated[
        str | None,
        typer.Argument(metavar="DST", help="The folder of the pack.", show_default=False),
    ] = None,
    form: Annotated[
        Form, typer.Option("--as", help="Files as they are, smaller JPEGs, or pixels of one size.")
    ] = Form.ORIGINAL,
    size: Annotated[
        str | None,
        typer.Option(
            metavar="N|HxW",
            help="The short side of jpeg256 [256]; the size of raw [224], height first.",
            show_default=False,
        ),
    ] = None,
    quality: Annotated[int, typer.Option(metavar="1-100", help="Of the JPEGs of jpeg256.")] = 90,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Processes that work. [default: as many as help]", show_default=False
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Another one, another order.")] = 0,
    shard_mb: Annotated[
        int,
        typer.Option(
            "--shard-mb", metavar="MB", min=1, max=1_000_000, help="About how large a shard is."
        ),
    ] = 128,
    path_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column of paths in a CSV file.")
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option(
            "--label-column", "--labels", metavar="NAME", help="The column of labels in a CSV file."
        ),
    ] = None,
    root: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where the paths of a list or CSV file start.")
    ] = None,
    check: Annotated[
        Check, typer.Option(help="`full` also decodes images that are stored as they are.")
    ] = Check.QUICK,
    max_pixels: Annotated[
        int, typer.Option(metavar="N", help="Leave out images that have more.")
    ] = 178_956_970,
    keep_odd_names: Annotated[
        bool,
        typer.Option("--keep-odd-names", help="Pack also names with line breaks or without UTF-8."),
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Remove the pack that is in DST, and begin anew.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Only see whether a pack is whole: --verify DST")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress and no summary; errors only.")
    ] = False,
) -> None:
    """Pack images into TFRecord files that train fast, labels and checksums with them.

    \b
        quickfit pack photos/ packed/                 class folders, files as they are
        quickfit pack photos/ packed/ --as jpeg256    smaller JPEGs: faster to decode
        quickfit pack photos/ packed/ --as raw        pixels: nothing to decode
        quickfit pack train.csv packed/               paths and labels of a table
        quickfit pack photos.zip packed/              an archive, without unpacking it
        quickfit pack --verify packed/                is every byte as it was written?

    Stop it at any moment: what is there is whole, and the same command goes on where it stopped.
    Images that cannot be used are left out and listed in DST/rejected.jsonl with the reason.
    WARNING: begins the lines on losses that nobody can count, as of an archive that ends early.
    The same source gives the same bytes, whatever the number of workers.

    Ends with 0 if something was packed, 2 for a wrong argument, 5 if the pack cannot be made or
    is not whole.
    """
    _hold_stdout()
    if verify:
        _verify(source, destination, quiet=quiet)
        return
    if not destination:
        raise UsageError(
            f"pack: the folder of the pack is missing.\nName it:\n    quickfit pack {source} PACK"
        )
    from quickfit.data import pack as pack_images

    try:
        packed = pack_images(
            source,
            destination,
            form=form.value,
            size=size,
            quality=quality,
            workers=workers,
            seed=seed,
            shard_bytes=shard_mb * 1_000_000,
            path_column=path_column,
            label_column=label_column,
            root=root,
            keep_odd_names=keep_odd_names,
            check=check.value,
            max_pixels=max_pixels,
            restart=restart,
            progress=not quiet,
        )
    except KeyboardInterrupt:
        _tell_interrupted(destination)
        raise
    if quiet:
        for warning in packed.warnings():
            terminal.say(f"WARNING: {warning}")
    else:
        _answer(f"{packed}\n", "The pack is whole")


def _verify(source: str, destination: str | None, *, quiet: bool) -> None:
    from quickfit.data.packing import verify

    if destination is not None:
        raise UsageError(
            f"pack: --verify takes one folder, the pack.\n    quickfit pack --verify {destination}"
        )
    verified = verify(source, progress=not quiet)
    if verified.faults:
        terminal.say(str(verified))
        raise typer.Exit(5)
    if not quiet:
        _answer(f"{verified}\n", "The pack is whole")


def _hold_stdout() -> None:
    """Give a stdout that was closed (`>&-`) a place: else the first file opened would be there."""
    if sys.stdout is None:
        # Its descriptor is the lowest that is free, if stdin is open.
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - to the very end


def _answer(text: str, what_holds: str) -> None:
    """Print; where that fails (a full disk), say so, and that the work is done."""
    from quickfit.cli._stdout import answer_text

    try:
        answer_text(text)
    except QuickfitError as error:
        told = str(error.__cause__.strerror) if isinstance(error.__cause__, OSError) else str(error)
        terminal.say(f"the summary could not be printed: {told}.\n{what_holds}.")


def _tell_interrupted(destination: str) -> None:
    terminal.write(
        sys.stderr,
        f"\nquickfit: interrupted. All shards in {destination} are whole.\n"
        "The same command goes on where it stopped.\n",
    )
