"""DHI files through mikecore: dfs0, dfs1, dfs2, dfs3, dfsu and mesh. Imported by `sources.registry` only."""
