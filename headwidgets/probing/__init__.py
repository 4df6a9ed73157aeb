"""What does a head know?"""

from headwidgets.probing.induction import induction, repeated

__all__ = ["induction", "repeated"]
