"""Who a node hears: types and directions of edges, kinds of nodes, and what follows from them."""
