"""Pictures of flow networks, drawn as SVG without any library."""
