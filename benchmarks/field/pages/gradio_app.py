"""A function behind a form, in Gradio: python gradio_app.py PORT."""

import sys

import gradio as gr


def greet(name, times, loud):
    """Greet somebody some times."""
    text = " ".join([f"Hello {name}"] * int(times))
    return text.upper() if loud else text


gr.Interface(
    greet,
    [gr.Textbox(label="Name"), gr.Slider(1, 5, value=1, step=1, label="Times"), gr.Checkbox(label="Loud")],
    gr.Textbox(label="Greeting"),
).launch(server_name="127.0.0.1", server_port=int(sys.argv[1]))
