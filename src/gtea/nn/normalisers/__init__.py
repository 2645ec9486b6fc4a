"""From attention logits to attention weights: sparsemax and its alternatives, each with its gradient in closed form."""
