"""Sequence encoders: an edge's events in, one vector out, ragged all the way."""
