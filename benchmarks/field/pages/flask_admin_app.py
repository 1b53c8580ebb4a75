"""A shop's data in Flask-Admin: python flask_admin_app.py PORT."""

import sys

from flask import Flask
from flask_admin import Admin
from flask_admin.contrib.sqla import ModelView
from flask_sqlalchemy import SQLAlchemy

app = Flask(__name__)
app.config.update(SECRET_KEY="field", SQLALCHEMY_DATABASE_URI="sqlite:///shop.db")
db = SQLAlchemy(app)


class Customer(db.Model):
    """Who buys."""

    id = db.Column(db.Integer, primary_key=True)
    name = db.Column(db.String(80), nullable=False)

    def __str__(self):
        return self.name


class Order(db.Model):
    """What is bought."""

    id = db.Column(db.Integer, primary_key=True)
    item = db.Column(db.String(80), nullable=False)
    amount = db.Column(db.Integer, default=1)
    is_paid = db.Column(db.Boolean, default=False)
    customer_id = db.Column(db.Integer, db.ForeignKey(Customer.id))
    customer = db.relationship(Customer)


class OrderView(ModelView):
    """With search and filters."""

    column_searchable_list = ("item",)
    column_filters = ("amount", "is_paid")
    column_editable_list = ("item",)


admin = Admin(app, name="Shop")
admin.add_view(ModelView(Customer, db))
admin.add_view(OrderView(Order, db))
with app.app_context():
    db.create_all()
    db.session.add_all([Customer(name="Ada"), Customer(name="Grace")])
    db.session.add_all([Order(item=item, amount=at) for at, item in enumerate(("Apple", "Banana", "Cherry"), 1)])
    db.session.commit()
app.run(port=int(sys.argv[1]))
