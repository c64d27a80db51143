"""The open documents: pages in a stack, a tab each, always in the same order. Start is a page like the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from mdstudio.app.dataset_page import DatasetPage, ViewSpec
from mdstudio.app.reading import Reader
from mdstudio.app.session import DatasetSession
from mdstudio.app.start import StartPage
from mdstudio.app.tabs import DocumentTabs, TabLook


class Documents(QObject):
    """Keeps `pages`, the stack and the tabs together.

    Signals: `shown` when another page came to the front, `looked` with a page whose title or state changed, `opened`
    with a page whose dataset has been read, `status` with words of a view, `view_changed` with the view at the front.
    """

    shown = Signal()
    looked = Signal(object)
    opened = Signal(object)
    status = Signal(str)
    view_changed = Signal(str)

    def __init__(self, tabs: DocumentTabs, stack: QStackedWidget, start: StartPage, reader: Reader,
                 views: Callable[[], Sequence[ViewSpec]], parent: QObject) -> None:
        super().__init__(parent)
        self.pages: list[QWidget] = []
        self._tabs, self._stack, self._start = tabs, stack, start
        self._reader, self._views = reader, views
        tabs.currentChanged.connect(self._show)
        tabs.tabCloseRequested.connect(self.close_page)
        tabs.tabMoved.connect(self._moved)
        self.show_start()

    def front(self) -> QWidget | None:
        """The page at the front."""
        index = self._tabs.currentIndex()
        return self.pages[index] if 0 <= index < len(self.pages) else None

    def dataset_page(self) -> DatasetPage | None:
        """The page at the front, where it is one of a dataset."""
        page = self.front()
        return page if isinstance(page, DatasetPage) else None

    def bring(self, page: QWidget) -> None:
        """Bring a page to the front."""
        self._tabs.setCurrentIndex(self.pages.index(page))

    def find(self, location: str) -> DatasetPage | None:
        """The page of a location; None where it is not open."""
        pages = (page for page in self.pages if isinstance(page, DatasetPage))
        return next((page for page in pages if page.session.location == location), None)

    def add(self, location: str) -> DatasetPage:
        """A new page at the front; the caller opens it or says why it cannot."""
        page = DatasetPage(DatasetSession(location, self._reader), views=self._views)
        page.looked.connect(lambda: self._page_looked(page))
        page.status.connect(self.status)
        page.view_changed.connect(self.view_changed)
        page.session.opened.connect(lambda: self.opened.emit(page))
        self._add(page, page.session.title, TabLook("grid"))
        return page

    def show_start(self) -> None:
        """Bring the Start screen to the front."""
        if self._start in self.pages:
            self.bring(self._start)
        else:
            self._add(self._start, "Start", TabLook("overview"))

    def step(self, by: int) -> None:
        """The next or previous tab, round and round."""
        if self._tabs.count():
            self._tabs.setCurrentIndex((self._tabs.currentIndex() + by) % self._tabs.count())

    def close_page(self, index: int) -> None:
        """Close a tab and stop what reads for it; when it was the last, Start comes."""
        if not 0 <= index < len(self.pages):
            return
        page = self.pages.pop(index)
        self._stack.removeWidget(page)
        self._tabs.blockSignals(True)
        self._tabs.removeTab(index)
        self._tabs.blockSignals(False)
        if isinstance(page, DatasetPage):
            page.close_session()
            page.deleteLater()
        else:
            page.setParent(None)
        if self.pages:
            self._show()
        else:
            self.show_start()

    def titles(self) -> list[str]:
        return [self._tabs.tabText(index) for index in range(self._tabs.count())]

    def _add(self, page: QWidget, title: str, look: TabLook) -> None:
        self.pages.append(page)
        self._stack.addWidget(page)
        self._tabs.blockSignals(True)
        index = self._tabs.addTab(title)
        self._tabs.set_tab(index, title, look)
        self._tabs.setCurrentIndex(index)
        self._tabs.blockSignals(False)
        self._show()

    def _show(self) -> None:
        page = self.front()
        if page is not None:
            self._stack.setCurrentWidget(page)
            self._page_looked(page)
            self.shown.emit()

    def _moved(self, start: int, end: int) -> None:
        self.pages.insert(end, self.pages.pop(start))

    def _page_looked(self, page: QWidget) -> None:
        if page not in self.pages:
            return
        if isinstance(page, DatasetPage):
            index, session = self.pages.index(page), page.session
            kind = session.dataset.metadata.kind if session.dataset else "grid"
            self._tabs.set_tab(index, session.title, TabLook(kind, page.verdict()))
            self._tabs.setTabToolTip(index, session.location.split("?", 1)[0])
        self.looked.emit(page)
