"""What does a head know?"""

from headwidgets.probing.frequencies import Frequencies
from headwidgets.probing.induction import induction, repeated, repetition
from headwidgets.probing.linking.examples import Link, LinkExample
from headwidgets.probing.linking.result import Links
from headwidgets.probing.links import links
from headwidgets.probing.positional import PositionalHeads, positional
from headwidgets.probing.rare_result import RareWords
from headwidgets.probing.rare_words import rare_words
from headwidgets.text.parsing import load_stanza
from headwidgets.text.treebank import Treebank

__all__ = [
    "Frequencies",
    "Link",
    "LinkExample",
    "Links",
    "PositionalHeads",
    "RareWords",
    "Treebank",
    "induction",
    "links",
    "load_stanza",
    "positional",
    "rare_words",
    "repeated",
    "repetition",
]
