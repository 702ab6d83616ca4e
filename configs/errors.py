"""The one error that configuration raises."""

from __future__ import annotations


class ConfigError(ValueError):
    """A setting is unknown or out of range; the message names the key, the place and the remedy."""
