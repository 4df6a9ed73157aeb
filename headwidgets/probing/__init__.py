"""What does a head know?"""

from headwidgets.probing.frequencies import Frequencies
from headwidgets.probing.induction import induction, repeated, repetition
from headwidgets.probing.linking.examples import Link, LinkExample
from headwidgets.probing.linking.result import Links
from headwidgets.probing.links import links
from headwidgets.probing.positional import PositionalHeads, positional
from headwidgets.probing.probe.evaluation import ProbeEvaluation
from headwidgets.probing.probe.trained import Probe
from headwidgets.probing.probes import train_probe
from headwidgets.probing.rare_result import RareWords
from headwidgets.probing.rare_words import rare_words
from headwidgets.probing.roles import roles
from headwidgets.probing.rules import forget_role, register_role, registered_roles
from headwidgets.probing.syntax import dependencies, syntax
from headwidgets.text.parsing import load_stanza
from headwidgets.text.treebank import Treebank

__all__ = [
    "Frequencies",
    "Link",
    "LinkExample",
    "Links",
    "PositionalHeads",
    "Probe",
    "ProbeEvaluation",
    "RareWords",
    "Treebank",
    "dependencies",
    "forget_role",
    "induction",
    "links",
    "load_stanza",
    "positional",
    "rare_words",
    "register_role",
    "registered_roles",
    "repeated",
    "repetition",
    "roles",
    "syntax",
    "train_probe",
]
