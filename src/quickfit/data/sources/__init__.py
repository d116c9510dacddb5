"""Where images come from: folders, archives, tables and lists, all listed in the same way."""

from quickfit.data.sources.files import ImageSource, Reader
from quickfit.data.sources.labels import split_entries
from quickfit.data.sources.listing import IMAGE_EXTENSIONS, Listing
from quickfit.data.sources.opening import open_source
from quickfit.data.sources.tar_archives import unpack_archive

__all__ = [
    "IMAGE_EXTENSIONS",
    "ImageSource",
    "Listing",
    "Reader",
    "open_source",
    "split_entries",
    "unpack_archive",
]
