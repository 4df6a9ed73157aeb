"""What is a model, and where are its heads?"""

from headwidgets.models.interventions import Cut, Replace, ReplaceMap, Scale
from headwidgets.models.model import HeadModel, load, wrap
from headwidgets.models.recording import Run, record

__all__ = ["Cut", "HeadModel", "Replace", "ReplaceMap", "Run", "Scale", "load", "record", "wrap"]
