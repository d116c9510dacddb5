"""What can be wrong with an image file, in sentences that follow its name."""

from __future__ import annotations

from quickfit.data.entries import Reason, SourceImageError


def truncated(content: bytes, before: str) -> SourceImageError:
    """Return the error of a file that stops too early."""
    return SourceImageError(Reason.TRUNCATED, f"ends after {len(content):,} bytes, before {before}")


def corrupt(detail: str) -> SourceImageError:
    """Return the error of a file that contradicts its own format."""
    return SourceImageError(Reason.CORRUPT, detail)


def too_large(detail: str) -> SourceImageError:
    """Return the error of an image with more pixels than may be decoded."""
    return SourceImageError(Reason.TOO_LARGE, detail)
