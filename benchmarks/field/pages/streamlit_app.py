"""A calculator and a chart over a socket, in Streamlit: streamlit run streamlit_app.py."""

import streamlit as st

st.title("Loan")
amount = st.number_input("Amount", value=1000, step=100)
years = st.slider("Years", 1, 10, 5)
kind = st.selectbox("Kind", ["flat", "falling"])
if st.button("Compute"):
    st.session_state.result = f"{amount / years / 12:.2f} a month, {kind}"
st.write(st.session_state.get("result", "Nothing computed"))
with st.expander("Details"):
    st.line_chart([amount / years * year for year in range(years + 1)])
if st.checkbox("Agree"):
    st.success("Agreed")
