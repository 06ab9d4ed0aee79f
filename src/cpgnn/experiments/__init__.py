"""The paper's experiments as data, and what runs, keeps and tabulates them."""
