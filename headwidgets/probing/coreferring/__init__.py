"""Which mention does a mention refer back to? Windows of documents, rules that need no model, and pronoun pairs."""
