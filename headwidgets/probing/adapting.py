"""What an adapter of links adds to what links found: its notes, its method and its own settings."""

from collections.abc import Iterable
from dataclasses import replace

from headwidgets.probing.linking.result import Links
from headwidgets.provenance import Setting


def adapted(found: Links, method: str, notes: Iterable[str] = (), **settings: Setting) -> Links:
    """The same with what the adapter knows.

    Args:
        found: By `headwidgets.probing.links`.
        method: As `headwidgets.citations` knows it.
        notes: Sentences, in front of those of links.
        settings: The adapter's arguments.
    """
    told = found.provenance
    if told is not None:
        told = {**told, "settings": {**told["settings"], "method": method, **settings}}
    return replace(found, notes=(*notes, *found.notes), provenance=told)
