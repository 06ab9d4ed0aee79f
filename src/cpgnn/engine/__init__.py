"""What the equations run on: sparse products, views, the epoch loop, scaling, saving."""
