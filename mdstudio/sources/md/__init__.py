"""MD datasets as a source: copied, cut anew or compressed anew. Imported by `sources.registry` only."""
