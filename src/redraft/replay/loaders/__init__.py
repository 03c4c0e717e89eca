"""Readers of recordings, one a format; the format is found from what is in the file.

The wire tests share them: `exchanges` gives the raw requests and answers of a cassette.
"""

from redraft.replay.loaders.cassette import Exchange, exchanges
from redraft.replay.loaders.formats import FORMATS, Format, load, read_source

__all__ = ["FORMATS", "Exchange", "Format", "exchanges", "load", "read_source"]
