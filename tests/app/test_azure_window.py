"""A container of Azure in the window: listed, opened, drawn, imported into; the emulator is real, a SAS is hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mdstudio.app.listing import join
from tests.app.test_main_job import WAIT, Driver, driver, source, truth, window
from tests.azurite import ACCOUNT, Azurite

__all__ = ["driver", "source", "window"]



def rows(driver: Driver, location: str) -> list[str]:
    """Names of what the tree shows below a place."""
    model = driver.window.places_model
    place = model.find(location)
    return [model.index(row, 0, place).data() for row in range(model.rowCount(place))]


@pytest.mark.azure
@pytest.mark.rule("G1")
@pytest.mark.parametrize("by", ["az", "sas"])
def test_a_container_is_listed_opened_drawn_and_imported_into(
        driver: Driver, source: Path, azurite: Azurite, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    container = azurite.new_container()
    if by == "az":
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", azurite.connection_string)
        place, secret = f"az://{ACCOUNT}/{container}", ""
    else:
        secret = azurite.container_sas(container)
        place = f"{azurite.endpoint}/{container}?{secret}"
    window = driver.window
    window.open_location(place)
    driver.qtbot.waitUntil(lambda: window.library.locations == [place], timeout=WAIT)

    page = driver.import_file(source, join(place, "waves"))
    assert page.session.location == join(place, "waves")
    driver.qtbot.waitUntil(lambda: "waves" in rows(driver, place), timeout=WAIT)

    page.session.select(time=4)
    view: Any = driver.view(page, "map")
    np.testing.assert_array_equal(view.picture.result.values, truth(source, "height", 4))
    storage: Any = driver.view(page, "storage")
    assert storage.pages.table.length.sum() > 0
    driver.rest()

    window.close_tab()
    model = window.places_model
    inside = model.find(place)
    names = rows(driver, place)
    window.places.open_requested.emit(model.node(model.index(names.index("waves"), 0, inside)).location)
    driver.qtbot.waitUntil(lambda: window.documents.dataset_page() is not None
                           and window.documents.dataset_page().session.dataset is not None, timeout=WAIT)
    driver.rest()
    if secret:
        window.preferences.save()
        assert "sig=" not in Path(window.preferences._settings.fileName()).read_text()
        assert "sig=" not in window.documents.dataset_page().command_text() + window.windowTitle()
