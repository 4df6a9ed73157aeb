"""Whose method is it? BibTeX of the papers that a result rests on."""

from collections.abc import Iterable

from headwidgets.wire.documents import Provenance

_PAPERS = {
    "hao2021": """@inproceedings{hao2021,
  title = {Self-Attention Attribution: Interpreting Information Interactions Inside {T}ransformer},
  author = {Hao, Yaru and Dong, Li and Wei, Furu and Xu, Ke},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  volume = {35},
  number = {14},
  pages = {12963--12971},
  year = {2021},
  doi = {10.1609/aaai.v35i14.17533},
  eprint = {2004.11207},
  archiveprefix = {arXiv}
}""",
    "voita2019": """@inproceedings{voita2019,
  title = {Analyzing Multi-Head Self-Attention: Specialized Heads Do the Heavy Lifting, the Rest Can Be Pruned},
  author = {Voita, Elena and Talbot, David and Moiseev, Fedor and Sennrich, Rico and Titov, Ivan},
  booktitle = {Proceedings of the 57th Annual Meeting of the Association for Computational Linguistics},
  year = {2019},
  doi = {10.18653/v1/P19-1580},
  eprint = {1905.09418},
  archiveprefix = {arXiv}
}""",
    "michel2019": """@inproceedings{michel2019,
  title = {Are Sixteen Heads Really Better than One?},
  author = {Michel, Paul and Levy, Omer and Neubig, Graham},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {32},
  year = {2019},
  eprint = {1905.10650},
  archiveprefix = {arXiv}
}""",
    "ding2017": """@inproceedings{ding2017,
  title = {Visualizing and Understanding Neural Machine Translation},
  author = {Ding, Yanzhuo and Liu, Yang and Luan, Huanbo and Sun, Maosong},
  booktitle = {Proceedings of the 55th Annual Meeting of the Association for Computational Linguistics
    (Volume 1: Long Papers)},
  pages = {1150--1159},
  year = {2017},
  doi = {10.18653/v1/P17-1106}
}""",
    "achtibat2024": """@inproceedings{achtibat2024,
  title = {{A}ttn{LRP}: Attention-Aware Layer-Wise Relevance Propagation for Transformers},
  author = {Achtibat, Reduan and Hatefi, Sayed Mohammad Vakilzadeh and Dreyer, Maximilian and Jain, Aakriti and
    Wiegand, Thomas and Lapuschkin, Sebastian and Samek, Wojciech},
  booktitle = {Proceedings of the 41st International Conference on Machine Learning},
  series = {PMLR},
  volume = {235},
  pages = {135--168},
  year = {2024},
  eprint = {2402.05602},
  archiveprefix = {arXiv}
}""",
    "vig2020": """@inproceedings{vig2020,
  title = {Investigating Gender Bias in Language Models Using Causal Mediation Analysis},
  author = {Vig, Jesse and Gehrmann, Sebastian and Belinkov, Yonatan and Qian, Sharon and Nevo, Daniel and
    Singer, Yaron and Shieber, Stuart},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {33},
  year = {2020}
}""",
    "meng2022": """@inproceedings{meng2022,
  title = {Locating and Editing Factual Associations in {GPT}},
  author = {Meng, Kevin and Bau, David and Andonian, Alex and Belinkov, Yonatan},
  booktitle = {Advances in Neural Information Processing Systems},
  volume = {35},
  year = {2022},
  eprint = {2202.05262},
  archiveprefix = {arXiv}
}""",
    "nanda2023": """@misc{nanda2023,
  title = {Attribution Patching: Activation Patching At Industrial Scale},
  author = {Nanda, Neel},
  year = {2023},
  howpublished = {https://www.neelnanda.io/mechanistic-interpretability/attribution-patching}
}""",
    "syed2023": """@inproceedings{syed2023,
  title = {Attribution Patching Outperforms Automated Circuit Discovery},
  author = {Syed, Aaquib and Rager, Can and Conmy, Arthur},
  booktitle = {Proceedings of the 7th BlackboxNLP Workshop: Analyzing and Interpreting Neural Networks for NLP},
  pages = {407--416},
  year = {2024},
  doi = {10.18653/v1/2024.blackboxnlp-1.25},
  eprint = {2310.10348},
  archiveprefix = {arXiv}
}""",
    "clark2019": """@inproceedings{clark2019,
  title = {What Does {BERT} Look at? An Analysis of {BERT}'s Attention},
  author = {Clark, Kevin and Khandelwal, Urvashi and Levy, Omer and Manning, Christopher D.},
  booktitle = {Proceedings of the 2019 ACL Workshop BlackboxNLP: Analyzing and Interpreting Neural Networks for NLP},
  pages = {276--286},
  year = {2019},
  doi = {10.18653/v1/W19-4828},
  eprint = {1906.04341},
  archiveprefix = {arXiv}
}""",
    "hewitt2019": """@inproceedings{hewitt2019,
  title = {Designing and Interpreting Probes with Control Tasks},
  author = {Hewitt, John and Liang, Percy},
  booktitle = {Proceedings of the 2019 Conference on Empirical Methods in Natural Language Processing and the 9th
    International Joint Conference on Natural Language Processing},
  pages = {2733--2743},
  year = {2019},
  doi = {10.18653/v1/D19-1275}
}""",
    "olsson2022": """@misc{olsson2022,
  title = {In-context Learning and Induction Heads},
  author = {Olsson, Catherine and Elhage, Nelson and others},
  year = {2022},
  eprint = {2209.11895},
  archiveprefix = {arXiv}
}""",
}

