"""Files in and out: tables, GraphML and `.npz` as graphs; results written whole or not at all.

`read` puts a graph together; `tables` reads one table, `ids`, `edges`, `labels` and `features`
make of it what their names say; `graphml`, `graph_npz` and `npz_input` read whole graph files.

Imported when first asked for: where files are missing, commands say so before anything slow starts.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
