"""The model of the paper: a time encoder, a sequence encoder per edge, sparse attention, and layers of aggregation.

Read in this order: time2vec, encoders/lstm (or transformer, statistics), edge_encoder, normalisers/sparsemax, layer,
model, heads. Nothing here knows where a batch comes from.
"""