_SOURCES = {
    "attribution": ("hao2021",),
    "taylor": ("michel2019",),
    "ablation": ("michel2019",),
    "confidence": ("voita2019",),
    "relevance": ("voita2019",),
    "relevance/ratio": ("voita2019", "ding2017"),
    "relevance/plus-minus": ("voita2019",),
    "relevance/attnlrp": ("voita2019", "achtibat2024"),
    "exact": ("vig2020", "meng2022"),
    "gradient": ("nanda2023", "syed2023"),
    "both": ("vig2020", "meng2022", "nanda2023", "syed2023"),
    "induction": ("olsson2022",),
    "rare-words": ("voita2019",),
    "coreference": ("clark2019",),
    "positional": ("voita2019",),
    "links": ("voita2019", "clark2019"),
    "syntactic": ("voita2019", "clark2019"),
    "patterns": ("clark2019",),
    "probe": ("clark2019", "hewitt2019"),
    "entropy": ("clark2019",),
    "offset": ("clark2019",),
    "peak": ("voita2019",),
    "attention gradient": ("clark2019",),
    "token attention": ("clark2019",),
    "separator": ("clark2019",),
    "broad": ("clark2019",),
    "rare-word": ("voita2019",),
    "previous-token": ("olsson2022",),
    "duplicate-token": ("olsson2022",),
    "distance": ("clark2019",),
    "random": (),
}
"""By method, as `method_of` names it."""


def method_of(provenance: Provenance | None) -> str:
    """The method that a result says it was made by, with the rule where rules have papers of their own."""
    settings = provenance["settings"] if provenance else {}
    method = str(settings.get("method") or "")
    ruled = f"{method}/{settings.get('rule')}"
    return ruled if ruled in _SOURCES else method


def bibtex(methods: Iterable[str]) -> str:
    """BibTeX entries of the papers behind some methods, each once, oldest first, a blank line between them.

    Args:
        methods: As `method_of` names them; one without a paper (``random``, a method of your own) adds nothing.
    """
    keys = {key for method in methods for key in _SOURCES.get(method, ())}
    return "\n\n".join(_PAPERS[key] for key in sorted(keys, key=lambda key: (key[-4:], key)))
