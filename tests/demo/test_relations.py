"""The demo's relations: two marked entities in order, and a label that says which is which."""

import re

from headwidgets import demo

CONTENTS = {"tea", "wine", "honey", "letters", "apples", "coins", "milk"}


def test_entities_stand_in_order_and_the_label_says_which_is_which():
    found = demo.relations(300)
    assert len(found) == 300
    labels = set()
    for text, label in found:
        marks = re.findall(r"<e([12])>(\w+)</e\1>", text)
        assert [number for number, _ in marks] == ["1", "2"], text
        labels.add(label)
        if label.startswith("Content-Container"):
            content = 0 if label.endswith("(e1,e2)") else 1
            assert marks[content][1] in CONTENTS, (text, label)
    assert len(labels) == 8


def test_a_seed_gives_the_same_sentences():
    assert demo.relations(20, seed=3) == demo.relations(20, seed=3)
    assert demo.relations(20, seed=3) != demo.relations(20, seed=4)
