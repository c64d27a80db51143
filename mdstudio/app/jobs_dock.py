"""The jobs dock: a header that is always there, and under it one row a job with progress, time left and state."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QMouseEvent, QShortcut
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from mdstudio.app import fonts, formats
from mdstudio.app.job_queue import Job, JobQueue
from mdstudio.app.session import short_name
from mdstudio.app.widgets import Bar, Button, Cell, Column, Ground, HLine, Icon, IconButton, Label, PrimaryButton, Table
from mdstudio.engine.errors import MdError

HEADER, ROW, MOST_ROWS = 34, 30, 5
_STATES = {  # state: (word, status, icon of the row, its colour)
    "waiting": ("Waiting", "unknown", "clock", "text2"),
    "running": ("Running", "info", "reload", "accent"),
    "cancelling": ("Cancelling", "info", "reload", "accent"),
    "done": ("Done", "ok", "status-ok", "ok"),
    "failed": ("Failed", "bad", "status-bad", "bad"),
    "cancelled": ("Cancelled", "unknown", "stop", "text2"),
    "interrupted": ("Interrupted", "advice", "status-advice", "advice"),
}


class JobsDock(Ground):
    """Signals: `open_requested` with the location of a finished dataset, `toggled` by the person."""

    open_requested = Signal(str)
    toggled = Signal(bool)

    def __init__(self, queue: JobQueue, parent: QWidget | None = None) -> None:
        super().__init__("jobs", parent)
        self.queue = queue
        self._shown: list[Job] = []
        self.setAccessibleName("Jobs")
        self.summary = Label("none yet", "dense", "text3")
        self._mini = Bar()
        self._mini.setFixedWidth(150)
        self._mini_text = Label("", "dense", "text2")
        self.toggle = IconButton("chevu", "Show jobs", dense=True)
        self.toggle.clicked.connect(lambda: self.set_open(not self.is_open(), by_person=True))
        self.buttons = {
            "open": Button("Open", "overview", "ghost", dense=True),
            "log": Button("Log", "more", "ghost", dense=True),
            "resume": Button("Resume", "reload", "ghost", dense=True),
            "retry": Button("Run again", "reload", "ghost", dense=True),
            "cancel": Button("Cancel", "stop", "ghost", dense=True),
            "remove": Button("Remove", "trash", "ghost", dense=True),
        }
        self.header = _Header()
        self.header.setFixedHeight(HEADER)
        row = QHBoxLayout(self.header)
        row.setContentsMargins(17, 0, 12, 0)
        row.setSpacing(9)
        row.addWidget(Icon("jobs", 15))
        row.addWidget(Label("Jobs", "dense-strong"))
        row.addWidget(self.summary)
        row.addStretch(1)
        for key, button in self.buttons.items():
            button.clicked.connect(getattr(self, f"_{key}"))
            row.addWidget(button)
        row.addWidget(self._mini)
        row.addWidget(self._mini_text)
        row.addWidget(self.toggle)
        self.header.double_clicked.connect(lambda: self.set_open(not self.is_open(), by_person=True))
        self.table = Table([
            Column("Job", stretch=True), Column("Progress", "bar", 170, role="dense-strong", bar_width=96),
            Column("Done", "number", 150), Column("Time", width=112), Column("State", "badge", 98)], "Jobs")
        self.table.horizontalHeader().hide()
        self.table.verticalHeader().setDefaultSectionSize(ROW)
        self.table.row_selected.connect(lambda _: self._enable())
        self.table.row_activated.connect(lambda _: self._log())
        self._line = HLine()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 1, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(self._line)
        column.addWidget(self.table)
        delete = QShortcut(QKeySequence(Qt.Key.Key_Delete), self.table, self._cancel)
        delete.setContext(Qt.ShortcutContext.WidgetShortcut)
        queue.changed.connect(self.refresh)
        self._open_state = True
        self.set_open(False)
        self.refresh()

    def is_open(self) -> bool:
        return self._open_state

    def set_open(self, opened: bool, by_person: bool = False) -> None:
        """Show the rows, or the header alone."""
        self._open_state = opened
        self.table.setVisible(opened)
        self._line.setVisible(opened)
        self.toggle.set_icon("chevd" if opened else "chevu")
        self.toggle.set_text("Hide jobs" if opened else "Show jobs")
        self.toggle.setToolTip("Hide jobs" if opened else "Show jobs")
        self._fit()
        self._enable()
        self._show_mini()
        if by_person:
            self.toggled.emit(opened)

    def refresh(self) -> None:
        """Show the queue as it is, newest first."""
        chosen = self.selected()
        self._shown = list(reversed(self.queue.jobs))
        self.table.set_rows([_row(job) for job in self._shown])
        if chosen in self._shown:
            if self.selected() is not chosen:
                self.table.select_row(self._shown.index(chosen))
        elif self._shown:
            self.table.select_row(0)
        self.summary.setText(_summary(self.queue.jobs))
        self._fit()
        self._enable()
        self._show_mini()

    def select(self, job: Job) -> None:
        """Choose the row of a job."""
        if job in self._shown:
            self.table.select_row(self._shown.index(job))

    def selected(self) -> Job | None:
        row = self.table.selected_row()
        return self._shown[row] if 0 <= row < len(self._shown) else None

    def _fit(self) -> None:
        rows = min(MOST_ROWS, len(self._shown)) if self._open_state else 0
        self.table.setFixedHeight(max(ROW * rows, ROW if self._open_state else 0))
        self.setFixedHeight(HEADER + 2 + (self.table.height() if self._open_state else 0))

    def _enable(self) -> None:
        job = self.selected()
        state = job.state if job else ""
        allowed = {
            "open": state == "done", "log": job is not None, "resume": state == "interrupted",
            "retry": state in ("failed", "cancelled"),
            "cancel": state in ("waiting", "running"), "remove": job is not None and not job.live,
        }
        for key, button in self.buttons.items():
            button.setVisible(self._open_state and allowed[key])

    def _show_mini(self) -> None:
        running = [job for job in self.queue.jobs if job.state == "running"]
        visible = bool(running) and not self._open_state
        self._mini.setVisible(visible)
        self._mini_text.setVisible(visible)
        if visible:
            job = running[0]
            fraction = job.fraction
            if fraction is None:
                self._mini.set_unknown()
            else:
                self._mini.set_fraction(fraction)
            percent = f"{round(100 * fraction)}{formats.SPACE}%  " if fraction is not None else ""
            self._mini_text.setText(f"{percent}{job.what} {job.title}")

    def _open(self) -> None:
        job = self.selected()
        if job is not None:
            self.open_requested.emit(job.target)

    def _log(self) -> None:
        job = self.selected()
        if job is not None:
            LogDialog(job, self.queue, self.window()).show()

    def _resume(self) -> None:
        job = self.selected()
        if job is not None:
            try:
                self.queue.resume(job)
            except MdError as error:
                self.summary.setText(error.message)

    def _retry(self) -> None:
        job = self.selected()
        if job is not None:
            self.select(self.queue.retry(job))

    def _cancel(self) -> None:
        job = self.selected()
        if job is not None and job.live:
            self.queue.cancel(job)

    def _remove(self) -> None:
        job = self.selected()
        if job is not None:
            self.queue.remove(job)


class _Header(QWidget):
    double_clicked = Signal()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.double_clicked.emit()


class LogDialog(QDialog):
    """What a job said, live; to be copied."""

    def __init__(self, job: Job, queue: JobQueue, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(f"Log of {job.what} {job.title}")
        self.resize(720, 420)
        self._job = job
        self._text = QPlainTextEdit()
        self._text.setReadOnly(True)
        self._text.setFont(fonts.font("mono-small"))
        self._text.setAccessibleName("Log")
        self._state = Label("", "dense-medium", "text2")
        close = PrimaryButton("Close")
        close.clicked.connect(self.accept)
        copy = Button("Copy", "copy")
        copy.clicked.connect(self._copy)
        foot = QHBoxLayout()
        foot.addWidget(self._state, 1)
        foot.addWidget(copy)
        foot.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 14, 14, 14)
        column.setSpacing(10)
        column.addWidget(Label(f"{job.what} {job.title} to {short_name(job.target)}", "section"))
        column.addWidget(self._text, 1)
        column.addLayout(foot)
        queue.changed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        text = log_text(self._job)
        if text != self._text.toPlainText():
            self._text.setPlainText(text)
            bar = self._text.verticalScrollBar()
            bar.setValue(bar.maximum())
        self._state.setText(_STATES[self._job.state][0])

    def _copy(self) -> None:
        self._text.selectAll()
        self._text.copy()


def log_text(job: Job) -> str:
    """The command of a job and every line of its log."""
    return "\n".join([f"$ {job.recipe.to_command()}", *job.log])


def _summary(jobs: list[Job]) -> str:
    words = {"running": "running", "cancelling": "running", "waiting": "waiting", "interrupted": "interrupted",
             "failed": "failed", "done": "done"}
    counts = {word: sum(words.get(job.state) == word for job in jobs) for word in dict.fromkeys(words.values())}
    return ", ".join(f"{formats.count(count)} {word}" for word, count in counts.items() if count) or "none yet"


def _row(job: Job) -> list[Cell]:
    word, status, icon, token = _STATES[job.state]
    fraction = job.fraction
    percent = f"{round(100 * fraction)}{formats.SPACE}%" if fraction is not None else formats.DASH
    counted = f"{formats.count(job.done)} of {formats.count(job.total)} {job.unit}" if job.total else formats.DASH
    time_text = ""
    if job.state == "running":
        if job.eta is not None:
            time_text = f"{formats.duration(max(1.0, job.eta))} left"
        elif not job.total:
            time_text = "starting"
    elif job.state == "done":
        time_text = f"in {formats.duration(float(job.summary.get('seconds', job.seconds)))}"
    colour = {"done": "ok-fill", "failed": "bad-fill"}.get(job.state, "accent")
    return [
        Cell(f"{job.what}  {job.title}", job.message or f"to {short_name(job.target)}", icon, token,
             tip=job.message or job.target),
        Cell(percent, bar=fraction, bar_token=colour, muted=fraction is None),
        Cell(counted, muted=not job.total),
        Cell(time_text),
        Cell(word, status=status, icon="none"),
    ]
