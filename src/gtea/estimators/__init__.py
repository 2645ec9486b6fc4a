"""Training and scoring in scikit-learn's manner."""
