"""A list of tasks and a clock over a socket, in NiceGUI: python nicegui_app.py PORT."""

import sys

from nicegui import ui


@ui.page("/")
def index():
    """Show the tasks of this visitor."""
    tasks = []

    @ui.refreshable
    def listed():
        for task in tasks:
            ui.checkbox(task, on_change=lambda: done.set_text("One is done"))
        ui.label(f"{len(tasks)} tasks")

    def add():
        tasks.append(name.value)
        name.value = ""
        listed.refresh()
        ui.notify("Added")

    ui.label("Tasks").classes("text-h4")
    name = ui.input("Task")
    ui.button("Add", on_click=add)
    listed()
    done = ui.label()
    with ui.tabs() as tabs:
        first = ui.tab("Plan")
        second = ui.tab("Settings")
    with ui.tab_panels(tabs, value=first):
        with ui.tab_panel(first):
            ui.label("Plan the week")
        with ui.tab_panel(second):
            level = ui.slider(min=0, max=10, value=3)
            ui.label().bind_text_from(level, "value", lambda value: f"Level {value}")
            ui.select(
                ["red", "green"], value="red", label="Colour", on_change=lambda e: chosen.set_text(f"Chosen {e.value}")
            )
            chosen = ui.label()


ui.run(host="127.0.0.1", port=int(sys.argv[1]), show=False, reload=False)
