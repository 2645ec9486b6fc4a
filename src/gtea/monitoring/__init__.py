"""Whether a model still fits what it scores: drift, alerts, accounts it never saw, and labels that came in."""
