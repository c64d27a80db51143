"""What files that can be imported are called; loads nothing, so that the window may list them before it is painted."""

# A file that is named itself is recognised by what is in it.
SOURCE_SUFFIXES = (".nc", ".nc4", ".cdf", ".netcdf", ".h5", ".hdf5", ".he5", ".sww", ".grib", ".grib1",
                   ".grib2", ".grb", ".grb1", ".grb2", ".gb1", ".gb2", ".dfs0", ".dfs1", ".dfs2", ".dfs3", ".dfsu",
                   ".mesh", ".zarr", ".zarr.zip")
