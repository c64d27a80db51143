"""Plots: painted items and widgets that show arrays. They read nothing; views give them finished pictures.

Pure parts (any thread): cells, raster, ranges, colouring, pages, picture, ticks, calendar_ticks.
Widgets (main thread): MapPlot, HeatmapPlot, ColourBar, TimeBar, SeriesPlot, HistogramPlot, TimeStrip. Import from the
modules; nothing is imported here, so that a start without a plot does not pay for pyqtgraph.
"""
