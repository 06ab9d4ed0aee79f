"""A fit from start to folder, and back."""
