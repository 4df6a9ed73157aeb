"""What does a head know?"""

from headwidgets.probing.alignment import alignment, alignment_examples, read_alignments
from headwidgets.probing.coreference import coreference
from headwidgets.probing.coreferring.pairs import choice, read_gap, read_winogender
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
from headwidgets.probing.relations import read_relations, relation_examples, relations, unmarked
from headwidgets.probing.roles import roles
from headwidgets.probing.rules import forget_role, register_role, registered_roles
from headwidgets.probing.survival import RolesAfter, Standing, roles_after
from headwidgets.probing.syntax import dependencies, syntax
from headwidgets.text.parsing import load_stanza
from headwidgets.text.placing import place
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
    "RolesAfter",
    "Standing",
    "Treebank",
    "alignment",
    "alignment_examples",
    "choice",
    "coreference",
    "dependencies",
    "forget_role",
    "induction",
    "links",
    "load_stanza",
    "place",
    "positional",
    "rare_words",
    "read_alignments",
    "read_gap",
    "read_relations",
    "read_winogender",
    "register_role",
    "registered_roles",
    "relation_examples",
    "relations",
    "repeated",
    "repetition",
    "roles",
    "roles_after",
    "syntax",
    "train_probe",
    "unmarked",
]
