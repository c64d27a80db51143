"""The tests, folder for folder as `mdstudio`. A package, since mikecore installs one of that name, which would win."""
