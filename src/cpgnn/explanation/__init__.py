"""Why a node got its class."""
