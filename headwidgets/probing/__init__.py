"""What does a head know?"""

from headwidgets.probing.induction import induction, repeated
from headwidgets.probing.linking.examples import Link, LinkExample
from headwidgets.probing.linking.result import Links
from headwidgets.probing.links import links

__all__ = ["Link", "LinkExample", "Links", "induction", "links", "repeated"]
