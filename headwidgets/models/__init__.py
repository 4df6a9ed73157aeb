"""What is a model, and where are its heads?"""

from headwidgets.models.model import HeadModel, load, wrap

__all__ = ["HeadModel", "load", "wrap"]
