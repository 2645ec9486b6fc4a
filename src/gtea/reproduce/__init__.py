"""Public data sets made ready, and the paper's tables and figures made from them."""
