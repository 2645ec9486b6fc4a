"""The paper's network: a time encoder, a sequence encoder per edge, sparse attention and layers of aggregation.

Suggested reading order: time2vec, encoders/lstm (or transformer, statistics_encoder), edge_encoder, normalisers, model,
heads. Nothing here depends on where a batch comes from.
"""
