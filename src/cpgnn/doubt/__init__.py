"""What the model does not know: labels to doubt, labels to ask for, graphs that have changed."""
