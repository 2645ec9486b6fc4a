"""Sequence encoders: from the events of an edge to one vector. Histories are ragged throughout."""
