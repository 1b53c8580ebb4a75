"""A shop's data in SQLAdmin: python sqladmin_app.py PORT."""

import sys

import uvicorn
from sqladmin import Admin, ModelView
from sqlalchemy import Column, Integer, String, create_engine
from sqlalchemy.orm import Session, declarative_base
from starlette.applications import Starlette

Base = declarative_base()
engine = create_engine("sqlite:///shop.db", connect_args={"check_same_thread": False})


class Customer(Base):
    """Who buys."""

    __tablename__ = "customers"
    id = Column(Integer, primary_key=True)
    name = Column(String)
    city = Column(String)


class CustomerView(ModelView, model=Customer):
    """With search and order."""

    column_list = (Customer.id, Customer.name, Customer.city)
    column_searchable_list = (Customer.name,)
    column_sortable_list = (Customer.name, Customer.city)


Base.metadata.create_all(engine)
with Session(engine) as session:
    session.add_all([Customer(name=name, city=city) for name, city in (("Ada", "London"), ("Grace", "New York"))])
    session.commit()
app = Starlette()
Admin(app, engine).add_view(CustomerView)
uvicorn.run(app, port=int(sys.argv[1]))
