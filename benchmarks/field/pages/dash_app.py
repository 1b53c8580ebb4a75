"""Figures that follow a choice, a button and the time, in Dash: python dash_app.py PORT."""

import sys

from dash import Dash, Input, Output, State, dash_table, dcc, html

SALES = {"Berlin": [3, 5, 8], "Paris": [4, 4, 9], "Rome": [1, 6, 2]}
app = Dash(__name__)
app.layout = html.Div(
    [
        html.H1("Sales"),
        html.Label("City", htmlFor="city"),
        dcc.Dropdown(list(SALES), "Berlin", id="city", clearable=False),
        dcc.RadioItems(["bar", "line"], "bar", id="kind"),
        dcc.Graph(id="graph"),
        dcc.Input(id="target", type="number", value=10),
        html.Button("Compare", id="compare"),
        html.P(id="compared"),
        dash_table.DataTable(
            id="table", sort_action="native", columns=[{"name": n, "id": n} for n in ("month", "sold")]
        ),
        dcc.Interval(id="tick", interval=2000),
        html.P(id="ticks"),
    ]
)


@app.callback(Output("graph", "figure"), Output("table", "data"), Input("city", "value"), Input("kind", "value"))
def draw(city, kind):
    """Draw the months of a city."""
    data = SALES[city]
    figure = {"data": [{"type": kind if kind == "bar" else "scatter", "y": data}], "layout": {"title": {"text": city}}}
    return figure, [{"month": at + 1, "sold": sold} for at, sold in enumerate(data)]


@app.callback(
    Output("compared", "children"), Input("compare", "n_clicks"), State("city", "value"), State("target", "value")
)
def compare(clicks, city, target):
    """Compare the sum with a target."""
    return f"{sum(SALES[city])} of {target}" if clicks else ""


@app.callback(Output("ticks", "children"), Input("tick", "n_intervals"))
def tick(count):
    """Count what the timer brought."""
    return f"Updated {count or 0} times"


app.run(port=int(sys.argv[1]))
