"""The Qt application: theme, widgets, the reading layer, the window and its views.

The window is built of `topbar`, `places`, `documents`, `jobs_dock` and `statusbar`. All reading goes through
`reading.Reader`; nothing here does I/O on the main thread. `app.views` and `app.plots` build on `theme`, `fonts`,
`icons`, `formats`, `widgets`, `reading` and `session`, which import neither of them. Nothing below `app` imports it,
and importing it is cheap: pyqtgraph, netCDF4 and the cloud come in when they are first used.
"""
