from .files import read_picture
from .prepare import Preparer

__all__ = ["read_picture", "Preparer"]
