"""Where does a head look? Statistics of attention over many texts, in one streaming pass (`hw.patterns`)."""
