"""How is a gradient added up along the path, and how far is the sum off?"""
