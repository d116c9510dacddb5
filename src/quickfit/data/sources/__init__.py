"""Where images come from: folders, archives, tables and lists, all listed in the same way."""

from quickfit.data.sources.listing import Listing
from quickfit.data.sources.names import IMAGE_EXTENSIONS
from quickfit.data.sources.opening import open
from quickfit.data.sources.readers import Reader
from quickfit.data.sources.source import ImageSource
from quickfit.data.sources.splitting import split
from quickfit.data.sources.unpacking import unpacked

__all__ = ["IMAGE_EXTENSIONS", "ImageSource", "Listing", "Reader", "open", "split", "unpacked"]
